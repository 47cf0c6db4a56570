package components

import (
	"strings"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
)

// Column is one column of a Table.
type Column struct {
	Name  string
	Min   int // the narrowest that still says something, in cells
	Share int // its part of the room that is left over; 0 keeps it at Min
	Right bool
	Drop  int // the column with the highest Drop leaves first when there is too little room; 0 stays
}

// Row is one row of a Table. Its cells must be single lines that steer no terminal.
type Row struct {
	Cells  []string
	Marked bool
	Muted  bool // such as an expired perk; a cell should say why
}

// Table shows rows in columns that fit the width, with a cursor. The cursor and the marks are characters, not only colours.
type Table struct {
	theme         *theme.Theme
	columns       []Column
	rows          []Row
	cursor, top   int
	width, height int
}

// NewTable makes a table without rows.
func NewTable(look *theme.Theme, columns ...Column) *Table {
	return &Table{theme: look, columns: columns}
}

// SetTheme changes the look.
func (t *Table) SetTheme(look *theme.Theme) { t.theme = look }

// SetRows replaces the rows. The cursor stays at its place as far as there are rows.
func (t *Table) SetRows(rows []Row) {
	t.rows = rows
	t.SetCursor(t.cursor)
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Cursor is the index of the row under the cursor; 0 without rows.
func (t *Table) Cursor() int { return t.cursor }

// SetCursor moves the cursor to a row, or to the nearest that there is.
func (t *Table) SetCursor(row int) {
	t.cursor = max(0, min(row, len(t.rows)-1))
	room := max(1, t.height-1)
	t.top = max(0, min(t.top, t.cursor, len(t.rows)-room))
	if t.cursor >= t.top+room {
		t.top = t.cursor - room + 1
	}
}

// Resize sets the room, of which the first line is for the names of the columns.
func (t *Table) Resize(width, height int) {
	t.width, t.height = width, height
	t.SetCursor(t.cursor)
}

// RowAt returns the row that is drawn on a line of View, if there is one.
func (t *Table) RowAt(line int) (row int, ok bool) {
	row = t.top + line - 1
	return row, line >= 1 && line < t.height && row < len(t.rows)
}

// Do moves about, and tells whether the action is one of moving.
func (t *Table) Do(id actions.ID) bool {
	page := max(1, t.height-2)
	switch id {
	case actions.Up:
		t.SetCursor(t.cursor - 1)
	case actions.Down:
		t.SetCursor(t.cursor + 1)
	case actions.PageUp:
		t.SetCursor(t.cursor - page)
	case actions.PageDown:
		t.SetCursor(t.cursor + page)
	case actions.Top:
		t.SetCursor(0)
	case actions.Bottom:
		t.SetCursor(len(t.rows) - 1)
	default:
		return false
	}
	return true
}

// The room before the first column: the cursor's mark, the row's mark, and a blank.
const gutter = 3

// widths returns the width of each column; 0 for those that have left.
func (t *Table) widths() []int {
	widths := make([]int, len(t.columns))
	shown := make([]bool, len(t.columns))
	for i := range shown {
		shown[i] = true
	}
	need := func() int {
		sum := gutter - 1
		for i, c := range t.columns {
			if shown[i] {
				sum += c.Min + 1
			}
		}
		return sum
	}
	for need() > t.width {
		leave := -1
		for i, c := range t.columns {
			if shown[i] && c.Drop > 0 && (leave < 0 || c.Drop > t.columns[leave].Drop) {
				leave = i
			}
		}
		if leave < 0 {
			break
		}
		shown[leave] = false
	}
	shares := 0
	for i, c := range t.columns {
		if shown[i] {
			widths[i] = c.Min
			shares += c.Share
		}
	}
	if left := t.width - need(); left > 0 && shares > 0 {
		given := 0
		last := -1
		for i, c := range t.columns {
			if shown[i] && c.Share > 0 {
				part := left * c.Share / shares
				widths[i] += part
				given += part
				last = i
			}
		}
		widths[last] += left - given
	}
	return widths
}

// View draws the names of the columns and the rows that there is room for.
func (t *Table) View() string {
	widths := t.widths()
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.Name
	}
	lines := []string{t.theme.Heading.Render(Cut(t.line("  ", names, widths), t.width))}
	for i := t.top; i < len(t.rows) && len(lines) < t.height; i++ {
		row := t.rows[i]
		marks := []byte("  ")
		if i == t.cursor {
			marks[0] = '>'
		}
		if row.Marked {
			marks[1] = '*'
		}
		line := Pad(t.line(string(marks), row.Cells, widths), t.width)
		switch {
		case i == t.cursor:
			line = t.theme.Selected.Render(line)
		case row.Muted:
			line = t.theme.Muted.Render(line)
		}
		lines = append(lines, line)
	}
	return Crop(strings.Join(lines, "\n"), t.width, t.height)
}

func (t *Table) line(marks string, cells []string, widths []int) string {
	var line strings.Builder
	line.WriteString(marks)
	for i, width := range widths {
		if width == 0 {
			continue
		}
		cell := ""
		if i < len(cells) {
			cell = cells[i]
		}
		line.WriteByte(' ')
		if t.columns[i].Right {
			line.WriteString(PadLeft(cell, width))
		} else {
			line.WriteString(Pad(cell, width))
		}
	}
	return line.String()
}
