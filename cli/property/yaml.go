package property

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"example.com/perks/api"
	"example.com/perks/api/display"
)

// valueOf is a field as a text holds it. Numbers and prices are their digits, so that they stay as they were written.
func valueOf(field api.PropertyField, p api.Property) api.Value {
	switch texts := field.Texts(p); {
	case field.Kind == api.ListField:
		return api.ListValue(texts)
	case len(texts) == 0:
		return api.NullValue()
	default:
		return api.TextValue(texts[0])
	}
}

// widest is the longest text that stays on its field's line.
const widest = 72

const header = `# %s
#
# Change the fields below, save the file and leave the editor. Only what you change is sent, and a
# field that you take out stays as it is. To cancel, leave without saving, or empty the file.

`

// write lays a property out as YAML, with a heading that says what it is.
func write(heading string, p api.Property) string {
	text := fmt.Sprintf(header, display.Line(heading))
	for _, field := range api.PropertyFields() {
		text += writeField(field, p)
	}
	return text
}

// writeField writes one field with the line feed at its end.
func writeField(field api.PropertyField, p api.Property) string {
	text, texts := field.Name+":", field.Texts(p)
	switch {
	case field.Kind == api.ListField && len(texts) == 0:
		text += " []"
	case field.Kind == api.ListField:
		for _, entry := range texts {
			text += "\n  - " + inline(field.Name+":\n  - ", entry)
		}
	case len(texts) == 0:
		text += " null"
	case field.Kind == api.PriceField:
		text += " " + quote(texts[0])
	case field.Kind == api.NumberField:
		text += " " + texts[0]
	default:
		text += " " + scalar(field.Name+": ", texts[0])
	}
	return text + "\n"
}

// scalar chooses how a text is written: as a block if it is long or has several lines, else plain or in quotes. What
// stands there is read back before it is trusted.
func scalar(before, text string) string {
	isLong := len(text) > widest || strings.Contains(text, "\n")
	if isLong && !strings.ContainsFunc(text, breaksBlock) {
		if block := block(text); readsBack(before+block+"\nnext: field\n", text) {
			return block
		}
	}
	return inline(before, text)
}

// block writes a literal block scalar. The mark 2 tells its indentation where the first line does not, and the last mark
// says what becomes of line feeds at the end.
func block(text string) string {
	mark := "|"
	if strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") || strings.HasPrefix(text, "\t") {
		mark += "2"
	}
	body := strings.TrimSuffix(text, "\n")
	switch {
	case body == text:
		mark += "-"
	case strings.HasSuffix(body, "\n"):
		mark += "+"
	}
	for line := range strings.SplitSeq(body, "\n") {
		if mark += "\n"; line != "" {
			mark += "  " + line
		}
	}
	return mark
}

// oldBooleans is what YAML 1.1 takes for booleans and the library, which follows YAML 1.2, for text.
var oldBooleans = []string{"y", "yes", "on", "n", "no", "off"}

func inline(before, text string) string {
	if !strings.ContainsFunc(text, isHidden) && !slices.Contains(oldBooleans, strings.ToLower(text)) && readsBack(before+text+"\n", text) {
		return text
	}
	return quote(text)
}

// readsBack tells whether the first field of the YAML holds exactly that text, and would for every reader of YAML.
func readsBack(document, text string) bool {
	var root yaml.Node
	if yaml.Unmarshal([]byte(document), &root) != nil || len(root.Content) != 1 || len(root.Content[0].Content) < 2 {
		return false
	}
	field := root.Content[0].Content[1]
	if field.Kind == yaml.SequenceNode && len(field.Content) == 1 {
		field = field.Content[0]
	}
	return field.Kind == yaml.ScalarNode && field.ShortTag() == "!!str" && field.Value == text && field.Anchor == ""
}

// quote writes a text in double quotes, with escapes for what cannot be seen. All escapes of Go are escapes of YAML too.
func quote(text string) string {
	var out strings.Builder
	for _, r := range text {
		if piece := string(r); isHidden(r) || r == '"' || r == '\\' {
			piece = strconv.Quote(piece)
			out.WriteString(piece[1 : len(piece)-1])
		} else {
			out.WriteRune(r)
		}
	}
	return `"` + out.String() + `"`
}

// isHidden tells what a person could not tell from nothing or from a blank. The joiners that emoji are made with can be
// seen by what they join.
func isHidden(r rune) bool {
	return !unicode.IsPrint(r) && r != '\u200c' && r != '\u200d'
}

// breaksBlock tells what cannot stand in a block as it is: what steers a terminal, and line ends other than a line feed.
func breaksBlock(r rune) bool {
	return r != '\n' && r != '\t' && display.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == 0xfffe || r == 0xffff
}

// noteMark begins the comments that perksctl puts beside fields and takes out again. They stand at the beginning of a
// line, where no value is written.
const noteMark = "#! "

// notes are lines that a person is to read, by the field that they are about, "" for the text as a whole.
type notes map[string][]string

// annotate puts the notes into a text above the fields that they are about, in place of earlier ones. Notes about fields
// that the text does not have come first. Everything else of the text stays as it is, letter by letter.
func annotate(text string, n notes) string {
	text = withoutNotes(text)
	read := readYAML(text)
	noted := n.insert(text, read.lines)
	if read.syntax == nil && !reflect.DeepEqual(readYAML(noted).values, read.values) {
		return n.insert(text, nil) // a comment in that place would have become part of a value
	}
	return noted
}

func (n notes) insert(text string, lines map[string]int) string {
	above := map[int]string{}
	for _, field := range slices.Sorted(maps.Keys(n)) {
		for _, line := range n[field] {
			above[max(lines[field], 1)] += noteMark + display.Line(line) + "\n"
		}
	}
	var out strings.Builder
	for i, line := range strings.SplitAfter(text, "\n") {
		out.WriteString(above[i+1] + line)
	}
	return out.String()
}

func withoutNotes(text string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return strings.HasPrefix(line, noteMark) })
	return strings.Join(lines, "")
}

// reading is a text as it came back from the editor.
type reading struct {
	values map[string]api.Value
	lines  map[string]int // where each field begins, from 1

	syntax error           // the text is no YAML, and nothing else is known
	line   int             // of the syntax error; 0 if the text as a whole is meant
	wrong  api.FieldErrors // of fields whose values cannot even be told
}

// readYAML reads what a person has written. Values that nobody can be sure of, such as a bare yes, are taken letter by
// letter as they stand.
func readYAML(text string) reading {
	r := reading{values: map[string]api.Value{}, lines: map[string]int{}, wrong: api.FieldErrors{}}
	root, err := parseOne(text)
	switch {
	case err != nil:
		r.syntax, r.line = err, lineOf(err)
	case root == nil:
	case root.Kind != yaml.MappingNode:
		r.syntax = errors.New("the text must be fields, each as name: value")
	default:
		for i := 0; i+1 < len(root.Content); i += 2 {
			r.read(root.Content[i], followed(root.Content[i+1]))
		}
	}
	return r
}

// parseOne returns the one document that there may be, nil for a text without any.
func parseOne(text string) (*yaml.Node, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	if strings.ContainsRune(text, '\ufeff') {
		return nil, errors.New("the text has a byte order mark in it; write it as \"\\uFEFF\"")
	}
	dec := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	var document, second yaml.Node
	if err := dec.Decode(&document); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: a second document begins here", second.Line)
	} else if err != io.EOF {
		return nil, err
	}
	root := followed(document.Content[0])
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" && root.Value == "" {
		return nil, nil
	}
	return root, nil
}

func (r *reading) read(key, node *yaml.Node) {
	field, _ := api.PropertyFieldNamed(key.Value)
	if _, seen := r.lines[field.Name]; seen {
		r.wrong.Add(field.Name, "is given more than once")
		return
	}
	r.lines[field.Name] = key.Line
	value, problem := readValue(field.Kind, node)
	if problem != "" {
		r.wrong.Add(field.Name, "%s", problem)
	}
	r.values[field.Name] = value
}

// readValue takes a field that is empty for an empty text, which for a position is none. An empty list of images may be
// written so too, and a list as one text.
func readValue(kind api.FieldKind, node *yaml.Node) (value api.Value, problem string) {
	isNull := node.Tag == "!!null"
	switch {
	case node.Kind == yaml.SequenceNode && kind == api.ListField:
		var entries []string
		for _, entry := range node.Content {
			if entry = followed(entry); entry.Kind != yaml.ScalarNode {
				return value, "must be a list of addresses"
			}
			entries = append(entries, entry.Value)
		}
		return api.ListValue(entries), ""
	case node.Kind != yaml.ScalarNode && kind == api.ListField:
		return value, "must be a list of addresses"
	case node.Kind != yaml.ScalarNode:
		return value, "must be a single value"
	case isNull && node.Value == "" && kind == api.ListField:
		return api.ListValue(nil), ""
	case isNull && (node.Value != "" || kind == api.NumberField):
		return api.NullValue(), ""
	}
	return api.TextValue(node.Value), ""
}

func followed(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// lineOf reads the line out of an error of the YAML library, which has it nowhere else.
func lineOf(err error) int {
	found := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error())
	if found == nil {
		return 0
	}
	line, _ := strconv.Atoi(found[1]) // digits; too many of them are no line
	return line
}

// changes returns what the text changes, and what is wrong with it by field; what was wrong before and was not touched is
// not asked about. The patch holds exactly the changes if nothing is wrong.
func (r reading) changes(before api.Property) (api.PropertyPatch, api.FieldErrors) {
	wrong := maps.Clone(r.wrong)
	var members []api.Member
	for name, value := range r.values {
		field, known := api.PropertyFieldNamed(name)
		if r.wrong[name] == nil && !(known && reflect.DeepEqual(value, valueOf(field, before))) {
			members = append(members, api.Member{Name: name, Value: value})
		}
	}
	patch, err := api.ParsePropertyPatch(members)
	var invalid *api.Error
	if errors.As(err, &invalid) {
		maps.Copy(wrong, invalid.Fields)
	}
	return api.PropertyChanges(before, before.With(patch)), wrong
}

func (r reading) isEmpty() bool { return r.syntax == nil && len(r.lines) == 0 }

// sentence is the syntax error without the library's name, and with its line as it is after shift lines were put above.
func (r reading) sentence(shift int) string {
	text := strings.TrimPrefix(r.syntax.Error(), "yaml: ")
	if r.line > 0 {
		text = strings.Replace(text, fmt.Sprintf("line %d", r.line), fmt.Sprintf("line %d", r.line+shift), 1)
	}
	return text
}
