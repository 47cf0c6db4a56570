package property

import (
	"reflect"
	"strings"

	"example.com/perks/api/display"
)

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
