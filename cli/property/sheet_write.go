package property

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"example.com/perks/api/display"
)

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
