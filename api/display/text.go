package display

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	ellipsis   = "…"
	resetStyle = "\x1b[0m"
	tabStop    = 4 // a tab is never passed on to the terminal, which has stops of its own
)

// Width is how many cells a line takes on a terminal, escape sequences not counted. It counts in characters as people see
// them, as the renderer of bubbletea does.
func Width(line string) int {
	if isASCII(line) {
		return len(line)
	}
	return ansi.StringWidth(line)
}

// isASCII tells whether each byte is a character that takes one cell.
func isASCII(line string) bool {
	for i := range len(line) {
		if line[i] < ' ' || line[i] > '~' {
			return false
		}
	}
	return true
}

// First returns the first character of a line as people see it (a grapheme cluster), or the escape sequence that it begins
// with, and its width in cells, which is 0 for a sequence.
func First(line string) (text string, width int) {
	if line[0] == '\x1b' {
		sequence, _, _, _ := ansi.DecodeSequence(line, ansi.NormalState, nil)
		return sequence, 0
	}
	r, size := utf8.DecodeRuneInString(line)
	if width := widthAlone(r); width > 0 && standsAlone(line[size:]) {
		return line[:size], width
	}
	return ansi.FirstGraphemeCluster(line, ansi.GraphemeWidth)
}

// widthAlone is the width of the characters that most text is made of, which join with none of their kind; 0 for all others. It
// saves looking up their properties, which takes ten times as long.
func widthAlone(r rune) int {
	switch {
	case ' ' <= r && r <= '~':
		return 1
	case 0x4e00 <= r && r <= 0x9fff, 0x3041 <= r && r <= 0x3096, 0x30a1 <= r && r <= 0x30fa, 0xac00 <= r && r <= 0xd7a3:
		return 2
	}
	return 0
}

// standsAlone tells whether a text surely begins with a character that joins with none before it.
func standsAlone(text string) bool {
	if text == "" || text[0] == '\x1b' {
		return true
	}
	r, _ := utf8.DecodeRuneInString(text)
	return widthAlone(r) > 0
}

// needsBase tells whether a character only changes the one before it, even where that is a blank.
func needsBase(r rune) bool {
	if widthAlone(r) > 0 {
		return false
	}
	cluster, _ := ansi.FirstGraphemeCluster(" "+string(r), ansi.GraphemeWidth)
	return len(cluster) > 1
}

// clean returns a line without what would make its width uncertain: tabs are blanks up to the next stop, line feeds are
// blanks, bytes that are not UTF-8 are U+FFFD, and other control characters are gone, as are marks that have no character to
// stand on. Of escape sequences, only those stay that style.
func clean(line string) string {
	if isClean(line) {
		return line
	}
	line = strings.ToValidUTF8(line, "\uFFFD")
	var out strings.Builder
	out.Grow(len(line))
	column, alone := 0, true
	for len(line) > 0 {
		r, size := utf8.DecodeRuneInString(line)
		switch {
		case r == '\t':
			n := tabStop - column%tabStop
			out.WriteString(blanks(n))
			column += n
			alone = false
		case r == '\n':
			out.WriteByte(' ')
			column++
			alone = false
		case unicode.IsControl(r) && r != '\x1b', alone && needsBase(r):
		default:
			text, width := First(line)
			if r == '\x1b' && !isStyle(text) {
				break // its other bytes show as what they are
			}
			out.WriteString(text)
			size = len(text)
			column += width
			alone = r == '\x1b'
		}
		line = line[size:]
	}
	return out.String()
}

func isClean(line string) bool {
	for i, r := range line {
		switch {
		case ' ' <= r && r <= '~':
		case r == utf8.RuneError, unicode.IsControl(r), i == 0 && needsBase(r):
			return false
		}
	}
	return true
}

// isStyle tells whether an escape sequence sets a style or a link.
func isStyle(sequence string) bool {
	if parameters, ok := strings.CutPrefix(sequence, "\x1b["); ok {
		parameters, ok = strings.CutSuffix(parameters, "m")
		return ok && strings.Trim(parameters, "0123456789;:") == ""
	}
	return strings.HasPrefix(sequence, "\x1b]8;") && (strings.HasSuffix(sequence, "\x07") || strings.HasSuffix(sequence, "\x1b\\"))
}

// Cut shortens a line to the width, with an ellipsis where something is missing. Styles survive it, and no character is cut
// in two. Tabs become blanks.
func Cut(line string, width int) string {
	line, _ = cut(line, width)
	return line
}

// cut returns what fits with its width.
func cut(line string, width int) (string, int) {
	if width <= 0 || line == "" {
		return "", 0
	}
	if isASCII(line) {
		if len(line) <= width {
			return line, len(line)
		}
		return line[:width-1] + ellipsis, width
	}
	line = clean(line)
	if size, at := head(line, width); size == len(line) {
		return line, at
	}
	size, at := head(line, width-1)
	return line[:size] + ellipsis + sequences(line[size:]), at + 1
}

// head tells how many bytes of a clean line fit into the width, and how wide they are.
func head(line string, width int) (size, at int) {
	for size < len(line) {
		text, cells := First(line[size:])
		if at+cells > width {
			break
		}
		at += cells
		size += len(text)
	}
	return size, at
}

// sequences returns the escape sequences of a line without its text: whatever they begin they also end.
func sequences(line string) string {
	if !strings.Contains(line, "\x1b") {
		return ""
	}
	var out strings.Builder
	for len(line) > 0 {
		text, _ := First(line)
		if text[0] == '\x1b' {
			out.WriteString(text)
		}
		line = line[len(text):]
	}
	return out.String()
}

// Pad lengthens a line to the width with blanks, or cuts it. The result is exactly so wide.
func Pad(line string, width int) string {
	line, at := cut(line, width)
	for at < width {
		line += blanks(width - at)
		at = Width(line) // rarely less: some characters join with a blank
	}
	return line
}

// PadLeft puts the blanks before the line.
func PadLeft(line string, width int) string {
	line, at := cut(line, width)
	return blanks(width-at) + line
}

func blanks(n int) string { return strings.Repeat(" ", max(0, n)) }

// Crop makes a view of exactly so many lines, none longer than the width; "" if there is no room at all.
func Crop(view string, width, height int) string {
	if height <= 0 {
		return ""
	}
	lines := strings.SplitN(view, "\n", height+1)
	lines = lines[:min(len(lines), height)]
	for i := range lines {
		lines[i] = Cut(lines[i], width)
	}
	return strings.Join(lines, "\n") + strings.Repeat("\n", height-len(lines))
}

// Over lays a box over a view, its corner at x and y. Lines of the view are taken for padded with blanks. A wide character
// that the box covers in part leaves a blank. Lines of the box outside of the view are not drawn.
func Over(view, box string, x, y int) string {
	lines := strings.Split(view, "\n")
	for i, line := range strings.Split(box, "\n") {
		if at := y + i; at >= 0 && at < len(lines) {
			lines[at] = overLine(clean(lines[at]), clean(line), x)
		}
	}
	return strings.Join(lines, "\n")
}

func overLine(under, line string, x int) string {
	if x < 0 {
		line, x = from(line, -x), 0
	}
	size, at := head(under, x)
	left := under[:size] + sequences(under[size:]) + blanks(x-at)
	return left + line + from(under, x+Width(line))
}

// from returns a clean line from a cell on, with the style that it has there. Half of a wide character becomes a blank.
func from(line string, cell int) string {
	size, at := head(line, cell)
	if size == len(line) {
		return ""
	}
	styles, rest := sequences(line[:size]), line[size:]
	if text, width := First(rest); at < cell && width > 0 {
		return styles + blanks(at+width-cell) + rest[len(text):]
	}
	return styles + rest
}
