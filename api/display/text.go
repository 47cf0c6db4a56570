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

// Width is the number of terminal cells of a line without its escape sequences, counted in graphemes as bubbletea does.
func Width(line string) int {
	if isASCII(line) {
		return len(line)
	}
	return ansi.StringWidth(line)
}

// isASCII tells whether all bytes are printable ASCII, so that each takes one cell.
func isASCII(line string) bool {
	for i := range len(line) {
		if line[i] < ' ' || line[i] > '~' {
			return false
		}
	}
	return true
}

// FirstCharacter returns the first grapheme cluster of a line with its width in cells, or the escape sequence at its
// start with 0.
func FirstCharacter(line string) (text string, width int) {
	if line[0] == '\x1b' {
		if rest, isStyle := strings.CutPrefix(line, "\x1b["); isStyle {
			parameters := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != ';' && r != ':' })
			if parameters >= 0 && rest[parameters] == 'm' {
				return line[:len("\x1b[")+parameters+1], 0
			}
		}
		sequence, _, _, _ := ansi.DecodeSequence(line, ansi.NormalState, nil)
		return sequence, 0
	}
	r, size := utf8.DecodeRuneInString(line)
	if width := widthAlone(r); width > 0 && standsAlone(line[size:]) {
		return line[:size], width
	}
	return ansi.FirstGraphemeCluster(line, ansi.GraphemeWidth)
}

// widthAlone is the width of common characters, which never join with each other; 0 for all others. Looking up the
// properties of a character takes ten times as long.
func widthAlone(r rune) int {
	switch {
	case ' ' <= r && r <= '~', 0xc0 <= r && r <= 0xff, r == '·', r == '…', 0x2500 <= r && r <= 0x259f:
		return 1 // the last are lines and blocks, which frames are drawn with
	case 0x4e00 <= r && r <= 0x9fff, 0x3041 <= r && r <= 0x3096, 0x30a1 <= r && r <= 0x30fa, 0xac00 <= r && r <= 0xd7a3:
		return 2
	}
	return 0
}

// standsAlone tells whether a text certainly begins with a character that does not join with the one before it.
func standsAlone(text string) bool {
	if text == "" || text[0] == '\x1b' {
		return true
	}
	r, _ := utf8.DecodeRuneInString(text)
	return widthAlone(r) > 0
}

// needsBase tells whether a character modifies the one before it, even a blank.
func needsBase(r rune) bool {
	if widthAlone(r) > 0 {
		return false
	}
	cluster, _ := ansi.FirstGraphemeCluster(" "+string(r), ansi.GraphemeWidth)
	return len(cluster) > 1
}

// clean removes what would make a line's width uncertain: tabs become blanks up to the next tab stop, line feeds become
// blanks, and invalid UTF-8 becomes U+FFFD. Other control characters go, as do marks with nothing to modify and escape
// sequences that do not style.
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
			text, width := FirstCharacter(line)
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

// isStyle tells whether an escape sequence sets a style or a link. A link is printable ASCII.
func isStyle(sequence string) bool {
	if parameters, ok := strings.CutPrefix(sequence, "\x1b["); ok {
		parameters, ok = strings.CutSuffix(parameters, "m")
		return ok && strings.Trim(parameters, "0123456789;:") == ""
	}
	link, begun := strings.CutPrefix(sequence, "\x1b]8;")
	link, ended := strings.CutSuffix(link, "\x07")
	if !ended {
		link, ended = strings.CutSuffix(link, "\x1b\\")
	}
	return begun && ended && isASCII(link)
}

// Cut shortens a line to the width, with an ellipsis if something is missing. It keeps styles and never splits a
// character.
func Cut(line string, width int) string {
	line, _ = cut(line, width)
	return line
}

// cut also returns the resulting width.
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

// head returns how many bytes of a clean line fit into the width, and their width.
func head(line string, width int) (size, at int) {
	for size < len(line) {
		text, cells := FirstCharacter(line[size:])
		if at+cells > width {
			break
		}
		at += cells
		size += len(text)
	}
	return size, at
}

// sequences returns only the escape sequences of a line, so that whatever they begin they also end.
func sequences(line string) string {
	if !strings.Contains(line, "\x1b") {
		return ""
	}
	var out strings.Builder
	for len(line) > 0 {
		text, _ := FirstCharacter(line)
		if text[0] == '\x1b' {
			out.WriteString(text)
		}
		line = line[len(text):]
	}
	return out.String()
}

// Pad makes a line exactly as wide as given, with blanks or by cutting it.
func Pad(line string, width int) string {
	line, at := cut(line, width)
	for at < width {
		line += blanks(width - at)
		at = Width(line) // rarely less: some characters join with a blank
	}
	return line
}

// PadLeft is Pad with the blanks at the left.
func PadLeft(line string, width int) string {
	line, at := cut(line, width)
	return blanks(width-at) + line
}

func blanks(n int) string { return strings.Repeat(" ", max(0, n)) }

// Crop cuts or extends a view to exactly height lines, none wider than the width.
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

// Overlay draws a box over a view, its corner at x and y. A wide character that it covers in part becomes a blank.
// Lines of the box outside the view are not drawn.
func Overlay(view, box string, x, y int) string {
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

// from returns a clean line from a cell on, with the styles in force there. Half of a wide character becomes a blank.
func from(line string, cell int) string {
	size, at := head(line, cell)
	if size == len(line) {
		return ""
	}
	styles, rest := sequences(line[:size]), line[size:]
	if text, width := FirstCharacter(rest); at < cell && width > 0 {
		return styles + blanks(at+width-cell) + rest[len(text):]
	}
	return styles + rest
}
