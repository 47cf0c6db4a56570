// Package widget draws the parts of screens: tables, forms, scrolling texts, notices, in every theme. It knows no
// screen, and nothing of the service.
package widget

import (
	"slices"
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
)

// Column is one column of a Table.
type Column struct {
	Name  string
	Min   int // the narrowest that still says something, in cells
	Share int // its share of the remaining space; 0 keeps it at Min
	Right bool
	Drop  int // the column with the highest Drop leaves first when there is too little space; 0 stays

	Matches bool // words that are searched for are highlighted

	Shorten func(cell string) string // shortens a cell that does not fit; nil cuts it
}

// Row is one row of a Table. Its cells must be single lines without styles and control characters.
type Row struct {
	Cells  []string
	Tones  []theme.Tone // of the cells; nil if all are plain
	Marked bool
	Muted  bool // such as an expired perk; a cell should say why
	New    bool // it was added a moment ago
}

// Table shows rows in columns that fit, with a cursor. Cursor and marks are characters too, not only colours.
type Table struct {
	theme         *theme.Theme
	columns       []Column
	rows          []Row
	content       []int // the widest cell of each column
	isFitted      bool  // the columns have the widths of rows
	cursor, top   int
	width, height int
	sorted        int // the column that the rows are sorted by; -1 if none
	descending    bool
	words         []string // that are highlighted, in lower case
	isResting     bool     // something else has the keyboard
}

func NewTable(theme *theme.Theme, columns ...Column) *Table {
	return &Table{theme: theme, columns: columns, content: make([]int, len(columns)), sorted: -1}
}

func (t *Table) SetTheme(theme *theme.Theme) { t.theme = theme }

// Rest says whether something else has the keyboard.
func (t *Table) Rest(is bool) { t.isResting = is }

// Forget lets the columns become as narrow as the next rows are.
func (t *Table) Forget() {
	clear(t.content)
	t.isFitted = false
}

// Refit lets the columns become as wide as the next rows are.
func (t *Table) Refit() { t.isFitted = false }

// SetRows replaces the rows. The cursor keeps its index as far as it can. Columns keep the widths of the first rows, so
// that they stay where they are while a list is scrolled; but numbers are not cut, no column is hidden, and those that
// get no share of the remaining space may need their Min.
func (t *Table) SetRows(rows []Row) {
	t.rows = rows
	for _, row := range rows {
		for i := range min(len(row.Cells), len(t.content)) {
			width := display.Width(row.Cells[i])
			switch c := t.columns[i]; {
			case !t.isFitted || c.Right:
			case c.Share > 0 && t.content[i] > 0: // it has what space is left
				continue
			default:
				width = min(width, c.Min)
			}
			t.content[i] = max(t.content[i], width)
		}
	}
	t.isFitted = t.isFitted || len(rows) > 0
	t.SetCursor(t.cursor)
}

// WhyNot says why a column is not drawn; "" if it is, or if there are no rows yet.
func (t *Table) WhyNot(column int) string {
	switch {
	case len(t.rows) == 0, t.widths()[column] > 0:
		return ""
	case t.content[column] == 0:
		return "empty"
	}
	return "no space"
}

// Sort marks the column that the rows are sorted by with "▲" or "▼"; -1 marks none. It does not sort them.
func (t *Table) Sort(column int, descending bool) { t.sorted, t.descending = column, descending }

// Highlight marks the beginnings of words in the columns that match.
func (t *Table) Highlight(words []string) {
	t.words = t.words[:0]
	for _, word := range words {
		t.words = append(t.words, strings.ToLower(word))
	}
}

// Visible returns the first row that is drawn, and how many fit.
func (t *Table) Visible() (first, rows int) { return t.top, max(0, t.height-1) }

// ColumnAt returns the column at a cell of a line of View.
func (t *Table) ColumnAt(x int) (column int, ok bool) {
	at := gutter
	for i, width := range t.widths() {
		if width > 0 && x >= at && x < at+width {
			return i, true
		}
		if width > 0 {
			at += width + 1
		}
	}
	return 0, false
}

func (t *Table) Len() int { return len(t.rows) }

// Cursor is the index of the row under the cursor; 0 without rows.
func (t *Table) Cursor() int { return t.cursor }

// SetCursor moves the cursor to a row, or to the nearest that exists.
func (t *Table) SetCursor(row int) {
	t.cursor = max(0, min(row, len(t.rows)-1))
	space := max(1, t.height-1)
	t.top = max(0, min(t.top, t.cursor, len(t.rows)-space))
	if t.cursor >= t.top+space {
		t.top = t.cursor - space + 1
	}
}

// Place moves the cursor to a row, and the row to a line below the names of the columns, as far as there are rows.
func (t *Table) Place(row, line int) {
	t.top = row - line
	t.SetCursor(row)
}

// Resize sets the size. The first line has the names of the columns.
func (t *Table) Resize(width, height int) {
	t.width, t.height = width, height
	t.SetCursor(t.cursor)
}

// RowAt returns the row on a line of View, if there is one.
func (t *Table) RowAt(line int) (row int, ok bool) {
	row = t.top + line - 1
	if line < 1 || line >= t.height || row >= len(t.rows) {
		return 0, false
	}
	return row, true
}

// Do moves the cursor, and tells whether the action is one of moving.
func (t *Table) Do(id actions.ID) bool {
	by, moves := steps(id, max(1, t.height-2), len(t.rows))
	if moves {
		t.SetCursor(t.cursor + by)
	}
	return moves
}

// steps returns how many rows an action moves by.
func steps(id actions.ID, page, all int) (by int, moves bool) {
	by, moves = map[actions.ID]int{
		actions.Up: -1, actions.Down: 1, actions.PageUp: -page, actions.PageDown: page, actions.Top: -all,
		actions.Bottom: all,
	}[id]
	return by, moves
}

// gutter is the marks of cursor and row before the first column, and a blank.
const gutter = 3

// end is the blank behind the last column, where a border may be.
func (t *Table) end() int {
	if t.width < 40 {
		return 0
	}
	return 1
}

// widths returns the width of each column; 0 for those that are dropped. They fit with a blank between them.
func (t *Table) widths() []int {
	widths := make([]int, len(t.columns))
	for i := range t.columns {
		widths[i] = t.least(i)
	}
	left := t.width - t.end() - t.totalWidth(widths)
	for left < 0 {
		leave := -1
		for i, c := range t.columns {
			if widths[i] > 0 && c.Drop > 0 && (leave < 0 || c.Drop > t.columns[leave].Drop) {
				leave = i
			}
		}
		if leave < 0 {
			break
		}
		left += widths[leave] + 1
		widths[leave] = 0
	}
	if left < 0 { // those that stay get what there is, the first ones first
		space := t.width - gutter
		for i := range widths {
			widths[i] = max(0, min(widths[i], space))
			if widths[i] > 0 {
				space -= widths[i] + 1
			}
		}
		return widths
	}
	t.share(widths, left)
	return widths
}

// least is the width of a column that is not given more: what its cells need, at most its Min unless they are numbers,
// which would be others without their ends. One without any cell leaves if it may.
func (t *Table) least(i int) int {
	c := t.columns[i]
	switch {
	case len(t.rows) == 0:
		return max(1, c.Min)
	case t.content[i] == 0 && c.Drop > 0:
		return 0
	}
	named := display.Width(c.Name) + 2 // with the mark of the order
	least := max(1, min(c.Min, max(t.content[i], named)))
	if i == t.sorted && c.Share == 0 {
		least = max(least, named)
	}
	if c.Right {
		return max(least, min(t.content[i], longestNumber))
	}
	return least
}

// longestNumber is that of an id, with its sign.
const longestNumber = 20

// totalWidth is the width that columns need.
func (t *Table) totalWidth(widths []int) int {
	sum := gutter - 1
	for _, width := range widths {
		if width > 0 {
			sum += width + 1
		}
	}
	return sum
}

// Natural is the width at which no cell is cut but those longer than longestCell.
func (t *Table) Natural() int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		if widths[i] = t.least(i); widths[i] > 0 {
			widths[i] = max(widths[i], c.Min*min(1, c.Share), min(t.content[i], longestCell))
		}
	}
	return t.totalWidth(widths) + 1
}

// longestCell is the most that Natural counts for a cell.
const longestCell = 64

// share gives the spare width to the columns by their shares, first to those with cut cells.
func (t *Table) share(widths []int, left int) {
	for left > 0 {
		given := t.shareOnce(widths, left, func(i int) int { return max(0, t.content[i]-widths[i]) })
		if given == 0 {
			break
		}
		left -= given
	}
	all := left
	t.shareOnce(widths, left, func(int) int { return all })
}

// shareOnce gives each column by its share at most what it needs, and returns the sum.
func (t *Table) shareOnce(widths []int, left int, need func(i int) int) (given int) {
	shares := 0
	for i, c := range t.columns {
		if widths[i] > 0 && need(i) > 0 {
			shares += c.Share
		}
	}
	for i, c := range t.columns {
		if widths[i] == 0 || c.Share == 0 || need(i) == 0 {
			continue
		}
		part := min(left*c.Share/shares, need(i))
		if left > 0 && part == 0 {
			part = 1 // the last cells
		}
		shares -= c.Share
		widths[i] += part
		left -= part
		given += part
	}
	return given
}

// View draws the names of the columns and the rows that fit.
func (t *Table) View() string {
	if t.width <= 0 || t.height <= 0 {
		return ""
	}
	widths := t.widths()
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.Name
		if i == t.sorted && widths[i] > 0 { // the mark stays when the name is cut
			mark := "▲"
			if t.descending {
				mark = "▼"
			}
			if widths[i] >= 4 {
				mark = " " + mark
			}
			names[i] = display.Cut(c.Name, widths[i]-display.Width(mark)) + mark
		}
	}
	lines := make([]string, 0, t.height)
	lines = append(lines, t.theme.Heading.Render(t.styled(nil, "  ", names, nil, widths)))
	for i := t.top; i < len(t.rows) && len(lines) < t.height; i++ {
		row, style, marks := t.rows[i], &t.theme.Text, []byte("  ")
		if row.Muted {
			style = &t.theme.Muted
		}
		if row.New {
			style, marks[1] = &t.theme.Good, '+'
		}
		if row.Marked {
			marks[1] = '*'
		}
		if i == t.cursor {
			style, marks[0] = &t.theme.Selected, '>'
		}
		if i == t.cursor && t.isResting {
			style, marks[0] = &t.theme.Resting, '-'
		}
		tones := row.Tones
		if row.Muted {
			tones = nil
		}
		lines = append(lines, t.styled(style, string(marks), t.shortened(row.Cells, widths), tones, widths))
	}
	return strings.Join(lines, "\n") + strings.Repeat("\n", t.height-len(lines))
}

// Skeleton draws the names of the columns above rows of dots while the rows are loading, which the first one says.
func (t *Table) Skeleton(text string) string {
	lines := strings.Split(t.View(), "\n")
	widths := t.widths()
	for row := 1; row < len(lines); row++ {
		cells := make([]string, len(widths))
		for i, width := range widths {
			cells[i] = strings.Repeat("·", width*[]int{4, 2, 3}[(row+i)%3]/5)
		}
		lines[row] = t.styled(&t.theme.Muted, "  ", cells, nil, widths)
	}
	if len(lines) > 1 {
		lines[1] = t.theme.Info.Render(display.Pad(strings.Repeat(" ", gutter)+text, t.width))
	}
	return strings.Join(lines, "\n")
}

// shortened returns the cells of a row, those that do not fit shortened if their column can.
func (t *Table) shortened(cells []string, widths []int) []string {
	for i, c := range t.columns {
		if c.Shorten != nil && i < len(cells) && widths[i] > 0 && display.Width(cells[i]) > widths[i] {
			cells = slices.Clone(cells)
			cells[i] = c.Shorten(cells[i])
		}
	}
	return cells
}

// styled draws cells in columns, exactly as wide as the table, in styles: one for the row, nil for none, and others for
// cells with a tone and for words that match.
func (t *Table) styled(style *lipgloss.Style, marks string, cells []string, tones []theme.Tone, widths []int) string {
	render := func(style *lipgloss.Style, text string) string {
		if style == nil || text == "" {
			return text
		}
		return style.Render(text)
	}
	if t.width < gutter {
		return render(style, marks[:max(0, t.width)])
	}
	var match func(text string) string
	switch style {
	case &t.theme.Text:
		match = func(text string) string { return t.theme.Match.Render(text) }
	case &t.theme.Selected, &t.theme.Resting:
		match = func(text string) string { return underlined(style.Render(text)) }
	}
	var out, line strings.Builder // line is what has the style of the row
	line.Grow(2 * t.width)
	flush := func() {
		out.WriteString(render(style, line.String()))
		line.Reset()
	}
	line.WriteString(marks)
	at := len(marks)
	for i, width := range widths {
		if width == 0 {
			continue
		}
		cell := ""
		if i < len(cells) {
			cell = cells[i]
		}
		line.WriteByte(' ')
		at += 1 + width
		if t.columns[i].Right {
			cell = display.PadLeft(cell, width)
		} else {
			cell = display.Pad(cell, width)
		}
		switch {
		case i < len(tones) && tones[i] != theme.Plain:
			flush()
			tone := t.theme.In(tones[i])
			if style == &t.theme.Selected || style == &t.theme.Resting {
				tone = t.theme.InRow(style, tones[i])
			}
			out.WriteString(render(tone, cell))
		case match != nil && t.columns[i].Matches && len(t.words) > 0:
			rest := 0
			for _, found := range t.matches(cell) {
				line.WriteString(cell[rest:found[0]])
				flush()
				rest = found[1]
				out.WriteString(match(cell[found[0]:rest]))
			}
			line.WriteString(cell[rest:])
		default:
			line.WriteString(cell)
		}
	}
	line.WriteString(display.Pad("", t.width-at))
	flush()
	return out.String()
}

// matches returns where the words of a cell begin like those that are searched for, in bytes.
func (t *Table) matches(cell string) (found [][2]int) {
	lower := strings.ToLower(cell)
	if len(lower) != len(cell) { // a character that takes more bytes in lower case
		return nil
	}
	isWord := false
	for at, r := range lower {
		begins := !isWord
		if isWord = unicode.IsLetter(r) || unicode.IsDigit(r); !isWord || !begins {
			continue
		}
		for _, word := range t.words {
			if strings.HasPrefix(lower[at:], word) {
				found = append(found, [2]int{at, at + len(word)})
				break
			}
		}
	}
	return found
}

// Scroll shows the part of a text that fits.
type Scroll struct {
	lines         []string
	top           int
	width, height int
}

func (s *Scroll) Resize(width, height int) {
	s.width, s.height = width, height
	s.move(0)
}

// Set replaces the lines, which must be wrapped already. The position stays as far as it can.
func (s *Scroll) Set(lines []string) {
	s.lines = lines
	s.move(0)
}

// Do scrolls, and tells whether the action is one of moving.
func (s *Scroll) Do(id actions.ID) bool {
	by, moves := steps(id, max(1, s.height-1), len(s.lines))
	s.move(by)
	return moves
}

// Scrolled is Do for Moves.
func (s *Scroll) Scrolled(id actions.ID) tea.Cmd {
	s.Do(id)
	return nil
}

func (s *Scroll) move(by int) { s.top = max(0, min(s.top+by, len(s.lines)-s.height)) }

// Reveal scrolls until the line is visible.
func (s *Scroll) Reveal(line int) {
	switch {
	case line < s.top:
		s.top = line
	case line >= s.top+s.height:
		s.top = line - s.height + 1
	}
	s.move(0)
}

// More returns how many lines are above and below what is visible.
func (s *Scroll) More() (above, below int) {
	return s.top, max(0, len(s.lines)-s.top-s.height)
}

// Bar is which part is visible.
func (s *Scroll) Bar() Bar { return Bar{First: s.top, Shown: s.height, All: len(s.lines)} }

func (s *Scroll) View() string {
	end := min(len(s.lines), s.top+max(0, s.height))
	return display.Crop(strings.Join(s.lines[min(s.top, end):end], "\n"), s.width, s.height)
}

// Moves offers to move as the screen does. The footer has the key to where there is more.
func (s *Scroll) Moves(move func(actions.ID) tea.Cmd) []actions.Offer {
	offers := Moves(move)
	further, word := actions.PageDown, "more"
	switch above, below := s.More(); {
	case above == 0 && below == 0:
		return offers
	case below == 0:
		further, word = actions.PageUp, "back up"
	}
	for i, offer := range offers {
		if offer.ID == further {
			offers[i].Hint = word
		}
	}
	return offers
}

// Hidden says how much is above and below: "↑ 3  ↓ 14 more lines".
func Hidden(above, below int) string {
	switch {
	case above > 0 && below > 0:
		return "↑ " + display.Count(above) + "  ↓ " + display.Plural(below, "more line", "more lines")
	case above > 0:
		return "↑ " + display.Plural(above, "more line", "more lines")
	case below > 0:
		return "↓ " + display.Plural(below, "more line", "more lines")
	}
	return ""
}

// Moves offers to move in a list or a text.
func Moves(move func(actions.ID) tea.Cmd) []actions.Offer {
	offers := actions.Enabled(actions.Up, actions.Down, actions.PageUp, actions.PageDown, actions.Top, actions.Bottom)
	for i, offer := range offers {
		offers[i].Do = func() tea.Cmd { return move(offer.ID) }
	}
	return offers
}
