package widget

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

// Natural is the width at which no cell is cut, except those longer than longestCell.
func (t *Table) Natural() int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = max(1, c.Min, min(t.wanted(i), longestCell))
	}
	return t.taken(widths)
}

// longestCell is the most that a table asks for one cell, at the cost of what is beside the table.
const longestCell = 64

// wanted is the width of the widest cell of a column.
func (t *Table) wanted(i int) int {
	if i < len(t.content) {
		return t.content[i]
	}
	return 0
}

// share gives all the room left over to the columns, by their shares: first to those whose cells are cut.
func (t *Table) share(widths []int, left int) {
	for left > 0 {
		given := t.shareOnce(widths, left, func(i int) int { return max(0, t.wanted(i)-widths[i]) })
		if given == 0 {
			break
		}
		left -= given
	}
	all := left
	t.shareOnce(widths, left, func(int) int { return all })
}

// shareOnce gives room to the columns by their shares, to each no more than it needs, and returns how much that was.
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
