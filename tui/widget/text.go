// Package widget is the parts that screens are made of: tables, forms, texts that scroll, and the themes that style them.
//
// It knows neither the service nor a single screen.
package widget

import (
	"fmt"
	"strconv"
	"strings"
	"time"
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

const ellipsis = "…"

// Cut shortens a line to the width, with an ellipsis where something is missing. Styles survive it, and no character is cut
// in two. Tabs become blanks.
func Cut(line string, width int) string {
	line, _ = cut(line, width, ellipsis)
	return line
}

// cut returns what fits with its width. Where something is missing, it ends with the tail.
func cut(line string, width int, tail string) (string, int) {
	if width <= 0 || line == "" {
		return "", 0
	}
	if isASCII(line) {
		if len(line) <= width {
			return line, len(line)
		}
		room := width - Width(tail)
		return line[:room] + tail, width
	}
	line = clean(line)
	if _, at, rest := head(line, width); rest == "" {
		return line, at
	}
	size, at, rest := head(line, width-Width(tail))
	return line[:size] + tail + sequences(rest), at + Width(tail)
}

// head tells how many bytes of a clean line fit into the width, how wide they are, and what is left.
func head(line string, width int) (size, at int, rest string) {
	for size < len(line) {
		p := firstPiece(line[size:])
		if at+p.width > width {
			break
		}
		at += p.width
		size += len(p.text)
	}
	return size, at, line[size:]
}

// sequences returns the escape sequences of a line without its text: whatever they begin they also end.
func sequences(line string) string {
	if !strings.Contains(line, "\x1b") {
		return ""
	}
	var out strings.Builder
	for len(line) > 0 {
		p := firstPiece(line)
		if p.styles {
			out.WriteString(p.text)
		}
		line = line[len(p.text):]
	}
	return out.String()
}

// Pad lengthens a line to the width with blanks, or cuts it. The result is exactly so wide.
func Pad(line string, width int) string {
	line, at := cut(line, width, ellipsis)
	for at < width {
		line += blanks(width - at)
		at = Width(line) // rarely less: some characters join with a blank
	}
	return line
}

// PadLeft puts the blanks before the line.
func PadLeft(line string, width int) string {
	line, at := cut(line, width, ellipsis)
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

// Wrap breaks a text into lines of at most the width: between words, and between characters of scripts that put no blanks
// between words. Only a word that is longer than a line is broken elsewhere. Line feeds stay; blanks at the end of a line
// go. Each line can be drawn by itself, because a style that goes on begins anew in it. A character wider than the width
// becomes an ellipsis.
func Wrap(text string, width int) []string {
	if width <= 0 {
		return nil
	}
	var lines []string
	style := ""
	for paragraph := range strings.SplitSeq(text, "\n") {
		paragraph = clean(paragraph)
		if isASCII(paragraph) && len(paragraph) <= width && style == "" {
			lines = append(lines, strings.TrimRight(paragraph, " "))
			continue
		}
		lines, style = wrapParagraph(lines, style, pieces(paragraph, width), width)
	}
	return lines
}

func pieces(line string, width int) []piece {
	all := make([]piece, 0, len(line))
	for len(line) > 0 {
		p := firstPiece(line)
		line = line[len(p.text):]
		if p.width > width {
			p = piece{text: ellipsis, width: 1}
		}
		all = append(all, p)
	}
	return all
}

// wrapParagraph appends the lines of a paragraph that begins in a style, and returns the style in which it ends.
func wrapParagraph(lines []string, style string, all []piece, width int) ([]string, string) {
	for {
		first, end, next := fillLine(all, width)
		var line strings.Builder
		line.WriteString(style)
		for i, p := range all[:end] {
			if p.styles {
				style = styleAfter(style, p.text)
			}
			if p.styles || i >= first {
				line.WriteString(p.text)
			}
		}
		if style != "" {
			line.WriteString(resetStyle)
		}
		for _, p := range all[end:next] {
			style = styleAfter(style, p.text)
		}
		lines = append(lines, line.String())
		if all = all[next:]; len(all) == 0 {
			return lines, style
		}
	}
}

// fillLine tells which pieces make the first line, and where the next one begins.
func fillLine(all []piece, width int) (first, end, next int) {
	at := 0         // the width so far
	before := ""    // the character before
	breakEnd := -1  // where the line could have ended
	breakNext := -1 // and the next begun
	for i, p := range all {
		switch {
		case p.styles:
			continue
		case p.text == " ":
			at++
			continue
		case before == "" && at+p.width > width:
			first, at = i, 0 // blanks that leave no room for a word
		case before != "" && end < i && spaceBetween(all[end:i]):
			breakEnd, breakNext = end, i
		case before != "" && breaksBetween(before, p.text):
			breakEnd, breakNext = i, i
		}
		if at+p.width > width {
			if breakEnd > first {
				return first, breakEnd, breakNext
			}
			return first, i, i
		}
		at += p.width
		before = p.text
		end = i + 1
	}
	return first, end, len(all)
}

func spaceBetween(all []piece) bool {
	for _, p := range all {
		if p.text == " " {
			return true
		}
	}
	return false
}

// Characters that begin no line: what closes, what ends a sentence, and what lengthens the sound before it.
const beginsNoLine = "、。，．！？：；）」』】〉》〕］｝ー・…,.!?:;)]}%"

// Characters that end no line.
const endsNoLine = "（「『【〈《〔［｛([{"

// breaksBetween tells whether a line can end between two characters that no blank parts.
func breaksBetween(before, after string) bool {
	if strings.Contains(beginsNoLine, after) || strings.Contains(endsNoLine, before) {
		return false
	}
	return isIdeographic(before) || isIdeographic(after) || before == "-" && startsLetter(after)
}

func isIdeographic(character string) bool {
	r, _ := utf8.DecodeRuneInString(character)
	return r >= 0x2e80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || strings.ContainsRune(beginsNoLine+endsNoLine, r))
}

func startsLetter(character string) bool {
	r, _ := utf8.DecodeRuneInString(character)
	return unicode.IsLetter(r)
}

const resetStyle = "\x1b[0m"

// styleAfter adds an escape sequence to the styles that are in force. What is no style changes nothing.
func styleAfter(style, sequence string) string {
	switch {
	case sequence == resetStyle || sequence == "\x1b[m":
		return ""
	case strings.HasPrefix(sequence, "\x1b[") && strings.HasSuffix(sequence, "m"):
		return style + sequence
	}
	return style
}

// Width is how many cells a line takes on a terminal, escape sequences not counted. It counts in characters as people see
// them, as the renderer of bubbletea does.
func Width(line string) int {
	if isASCII(line) {
		return len(line)
	}
	return ansi.StringWidth(line)
}

// Over lays a box over a view, its corner at x and y. Lines of the view are taken for padded with blanks. A wide character
// that the box covers in part leaves a blank. Lines of the box outside of the view are not drawn.
func Over(view, box string, x, y int) string {
	lines := strings.Split(view, "\n")
	for i, line := range strings.Split(box, "\n") {
		if at := y + i; at >= 0 && at < len(lines) {
			lines[at] = overLine(lines[at], line, x)
		}
	}
	return strings.Join(lines, "\n")
}

func overLine(under, line string, x int) string {
	under, line = clean(under), clean(line)
	if x < 0 {
		line, x = from(line, -x), 0
	}
	size, at, rest := head(under, x)
	left := under[:size] + sequences(rest) + blanks(x-at)
	return left + line + from(under, x+Width(line))
}

// from returns a clean line from a cell on, with the style that it has there. Half of a wide character becomes a blank.
func from(line string, cell int) string {
	size, at, rest := head(line, cell)
	if rest == "" {
		return ""
	}
	styles := sequences(line[:size])
	if p := firstPiece(rest); at < cell && p.width > 0 {
		return styles + blanks(at+p.width-cell) + rest[len(p.text):]
	}
	return styles + rest
}

// Count writes a number with its thousands apart.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural writes a number with the word for one or for many.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Age says how long ago something was, roughly. What has not been yet, as clocks that are off have it, is just now.
func Age(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return Count(int64(d/day)) + " days ago"
}

// Instant writes a moment for people, in the zone of now.
func Instant(at, now time.Time) string { return at.In(now.Location()).Format("2 Jan 2006 15:04") }

// Day writes a day for people, in the zone of now.
func Day(at, now time.Time) string { return at.In(now.Location()).Format("2 Jan 2006") }

const day = 24 * time.Hour

// Until says how long something can still be used, or since when it cannot: "3 days left", "5 hours left", "ended just
// now", "ended today", "ended yesterday", "ended 2 days ago". Days are those of the calendar in the zone of now, however many
// hours they have.
func Until(end, now time.Time) string {
	if end.After(now) {
		return left(end.Sub(now), wall(end, now).Sub(wall(now, now))) + " left"
	}
	if now.Sub(end) < time.Minute {
		return "ended just now"
	}
	switch days := int64(wall(now, now).Truncate(day).Sub(wall(end, now).Truncate(day)) / day); days {
	case 0:
		return "ended today"
	case 1:
		return "ended yesterday"
	default:
		return "ended " + Plural(days, "day", "days") + " ago"
	}
}

// In says how soon something begins: "in 3 days", "in 5 hours".
func In(at, now time.Time) string {
	return "in " + left(at.Sub(now), wall(at, now).Sub(wall(now, now)))
}

// left writes a time to come, by what passes up to two days, and from then on by what clocks on the wall show.
func left(passes, shows time.Duration) string {
	switch {
	case passes < time.Hour:
		return Plural(max(1, int64(passes/time.Minute)), "minute", "minutes")
	case passes < 2*day && shows < 2*day:
		return Plural(int64(passes/time.Hour), "hour", "hours")
	}
	return Plural(max(2, int64(shows/day)), "day", "days")
}

// wall is a moment as a clock on a wall in the zone of now shows it, in a zone where every day has 24 hours.
func wall(at, now time.Time) time.Time {
	at = at.In(now.Location())
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
}
