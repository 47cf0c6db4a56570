package perks

import (
	"fmt"
	"strings"

	"example.com/perks/tui/widget"
)

// Linear says the filter, the rows of the page and where one is.
func (s *Screen) Linear() string {
	lines := []string{s.want.summary() + "."}
	if s.typing {
		lines = append(lines, "The filter is being typed. Field "+s.form.Field(s.form.Focus()).Label+" has the keyboard.", s.form.Linear())
	}
	if problem := s.problem(); problem != "" && len(s.shown) > 0 {
		lines = append(lines, "Problem: "+problem)
	}
	if title, advice, mood, none := s.noRows(); none {
		lines = append(lines, widget.LinearNotice(mood, title, advice))
	}
	for i := range s.rows {
		lines = append(lines, s.linearRow(i))
	}
	if position := s.position(1000); position != "" {
		lines = append(lines, position+".")
	}
	return strings.Join(lines, "\n")
}

// linearRow says one row: what it is, and each cell by the name of its column.
func (s *Screen) linearRow(i int) string {
	var line strings.Builder
	fmt.Fprintf(&line, "%d. %s.", i+1, s.rows[i].Cells[0])
	for c, column := range columns(goodTitle) {
		if cell := s.rows[i].Cells[c]; c > 0 && cell != "" {
			fmt.Fprintf(&line, " %s: %s.", column.Name, cell)
		}
	}
	if s.rows[i].Marked {
		line.WriteString(" Marked.")
	}
	if i == s.table.Cursor() {
		line.WriteString(" Chosen.")
	}
	return line.String()
}

// Choose puts the cursor on a row of the page, counted from 1.
func (s *Screen) Choose(row int) bool {
	if row < 1 || row > len(s.rows) {
		return false
	}
	s.table.SetCursor(row - 1)
	return true
}
