package record

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
	"example.com/perks/cli/command"
)

// widest is the longest text on the line of its field.
const widest = 72

const header = `# %s
#
# Change the fields below, save the file and close the editor. Only what you change is sent, and a
# field that you remove stays as it is. To cancel, close without saving, or empty the file.

`

// write writes a record as YAML, with a heading that says what it is.
func (k *Kind[I, R, P]) write(heading string, record R) string {
	text := fmt.Sprintf(header, display.Line(heading))
	for _, name := range k.names() {
		text += k.writeField(name, record)
	}
	return text
}

// writeField writes one field with its line feed.
func (k *Kind[I, R, P]) writeField(name string, record R) string {
	field, _ := k.Field(name)
	text, texts := field.Name+":", k.Texts(record, field.Name)
	isOdd := k.IsOdd != nil && k.IsOdd(record, field.Name)
	switch {
	case field.Kind == api.ListField && len(texts) == 0:
		text += " []"
	case field.Kind == api.ListField: // also if it is odd
		for _, entry := range texts {
			text += "\n  - " + inline(field.Name+":\n  - ", entry)
		}
	case len(texts) == 0:
		text += " null"
	case isOdd:
		text += " " + quote(texts[0])
	case field.Kind == api.PriceField:
		text += " " + quote(texts[0])
	case field.Kind == api.NumberField:
		text += " " + texts[0]
	default:
		text += " " + scalar(field.Name+": ", texts[0])
	}
	return text + "\n"
}

// scalar writes a long text or one with several lines as a block if that reads back, any other plain or in quotes.
func scalar(before, text string) string {
	isLong := len(text) > widest || strings.Contains(text, "\n")
	if isLong && !strings.ContainsFunc(text, breaksBlock) {
		if block := block(text); readsBack(before+block+"\nnext: field\n", text) {
			return block
		}
	}
	return inline(before, text)
}

// block writes a literal block scalar. The indicator 2 gives the indentation if the first line starts with a space, and
// the last indicator keeps or strips line feeds at the end.
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

// yaml11Booleans are booleans in YAML 1.1, and text to the library, which follows YAML 1.2.
var yaml11Booleans = []string{"y", "yes", "on", "n", "no", "off"}

func inline(before, text string) string {
	isPlain := !strings.ContainsFunc(text, isHidden) && !slices.Contains(yaml11Booleans, strings.ToLower(text))
	if isPlain && readsBack(before+text+"\n", text) {
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

// quote writes a text in double quotes, with invisible characters escaped. Go's escapes are valid in YAML too.
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

// isHidden tells whether a character is invisible, or looks like a space. The joiners of emoji are visible by what they
// join.
func isHidden(r rune) bool {
	return !unicode.IsPrint(r) && r != '\u200c' && r != '\u200d'
}

// breaksBlock tells whether a character cannot be in a block: terminal controls, and line ends other than a line feed.
func breaksBlock(r rune) bool {
	return r != '\n' && r != '\t' && display.IsControl(r) || strings.ContainsRune("\u2028\u2029\ufeff\ufffe\uffff", r)
}

// noteMark starts the comments that perksctl adds above fields and removes again. No line of a value starts like this.
const noteMark = "#! "

// notes are messages for the person who edits, by field; "" is for the text as a whole.
type notes map[string][]string

// annotate replaces the notes in a text. Each goes above its field, or to the top if the text does not have the field.
// The rest of the text stays exactly as it is.
func (k *Kind[I, R, P]) annotate(text string, n notes) string {
	text = withoutNotes(text)
	read := k.readYAML(text)
	noted := n.insert(text, read.lines)
	if read.syntax == nil && !reflect.DeepEqual(k.readYAML(noted).values, read.values) {
		return n.insert(text, nil) // a comment there would become part of a value
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
	isNote := func(line string) bool { return strings.HasPrefix(line, noteMark) }
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(text, "\n"), isNote), "")
}

// reading is an edited text as it was read.
type reading struct {
	values map[string]api.Value
	lines  map[string]int // where each field begins, from 1

	syntax error           // the text is not valid YAML, so the rest is empty
	line   int             // of the syntax error; 0 if it is about the whole text
	wrong  api.FieldErrors // the fields without a usable value
}

// readYAML reads an edited text. Ambiguous values, such as a bare yes, are read as text.
func (k *Kind[I, R, P]) readYAML(text string) reading {
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
			r.read(k.kindOf(root.Content[i].Value), root.Content[i], resolveAlias(root.Content[i+1]))
		}
	}
	return r
}

func (k *Kind[I, R, P]) kindOf(name string) api.FieldKind {
	field, _ := k.Field(name)
	return field.Kind
}

// parseOne returns the only document of a text, nil if there is none.
func parseOne(text string) (*yaml.Node, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	if strings.ContainsRune(text, '\ufeff') {
		return nil, errors.New("the text contains a byte order mark; write it as \"\\uFEFF\"")
	}
	dec := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	var document, second yaml.Node
	if err := dec.Decode(&document); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: a second document starts here", second.Line)
	} else if err != io.EOF {
		return nil, err
	}
	root := resolveAlias(document.Content[0])
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" && root.Value == "" {
		return nil, nil
	}
	return root, nil
}

func (r *reading) read(kind api.FieldKind, key, node *yaml.Node) {
	if _, seen := r.lines[key.Value]; seen {
		r.wrong.Add(key.Value, "is given more than once")
		return
	}
	r.lines[key.Value] = key.Line
	value, problem := readValue(kind, node)
	if problem != "" {
		r.wrong.Add(key.Value, "%s", problem)
	}
	r.values[key.Value] = value
}

// readValue reads the value of a field. Without a value, a text is empty, a list has no entries and a number is null.
// One text can hold a whole list.
func readValue(kind api.FieldKind, node *yaml.Node) (value api.Value, problem string) {
	isNull := node.Tag == "!!null"
	switch {
	case node.Kind == yaml.SequenceNode && kind == api.ListField:
		var entries []string
		for _, entry := range node.Content {
			if entry = resolveAlias(entry); entry.Kind != yaml.ScalarNode {
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

func resolveAlias(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// lineOf parses the line from an error of the YAML library, which has it nowhere else.
func lineOf(err error) int {
	found := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error())
	if found == nil {
		return 0
	}
	line, _ := strconv.Atoi(found[1]) // these are digits; too many of them mean no line
	return line
}

func (r reading) isEmpty() bool { return r.syntax == nil && len(r.lines) == 0 }

// sentence is the syntax error in plain words, with its line moved down by shift.
func (r reading) sentence(shift int) string {
	text := command.ExplainYAML(r.syntax)
	if r.line > 0 {
		text = strings.Replace(text, fmt.Sprintf("line %d", r.line), fmt.Sprintf("line %d", r.line+shift), 1)
	}
	return text
}
