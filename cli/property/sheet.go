package property

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
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

// kind is what a field's values are compared as.
type kind int

const (
	asText kind = iota
	asList
	asPrice
	asNumber
)

func kindOf(field string) kind {
	switch field {
	case "images":
		return asList
	case "price_pw":
		return asPrice
	case "bedrooms", "bathrooms", "lat", "lng", "deposit":
		return asNumber
	}
	return asText
}

// sheetOf reads the fields from the property's JSON, which keeps digits.
func sheetOf(p api.Property) (sheet, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("lay out the property: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var members map[string]any
	if err := dec.Decode(&members); err != nil {
		return nil, fmt.Errorf("lay out the property: %w", err)
	}
	s := sheet{}
	for _, field := range api.PropertyPatchFields() {
		s[field] = valueOf(members[field], kindOf(field))
	}
	return s, nil
}

func valueOf(member any, k kind) value {
	switch member := member.(type) {
	case string:
		return value{text: member}
	case json.Number:
		return value{text: member.String()}
	case []any:
		return listOf(member)
	}
	return value{null: k != asList}
}

func listOf(entries []any) value {
	v := value{list: []string{}}
	for _, entry := range entries {
		text, _ := entry.(string) // api.Property holds nothing else
		v.list = append(v.list, text)
	}
	return v
}

// same tells whether two values of a field are the same to the service: 250 and 250.00 are one price.
func same(field string, a, b value) bool {
	if a.null || b.null {
		return a.null == b.null
	}
	switch kindOf(field) {
	case asList:
		return slices.Equal(a.list, b.list) && a.text == b.text
	case asPrice:
		return withoutZeros(a.text) == withoutZeros(b.text)
	case asNumber:
		return a.text == b.text || sameNumber(a.text, b.text)
	}
	return a.text == b.text
}

func withoutZeros(digits string) string {
	if !strings.Contains(digits, ".") {
		return digits
	}
	return strings.TrimSuffix(strings.TrimRight(digits, "0"), ".")
}

func sameNumber(a, b string) bool {
	if !isNumber(a) || !isNumber(b) {
		return false
	}
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x == y
}

// isNumber takes only what the service takes for the digits of a number; Go would take 0x10 and inf as well.
func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "+-.0123456789eE") == ""
}

// changesTo returns the fields of s that before does not hold like that. Fields that s lacks are no changes.
func (s sheet) changesTo(before sheet) sheet {
	changed := sheet{}
	for field, v := range s {
		if was, known := before[field]; !known || !same(field, was, v) {
			changed[field] = v
		}
	}
	return changed
}

// over returns before with the fields of s in place of its own.
func (s sheet) over(before sheet) sheet {
	whole := sheet{}
	for field, v := range before {
		whole[field] = v
	}
	for field, v := range s {
		whole[field] = v
	}
	return whole
}

// fields returns the names that s holds, in the order of the contract; those that it does not know are left out.
func (s sheet) fields() []string {
	var names []string
	for _, field := range api.PropertyPatchFields() {
		if _, held := s[field]; held {
			names = append(names, field)
		}
	}
	return names
}

// member is the value as the contract reads it from text, in which "null" is what can be nothing.
func (v value) member() api.Value {
	switch {
	case v.null:
		return api.TextValue("null")
	case v.list != nil:
		array, _ := json.Marshal(v.list) // strings always marshal
		return api.TextValue(string(array))
	}
	return api.TextValue(v.text)
}

// takenOut returns the fields that the sheet no longer has.
func (s sheet) takenOut() []string {
	var names []string
	for _, field := range api.PropertyPatchFields() {
		if _, held := s[field]; !held {
			names = append(names, field)
		}
	}
	return names
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
	top := append([]string{}, n.top...)
	for _, field := range sortedKeys(n.beside) {
		line := read.lines[field]
		if line == 0 {
			top = append(top, n.beside[field]...)
			continue
		}
		above[line] = append(above[line], n.beside[field]...)
	}
	noted := insert(text, top, above)
	if after := readSheet(noted); read.syntax == nil && !reflect.DeepEqual(after.sheet, read.sheet) {
		return insert(text, allOf(top, n), nil) // a comment in that place would have become part of a value
	}
	return noted
}

func allOf(top []string, n notes) []string {
	all := append([]string{}, top...)
	for _, field := range sortedKeys(n.beside) {
		all = append(all, n.beside[field]...)
	}
	return all
}

func insert(text string, top []string, above map[int][]string) string {
	var out strings.Builder
	writeNotes(&out, top)
	number := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		number++
		writeNotes(&out, above[number])
		out.WriteString(line)
	}
	return out.String()
}

func writeNotes(out *strings.Builder, lines []string) {
	for _, line := range lines {
		out.WriteString(noteMark + display.Line(line) + "\n")
	}
}

// withoutNotes takes out what annotate put in.
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

// yaml writes the fields in the contract's order.
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
		lines := []string{field + ":\n"}
		for _, entry := range v.list {
			lines = append(lines, "  - "+inline(field+":\n  - ", entry)+"\n")
		}
		return strings.Join(lines, "")
	case kindOf(field) == asPrice:
		return field + ": " + quote(v.text) + "\n"
	case kindOf(field) == asNumber && isNumber(v.text):
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

func inline(before, text string) string {
	if !strings.ContainsFunc(text, isHidden) && !isOldBoolean(text) && readsBack(before+text+"\n", text) {
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

// isOldBoolean tells what YAML 1.1 takes for a boolean and the library, which follows YAML 1.2, for text.
func isOldBoolean(text string) bool {
	switch strings.ToLower(text) {
	case "y", "yes", "on", "n", "no", "off":
		return true
	}
	return false
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
