package property

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"example.com/perks/api"
	"example.com/perks/api/display"
)

// sheet is the fields of a property as a person edits them, by their names on the wire.
type sheet map[string]value

// value is what a field holds. Numbers and prices are digits here and nothing else, so that they stay as they were written.
type value struct {
	null bool
	text string
	list []string // of images
}

func sheetOf(p api.Property) sheet {
	s := sheet{}
	for _, field := range api.PropertyFields() {
		switch texts := field.Texts(p); {
		case field.Kind == api.ListField:
			s[field.Name] = value{list: append([]string{}, texts...)}
		case len(texts) == 0:
			s[field.Name] = value{null: true}
		default:
			s[field.Name] = value{text: texts[0]}
		}
	}
	return s
}

func kindOf(field string) api.FieldKind {
	f, _ := api.PropertyFieldNamed(field)
	return f.Kind
}

// fields returns the names that s holds, in the order of the contract; those that it does not know are left out.
func (s sheet) fields() []string {
	return slices.DeleteFunc(api.PropertyPatchFields(), func(field string) bool { _, held := s[field]; return !held })
}

func (v value) member() api.Value {
	switch {
	case v.null:
		return api.NullValue()
	case v.list != nil:
		return api.ListValue(v.list)
	}
	return api.TextValue(v.text)
}

// noteMark begins the comments that perksctl puts beside fields and takes out again. They stand at the beginning of a
// line, where no value of a sheet is written.
const noteMark = "#! "

// notes is what a person is to read beside the fields.
type notes struct {
	top    []string
	beside map[string][]string
}

func (n *notes) add(field string, lines ...string) {
	if n.beside == nil {
		n.beside = map[string][]string{}
	}
	n.beside[field] = append(n.beside[field], lines...)
}

// annotate puts the notes into a text above the fields that they are about, in place of earlier ones. Notes about fields
// that the text does not have come first. Everything else of the text stays as it is, letter by letter.
func annotate(text string, n notes) string {
	text = withoutNotes(text)
	read := readSheet(text)
	above := map[int][]string{}
	top, all := slices.Clone(n.top), slices.Clone(n.top)
	for _, field := range slices.Sorted(maps.Keys(n.beside)) {
		all = append(all, n.beside[field]...)
		if line := read.lines[field]; line > 0 {
			above[line] = append(above[line], n.beside[field]...)
		} else {
			top = append(top, n.beside[field]...)
		}
	}
	noted := insert(text, top, above)
	if read.syntax == nil && !reflect.DeepEqual(readSheet(noted).sheet, read.sheet) {
		return insert(text, all, nil) // a comment in that place would have become part of a value
	}
	return noted
}

func insert(text string, top []string, above map[int][]string) string {
	var out strings.Builder
	write := func(lines []string) {
		for _, line := range lines {
			out.WriteString(noteMark + display.Line(line) + "\n")
		}
	}
	write(top)
	number := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		number++
		write(above[number])
		out.WriteString(line)
	}
	return out.String()
}

func withoutNotes(text string) string {
	var out strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		if !strings.HasPrefix(line, noteMark) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// widest is the longest text that stays on its field's line.
const widest = 72

const header = `# %s
#
# Change the fields below, save the file and leave the editor. Only what you change is sent, and a
# field that you take out stays as it is. To cancel, leave without saving, or empty the file.

`

// write lays the sheet out as YAML, with a heading that says what it is.
func (s sheet) write(heading string) string {
	return fmt.Sprintf(header, display.Line(heading)) + s.yaml()
}

func (s sheet) yaml() string {
	var out strings.Builder
	for _, field := range s.fields() {
		out.WriteString(writeField(field, s[field]))
	}
	return out.String()
}

// writeField writes one field with the line feed at its end.
func writeField(field string, v value) string {
	switch {
	case v.null:
		return field + ": null\n"
	case v.list != nil && len(v.list) == 0:
		return field + ": []\n"
	case v.list != nil:
		lines := field + ":\n"
		for _, entry := range v.list {
			lines += "  - " + inline(field+":\n  - ", entry) + "\n"
		}
		return lines
	case kindOf(field) == api.PriceField:
		return field + ": " + quote(v.text) + "\n"
	case kindOf(field) == api.NumberField && api.TextValue(v.text).Float(new(float64)) == "":
		return field + ": " + v.text + "\n"
	}
	return field + ": " + scalar(field+": ", v.text) + "\n"
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

// quote writes a text in double quotes, and by its number every character that cannot be seen.
func quote(text string) string {
	out := strings.Builder{}
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteString(`\` + string(r))
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case !isHidden(r):
			out.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&out, `\x%02X`, r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			fmt.Fprintf(&out, `\U%08X`, r)
		}
	}
	out.WriteByte('"')
	return out.String()
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
