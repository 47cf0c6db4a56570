package output

import (
	"slices"

	"github.com/mattn/go-runewidth"

	"example.com/perks/api/display"
)

// enough is how many columns of the screen let a cell still tell something: a date, or the beginning of a title. A table
// rather loses whole columns than has narrower ones.
const enough = 10

// fit is how a table is laid out on a screen.
type fit struct {
	kept    []int // the columns that are shown
	widths  []int // of those
	dropped []string
}

// newFit gives each column the width of its widest cell. Where the screen is too narrow for that, columns are dropped until
// each of the others has enough, and the widest of those are narrowed. The first column names the row: it stays, and stays
// whole as long as the others have enough. A screen of 0 has no edge.
func newFit(columns, least []string, rows [][]string, screen int) *fit {
	f := &fit{}
	for i := range columns {
		width := 0
		for _, cells := range rows {
			width = max(width, runewidth.StringWidth(cells[i]))
		}
		f.kept, f.widths = append(f.kept, i), append(f.widths, width)
	}
	if screen <= 0 || len(columns) == 0 {
		return f
	}
	for _, name := range dropOrder(columns, least) {
		if total(f.narrowest()) <= screen {
			break
		}
		f.drop(slices.Index(columns, name), name)
	}
	f.narrow(screen)
	return f
}

// dropOrder is the columns in the order in which they go: first the least ones, then from the last one on. The first column
// never goes.
func dropOrder(columns, least []string) []string {
	var order []string
	for _, name := range least {
		if slices.Contains(columns[1:], name) {
			order = append(order, name)
		}
	}
	for _, name := range slices.Backward(columns[1:]) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	return order
}

func (f *fit) drop(column int, name string) {
	at := slices.Index(f.kept, column)
	f.kept = slices.Delete(f.kept, at, at+1)
	f.widths = slices.Delete(f.widths, at, at+1)
	f.dropped = append(f.dropped, display.Line(name))
}

// narrowest is the widths below which columns are dropped instead.
func (f *fit) narrowest() []int {
	least := make([]int, len(f.widths))
	for i, width := range f.widths {
		least[i] = min(width, enough)
	}
	return least
}

// narrow takes from the widest columns, and from the first only what the others cannot give.
func (f *fit) narrow(screen int) {
	others := f.widths[1:]
	for total(f.widths) > screen && len(others) > 0 && slices.Max(others) > enough {
		others[slices.Index(others, slices.Max(others))]--
	}
	if over := total(f.widths) - screen; over > 0 {
		f.widths[0] = max(0, f.widths[0]-over)
	}
}

// pad cuts or fills the cells of a row to their columns. The last one is not filled.
func (f *fit) pad(cells []string) []string {
	padded := make([]string, len(f.kept))
	for i, column := range f.kept {
		padded[i] = cut(cells[column], f.widths[i])
		if i < len(f.kept)-1 {
			padded[i] = runewidth.FillRight(padded[i], f.widths[i])
		}
	}
	return padded
}

func total(widths []int) int {
	sum := len(gap) * (len(widths) - 1)
	for _, width := range widths {
		sum += width
	}
	return sum
}
