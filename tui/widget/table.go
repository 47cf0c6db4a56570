package widget

import (
	"example.com/perks/tui/actions"
)

// Column is one column of a Table.
type Column struct {
	Name  string
	Min   int // the narrowest that still says something, in cells
	Share int // its part of the room that is left over; 0 keeps it at Min
	Right bool
	Drop  int // the column with the highest Drop leaves first when there is too little room; 0 stays
}

// Row is one row of a Table. Its cells must be single lines that steer no terminal, without styles.
type Row struct {
	Cells  []string
	Marked bool
	Muted  bool // such as an expired perk; a cell should say why
}

// Table shows rows in columns that fit the width, with a cursor. The cursor and the marks are characters, not only colours.
type Table struct {
	theme         *Theme
	columns       []Column
	rows          []Row
	content       []int // the widest cell of each column
	cursor, top   int
	width, height int
	sorted        int // the column that the rows are sorted by; -1 if none
	descending    bool
}

// NewTable makes a table without rows.
func NewTable(look *Theme, columns ...Column) *Table {
	return &Table{theme: look, columns: columns, sorted: -1}
}

// SetTheme changes the look.
func (t *Table) SetTheme(look *Theme) { t.theme = look }

// SetRows replaces the rows. The cursor stays at its place as far as there are rows.
func (t *Table) SetRows(rows []Row) {
	t.rows, t.content = rows, make([]int, len(t.columns))
	for _, row := range rows {
		for i := range min(len(row.Cells), len(t.content)) {
			t.content[i] = max(t.content[i], Width(row.Cells[i]))
		}
	}
	t.SetCursor(t.cursor)
}

// Sort marks the column that the rows are sorted by, with "▲" from small to large and "▼" for the other way; -1 marks none. The
// rows must come in that order.
func (t *Table) Sort(column int, descending bool) { t.sorted, t.descending = column, descending }

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
	if line < 1 || line >= t.height || row >= len(t.rows) {
		return 0, false
	}
	return row, true
}

// More tells how many rows are above and below those that are seen.
func (t *Table) More() (above, below int) {
	return t.top, max(0, len(t.rows)-t.top-max(0, t.height-1))
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
