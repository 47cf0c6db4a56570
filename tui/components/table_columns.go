package components

// The room before the first column: the cursor's mark, the row's mark, and a blank.
const gutter = 3

// widths returns the width of each column; 0 for those that have left. Together with a blank between them they fit.
func (t *Table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = max(1, c.Min)
	}
	left := t.width - t.taken(widths)
	for left < 0 {
		leave := t.leaves(widths)
		if leave < 0 {
			t.squeeze(widths)
			return widths
		}
		left += widths[leave] + 1
		widths[leave] = 0
	}
	t.share(widths, left)
	return widths
}

// taken is how much room the columns need.
func (t *Table) taken(widths []int) int {
	sum := gutter - 1
	for _, width := range widths {
		if width > 0 {
			sum += width + 1
		}
	}
	return sum
}

// leaves is the column that leaves next, -1 if the rest stay.
func (t *Table) leaves(widths []int) int {
	leave := -1
	for i, c := range t.columns {
		if widths[i] > 0 && c.Drop > 0 && (leave < 0 || c.Drop > t.columns[leave].Drop) {
			leave = i
		}
	}
	return leave
}

// squeeze gives the columns that stay what there is, the first ones first.
func (t *Table) squeeze(widths []int) {
	room := t.width - gutter
	for i := range widths {
		widths[i] = max(0, min(widths[i], room))
		if widths[i] > 0 {
			room -= widths[i] + 1
		}
	}
}

// share hands out the room that is left over by the shares of the columns, all of it.
func (t *Table) share(widths []int, left int) {
	shares := 0
	for i, c := range t.columns {
		if widths[i] > 0 {
			shares += c.Share
		}
	}
	for i, c := range t.columns {
		if widths[i] > 0 && c.Share > 0 {
			part := left * c.Share / shares
			widths[i] += part
			left -= part
			shares -= c.Share
		}
	}
}
