package widget

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
)

// maxTyped is how many code points fit into a field: more than any field of the service takes, and few enough that keys
// stay fast.
const maxTyped = 20_000

// editor is text that is being typed, as characters, with the cursor before one of them.
type editor struct {
	multiline bool // it has several lines
	masked    bool // it is not seen, so the cursor stays behind the last character

	characters []character
	cursor     int
	selected   bool // all of them, with the cursor behind: what is typed replaces them
	overflow   int  // how many code points of what was typed or pasted last did not fit

	text  string // what the characters say together; "" and !known until asked for
	known bool

	rows       []row // as laid out for rowsWidth
	rowsWidth  int
	goalColumn int    // the column that going up and down keeps to; -1 if none
	top        int    // the first row that is seen
	left       int    // the first character that is seen of a single line
	rest       string // the likely rest of the text, drawn behind it
}

// character is a grapheme cluster with its width in cells.
type character struct {
	text  string
	width int
}

// row is one row on the screen, from a character to before another.
type row struct{ from, to int }

// set replaces the text. The cursor goes to its end.
func (e *editor) set(text string) {
	e.characters = characters(e.typeable(text))
	e.changed()
	e.cursor, e.top, e.left, e.overflow = len(e.characters), 0, 0, 0
}

// typeable drops what a field cannot hold. Terminals paste line ends as carriage returns.
func (e *editor) typeable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if e.multiline {
		return display.Text(strings.ReplaceAll(text, "\r", "\n"))
	}
	return display.Line(text)
}

func characters(text string) []character {
	all := make([]character, 0, len(text))
	for len(text) > 0 {
		c, width := display.FirstCharacter(text)
		if c == "\t" {
			width = 1
		}
		all = append(all, character{c, width})
		text = text[len(c):]
	}
	return all
}

func (e *editor) changed() {
	e.known, e.rows, e.goalColumn, e.selected = false, nil, -1, false
}

// selectAll selects a line that is seen.
func (e *editor) selectAll() {
	e.move(len(e.characters))
	e.selected = !e.multiline && !e.masked && len(e.characters) > 0
}

func (e *editor) value() string {
	if !e.known {
		e.text, e.known = joined(e.characters), true
	}
	return e.text
}

func joined(characters []character) string {
	var text strings.Builder
	for _, c := range characters {
		text.WriteString(c.text)
	}
	return text.String()
}

// insert inserts text before the cursor or instead of what is selected, as much as fits.
func (e *editor) insert(typed []rune, pasted bool) {
	space := maxTyped
	if !e.selected {
		space -= utf8.RuneCountInString(e.value())
	}
	text, rest := e.fitting(typed, space, pasted)
	if e.selected && text != "" {
		e.remove(0, len(e.characters))
	}
	e.overflow = rest
	if text == "" {
		return
	}
	// What is typed may join with the characters around it, as an accent does.
	from, to := max(0, e.cursor-1), min(len(e.characters), e.cursor+1)
	before, after := joined(e.characters[from:e.cursor]), joined(e.characters[e.cursor:to])
	joint := characters(before + text + after)
	e.characters = slices.Replace(e.characters, from, to, joint...)
	e.cursor = from
	for size := len(before) + len(text); size > 0; e.cursor++ {
		size -= len(e.characters[e.cursor].text)
	}
	e.changed()
}

// fitting cleans typed text. It reads no more than fits, because a paste can be of any size.
func (e *editor) fitting(typed []rune, space int, pasted bool) (text string, rest int) {
	if pasted && !e.multiline {
		for len(typed) > 0 && (typed[len(typed)-1] == '\n' || typed[len(typed)-1] == '\r') {
			typed = typed[:len(typed)-1]
		}
	}
	var out []rune
	for len(typed) > 0 && len(out) < space {
		some := typed[:min(len(typed), 2*(space-len(out))+1)]
		if last := len(some) - 1; last > 0 && some[last] == '\r' {
			some = some[:last] // a line feed may come next
		}
		typed = typed[len(some):]
		out = append(out, []rune(e.typeable(string(some)))...)
	}
	fits := min(len(out), max(0, space))
	return string(out[:fits]), len(out) - fits + len(typed)
}

// remove removes characters, or those that are selected instead.
func (e *editor) remove(from, to int) {
	from, to = max(0, from), min(to, len(e.characters))
	if e.selected {
		from, to = 0, len(e.characters)
	}
	if from >= to {
		return
	}
	e.characters = slices.Delete(e.characters, from, to)
	e.cursor, e.overflow = from, 0
	e.changed()
}

// move puts the cursor before a character.
func (e *editor) move(to int) {
	if e.masked {
		return
	}
	e.cursor, e.goalColumn, e.selected = max(0, min(to, len(e.characters))), -1, false
}

// from moves left, or right with a step of 1, past characters that are wanted.
func (e *editor) from(at, step int, wanted func(text string) bool) int {
	for next := at + min(step, 0); next >= 0 && next < len(e.characters) &&
		wanted(e.characters[next].text); next += step {
		at += step
	}
	return at
}

// word returns where the word beside the cursor begins, or ends with a step of 1. A secret is one word.
func (e *editor) word(step int) int {
	if e.masked && step < 0 {
		return 0
	}
	return e.from(e.from(e.cursor, step, isBlank), step, func(text string) bool { return !isBlank(text) })
}

// line returns where the line of the cursor begins, or ends with a step of 1.
func (e *editor) line(step int) int {
	return e.from(e.cursor, step, func(text string) bool { return text != "\n" })
}

func isBlank(character string) bool { return strings.TrimSpace(character) == "" }

// press handles a key, and tells whether the text changed. The keys are those of shells, except ctrl+k, ctrl+p, ctrl+s
// and ctrl+z, which are actions, as ctrl+e is where an editor can be opened.
func (e *editor) press(key tea.KeyMsg) (edited bool) {
	before := e.value()
	switch name := key.String(); {
	case key.Type == tea.KeySpace && !key.Alt:
		e.insert([]rune{' '}, key.Paste)
	case key.Type == tea.KeyRunes && !key.Alt:
		e.insert(key.Runes, key.Paste)
	default:
		e.erase(name)
		e.moveCursor(name)
	}
	return e.value() != before
}

// erase handles the keys that change the text.
func (e *editor) erase(key string) {
	switch key {
	case "enter", "ctrl+j":
		if e.multiline {
			e.insert([]rune{'\n'}, false)
		}
	case "backspace", "ctrl+h":
		e.remove(e.cursor-1, e.cursor)
	case "delete", "ctrl+d":
		e.remove(e.cursor, e.cursor+1)
	case "ctrl+w", "alt+backspace":
		e.remove(e.word(-1), e.cursor)
	case "alt+d", "alt+delete":
		e.remove(e.cursor, e.word(1))
	case "ctrl+u":
		e.remove(e.line(-1), e.cursor)
	}
}

// moveCursor handles the keys that move the cursor.
func (e *editor) moveCursor(key string) {
	switch key {
	case "left", "ctrl+b":
		to := e.cursor - 1
		if e.selected { // to the start, as right goes to the end
			to = 0
		}
		e.move(to)
	case "right", "ctrl+f":
		e.move(e.cursor + 1)
	case "ctrl+left", "alt+left", "alt+b":
		e.move(e.word(-1))
	case "ctrl+right", "alt+right", "alt+f":
		e.move(e.word(1))
	case "home", "ctrl+a":
		e.move(e.line(-1))
	case "end", "ctrl+e":
		e.move(e.line(1))
	case "ctrl+home":
		e.move(0)
	case "ctrl+end":
		e.move(len(e.characters))
	case "up":
		e.moveRows(-1)
	case "down":
		e.moveRows(1)
	case "pgup":
		e.moveRows(-pageOfRows)
	case "pgdown":
		e.moveRows(pageOfRows)
	}
}

// pageOfRows is how many rows a page moves by.
const pageOfRows = 5

// layOut breaks the text into rows, unless it is done. A row leaves a cell for the cursor behind its last character.
func (e *editor) layOut(width int) {
	width = max(1, width-1)
	if e.rows != nil && e.rowsWidth == width {
		return
	}
	e.rows, e.rowsWidth = e.rows[:0], width
	for start := 0; ; {
		end := len(e.characters)
		if feed := slices.IndexFunc(e.characters[start:], func(c character) bool { return c.text == "\n" }); feed >= 0 {
			end = start + feed
		}
		for { // a blank line is a row too
			next := start + fillRow(e.characters[start:end], e.rowsWidth)
			e.rows = append(e.rows, row{start, next})
			if start = next; start >= end {
				break
			}
		}
		if end == len(e.characters) {
			return
		}
		start = end + 1
	}
}

// layOutAgain makes rows of the last width, for keys that come before the next View.
func (e *editor) layOutAgain() {
	if e.rowsWidth == 0 {
		e.rowsWidth = 80
	}
	e.layOut(e.rowsWidth + 1)
}

// fillRow returns how many characters fit into a row. Unlike display.Wrap it loses none, because the cursor can be at
// each; only a blank may be in the cell behind the row.
func fillRow(line []character, width int) int {
	at, end := 0, 0
	for i, c := range line {
		blank := isBlank(c.text)
		if at > 0 && at+c.width > width {
			switch {
			case blank && at == width:
				return i + 1
			case blank || end == 0:
				return i
			}
			return end
		}
		at += c.width
		if blank || i+1 < len(line) && display.BreaksBetween(c.text, line[i+1].text) {
			end = i + 1
		}
	}
	return len(line)
}

// at is the row with the cursor.
func (e *editor) at() int {
	return sort.Search(len(e.rows), func(i int) bool { return e.rows[i].from > e.cursor }) - 1
}

// canMoveRows tells whether there is a row that far below the cursor; negative is above.
func (e *editor) canMoveRows(by int) bool {
	e.layOutAgain()
	to := e.at() + by
	return to >= 0 && to < len(e.rows)
}

// moveRows moves the cursor by rows, and keeps its column as far as it can.
func (e *editor) moveRows(by int) {
	if e.masked || !e.multiline {
		return
	}
	e.layOutAgain()
	from := e.at()
	if e.goalColumn < 0 {
		e.goalColumn = cells(e.characters[e.rows[from].from:e.cursor])
	}
	goalColumn := e.goalColumn
	to := e.rows[max(0, min(from+by, len(e.rows)-1))]
	at := min(to.to, e.fits(to.from, goalColumn))
	if at == to.to && at > to.from && at < len(e.characters) && e.characters[at].text != "\n" {
		at-- // the end of a row that was broken is the beginning of the next
	}
	e.cursor, e.goalColumn = at, goalColumn
}

func cells(characters []character) int {
	sum := 0
	for _, c := range characters {
		sum += c.width
	}
	return sum
}

// caret is the cursor where there are no colours.
const caret = "▏"

// viewLine draws a single line; if focused, the part around the cursor. An ellipsis marks what is cut.
func (e *editor) viewLine(theme *theme.Theme, width int, focused bool) string {
	if !focused {
		e.left = 0
		return inField(theme, theme.Input, theme.Input.Render(display.Cut(shown(e.characters[:min(len(e.characters),
			width+1)]), width)), width)
	}
	if width < 3 {
		return theme.Cursor.Render(display.Pad("", width))
	}
	e.scroll(width)
	style, lead, tail := field(theme, focused), "", ""
	space := width - 1 // a cell is the cursor's
	if e.left > 0 {
		lead = "…"
		space--
	}
	end := e.fits(e.left, space)
	if end < len(e.characters) {
		tail, end = "…", e.fits(e.left, space-1)
	}
	text := e.characters[e.left:end]
	line := style.Render(lead) + drawRow(theme, style, text, e.cursor-e.left) + style.Render(tail)
	if e.selected {
		line = style.Render(lead) + e.drawSelected(theme, text, width)
	}
	if rest := e.rest; rest != "" && e.cursor == len(e.characters) {
		if !theme.Colours() {
			rest = "(" + rest + ")"
		}
		line += style.Foreground(theme.Muted.GetForeground()).Render(display.Cut(rest, width-display.Width(line)))
	}
	return inField(theme, style, line, width)
}

// field is the style of a field.
func field(theme *theme.Theme, focused bool) lipgloss.Style {
	if focused {
		return theme.Editing
	}
	return theme.Input
}

// inField makes a drawn row as wide as its field, and underlines it where it has no background.
func inField(theme *theme.Theme, style lipgloss.Style, row string, width int) string {
	if space := width - display.Width(row); space > 0 {
		row += style.Render(display.Pad("", space))
	}
	if _, none := theme.Input.GetBackground().(lipgloss.NoColor); none {
		return underlined(row)
	}
	return row
}

// underlined underlines a text that may have styles, also behind their ends. A style of lipgloss would split its
// characters.
func underlined(text string) string {
	return "\x1b[4m" + strings.ReplaceAll(text, "\x1b[0m", "\x1b[0;4m") + "\x1b[24m"
}

// scroll moves the visible part to the cursor, with a cell for an ellipsis at either side.
func (e *editor) scroll(width int) {
	all := len(e.characters)
	if cells(e.characters) < width {
		e.left = 0
		return
	}
	e.left = min(e.left, max(0, e.cursor-1))
	e.left = max(e.left, e.reach(min(e.cursor+1, all), width-3))
	e.left = min(e.left, e.reach(all, width-2), e.cursor)
}

// fits returns the end of the characters that fit, starting at one.
func (e *editor) fits(from, space int) int {
	for from < len(e.characters) && e.characters[from].width <= space {
		space -= e.characters[from].width
		from++
	}
	return from
}

// reach returns the first of the characters that fit before an end.
func (e *editor) reach(end, space int) int {
	for end > 0 && e.characters[end-1].width <= space {
		end--
		space -= e.characters[end].width
	}
	return end
}

// viewRows draws that many rows; if focused, the one with the cursor is among them.
func (e *editor) viewRows(theme *theme.Theme, width, height int, focused bool) []string {
	e.layOut(width)
	at := e.at()
	switch {
	case !focused:
		e.top = 0
	case at < e.top:
		e.top = at
	case at >= e.top+height:
		e.top = at - height + 1
	}
	e.top = max(0, min(e.top, len(e.rows)-height))
	lines, style := make([]string, height), field(theme, focused)
	for i := range min(height, len(e.rows)-e.top) {
		r, cursor := e.rows[e.top+i], -1
		if focused && e.top+i == at {
			cursor = e.cursor - r.from
		}
		if last := r.to - 1; cursor >= 0 && last > r.from && cells(e.characters[r.from:r.to]) >= width &&
			!theme.Colours() {
			r.to = last // the blank behind a full row makes space for the caret
		}
		lines[i] = display.Cut(drawRow(theme, style, e.characters[r.from:r.to], cursor), width)
	}
	for i, line := range lines {
		lines[i] = inField(theme, style, line, width)
	}
	return lines
}

// drawRow draws characters with the cursor at one, behind the last, or (-1) nowhere.
func drawRow(theme *theme.Theme, style lipgloss.Style, row []character, cursor int) string {
	if cursor < 0 {
		return style.Render(shown(row))
	}
	cursor = min(cursor, len(row))
	before, after := shown(row[:cursor]), shown(row[cursor:])
	if !theme.Colours() {
		return style.Render(before + caret + after)
	}
	under := " "
	if cursor < len(row) {
		under, after = shown(row[cursor:cursor+1]), shown(row[cursor+1:])
	}
	return style.Render(before) + theme.Cursor.Render(under) + style.Render(after)
}

// drawSelected draws the end of what is selected, and the cursor behind it. Without colours a caret is at both ends, if
// all of it fits.
func (e *editor) drawSelected(theme *theme.Theme, end []character, width int) string {
	switch text := shown(end); {
	case theme.Colours():
		return theme.Cursor.Render(text + " ")
	case cells(e.characters)+2 <= width:
		return caret + theme.Cursor.Render(text) + caret
	default:
		return theme.Cursor.Render(text) + caret
	}
}

// shown draws a tab as one cell.
func shown(characters []character) string {
	return strings.ReplaceAll(joined(characters), "\t", " ")
}
