package widget

import "strings"

// View draws the names of the columns and the rows that there is room for. Only what is seen costs anything.
func (t *Table) View() string {
	if t.width <= 0 || t.height <= 0 {
		return ""
	}
	widths := t.widths()
	lines := make([]string, 0, t.height)
	lines = append(lines, t.theme.Heading.Render(t.line("  ", t.names(widths), widths)))
	for i := t.top; i < len(t.rows) && len(lines) < t.height; i++ {
		lines = append(lines, t.drawRow(i, widths))
	}
	return strings.Join(lines, "\n") + strings.Repeat("\n", t.height-len(lines))
}

func (t *Table) names(widths []int) []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.Name
		if i == t.sorted && widths[i] > 0 {
			names[i] = t.sortedName(c.Name, widths[i])
		}
	}
	return names
}

// sortedName marks a name. The mark stays when the name is cut.
func (t *Table) sortedName(name string, width int) string {
	mark := "▲"
	if t.descending {
		mark = "▼"
	}
	if width >= 4 {
		mark = " " + mark
	}
	return Cut(name, width-Width(mark)) + mark
}

func (t *Table) drawRow(i int, widths []int) string {
	row := t.rows[i]
	marks := []byte("  ")
	if i == t.cursor {
		marks[0] = '>'
	}
	if row.Marked {
		marks[1] = '*'
	}
	line := t.line(string(marks), row.Cells, widths)
	switch {
	case i == t.cursor:
		return t.theme.Selected.Render(line)
	case row.Muted:
		return t.theme.Muted.Render(line)
	}
	return t.theme.Text.Render(line)
}

// line puts cells into columns. It is exactly as wide as the table.
func (t *Table) line(marks string, cells []string, widths []int) string {
	if t.width < gutter {
		return marks[:t.width]
	}
	var line strings.Builder
	line.Grow(2 * t.width)
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
			line.WriteString(PadLeft(cell, width))
		} else {
			line.WriteString(Pad(cell, width))
		}
	}
	line.WriteString(blanks(t.width - at))
	return line.String()
}
