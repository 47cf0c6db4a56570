package widget

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// piece is what a line is made of: a character as people see it (a grapheme cluster), or a sequence that styles.
type piece struct {
	text   string
	width  int  // in cells
	styles bool // it is an escape sequence, of no width
}

// firstPiece returns the first piece of a line that clean has passed.
func firstPiece(line string) piece {
	if line[0] == '\x1b' {
		sequence, _, _, _ := ansi.DecodeSequence(line, ansi.NormalState, nil)
		return piece{text: sequence, styles: true}
	}
	r, size := utf8.DecodeRuneInString(line)
	if width := widthAlone(r); width > 0 && standsAlone(line[size:]) {
		return piece{text: line[:size], width: width}
	}
	cluster, width := ansi.FirstGraphemeCluster(line, ansi.GraphemeWidth)
	return piece{text: cluster, width: width}
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
	if text == "" || isPrintable(text[0]) || text[0] == '\x1b' {
		return true
	}
	r, _ := utf8.DecodeRuneInString(text)
	return widthAlone(r) > 0
}

func isPrintable(c byte) bool { return ' ' <= c && c <= '~' }

// isASCII tells whether each byte is a character that takes one cell.
func isASCII(line string) bool {
	for i := range len(line) {
		if !isPrintable(line[i]) {
			return false
		}
	}
	return true
}

// The distance of tab stops. A tab is never passed on to the terminal, which has stops of its own.
const tabStop = 4

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
	column := 0
	for alone := true; len(line) > 0; {
		r, size := utf8.DecodeRuneInString(line)
		switch {
		case r == '\t':
			n := tabStop - column%tabStop
			out.WriteString(blanks(n))
			column += n
		case r == '\n':
			out.WriteByte(' ')
			column++
		case r == '\x1b' && isStyle(firstPiece(line).text):
			p := firstPiece(line)
			out.WriteString(p.text)
			size = len(p.text)
			alone = true
			line = line[size:]
			continue
		case unicode.IsControl(r), alone && needsBase(r):
			line = line[size:]
			continue
		default:
			p := firstPiece(line)
			out.WriteString(p.text)
			column += p.width
			size = len(p.text)
		}
		alone = false
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

// needsBase tells whether a character only changes the one before it, even where that is a blank.
func needsBase(r rune) bool {
	if widthAlone(r) > 0 {
		return false
	}
	cluster, _ := ansi.FirstGraphemeCluster(" "+string(r), ansi.GraphemeWidth)
	return len(cluster) > 1
}
