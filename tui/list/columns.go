package list

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Column is a column of a list: how to draw it, the field to sort by, and the text of its cells.
type Column[T any] struct {
	widget.Column
	Sort string
	Cell func(T) string
	Mark func(T) string     // drawn before the text, which says the same; nil without any
	Tone func(T) theme.Tone // nil where all cells are alike
}

type Columns[T any] []Column[T]

// Drawn returns the columns for a table.
func (c Columns[T]) Drawn() []widget.Column {
	drawn := make([]widget.Column, len(c))
	for i := range c {
		drawn[i] = c[i].Column
	}
	return drawn
}

// AgeWidth is the Min of a column of ages, all but the oldest: "999 days ago".
const AgeWidth = 12

// Cells returns the cells of a row.
func (c Columns[T]) Cells(row T) []string {
	cells := make([]string, len(c))
	for i := range c {
		cells[i] = c[i].Cell(row)
		if c[i].Mark != nil {
			cells[i] = c[i].Mark(row) + " " + cells[i]
		}
	}
	return cells
}

// Tones returns the tones of the cells of a row; nil if all are plain.
func (c Columns[T]) Tones(row T) (tones []theme.Tone) {
	for i := range c {
		if c[i].Tone == nil {
			continue
		}
		if tones == nil {
			tones = make([]theme.Tone, len(c))
		}
		tones[i] = c[i].Tone(row)
	}
	return tones
}

// Sorted returns the column that a list is sorted by; -1 if none shows that.
func (c Columns[T]) Sorted(field string) int {
	return slices.IndexFunc(c, func(c Column[T]) bool { return c.Sort != "" && c.Sort == field })
}

// The settings of a list, before its name.
const (
	settingSort    = "sort "
	settingColumns = "hidden columns "
	settingViews   = "views " // the saved queries, one a line
)

// recall takes the views, the order and the columns as they were left. An order that was kept is for the list without a
// query: what is searched for has one that suits it.
func (l *List[F, T]) recall() {
	var none F
	kept := l.shell.Settings
	if keys, err := api.ParseSort(kept[settingSort+l.Settings], l.Orders(none)); err == nil && len(keys) > 0 {
		l.kept = keys[0]
	}
	if views := kept[settingViews+l.Settings]; views != "" {
		l.views = strings.Split(views, "\n")
	}
	l.all = l.Columns
	l.hide(l.hiddenColumns())
}

// keepOrder remembers an order, unless it needs a query, such as by distance.
func (l *List[F, T]) keepOrder(order api.SortKey) tea.Cmd {
	var none F
	if !slices.Contains(l.Orders(none), order.Field) {
		return nil
	}
	l.kept = order
	return l.shell.Keep(settingSort+l.Settings, api.FormatSort([]api.SortKey{order}))
}

// hide leaves columns out. The first one stays: it says what a row is.
func (l *List[F, T]) hide(names []string) {
	l.Columns = slices.DeleteFunc(slices.Clone(l.all), func(c Column[*T]) bool {
		return c.Name != l.all[0].Name && slices.Contains(names, c.Name)
	})
	cursor := 0
	if l.table != nil {
		cursor = l.table.Cursor()
	}
	l.table = widget.NewTable(l.shell.Theme, l.Columns.Drawn()...)
	if l.loader.Has {
		l.makeRows()
		l.table.SetCursor(cursor)
	}
	l.arrange()
}

// hiddenColumns returns the names of the columns that are left out, also of those that only another view has.
func (l *List[F, T]) hiddenColumns() []string {
	return strings.FieldsFunc(l.shell.Settings[settingColumns+l.Settings], func(r rune) bool { return r == ',' })
}

// chooseColumns shows or hides one column after the other, until it is cancelled.
func (l *List[F, T]) chooseColumns(current int) tea.Cmd {
	pick := screen.Pick{Title: "Show which columns?", Current: current}
	hidden := l.hiddenColumns()
	for _, c := range l.all[1:] {
		option := "[ ] " + c.Name
		if at := slices.IndexFunc(l.Columns, func(shown Column[*T]) bool { return shown.Name == c.Name }); at >= 0 {
			option = "[x] " + c.Name
			if why := l.table.WhyNot(at); why != "" {
				option = "[-] " + c.Name + " (" + why + ")"
			}
		}
		pick.Options = append(pick.Options, option)
	}
	pick.Then = func(index int) tea.Cmd {
		name, left := l.all[index+1].Name, slices.Clone(hidden)
		if at := slices.Index(left, name); at >= 0 {
			left = slices.Delete(left, at, at+1)
		} else {
			left = append(left, name)
		}
		l.hide(left)
		return tea.Batch(l.shell.Keep(settingColumns+l.Settings, strings.Join(left, ",")), l.chooseColumns(index))
	}
	return l.shell.Post(pick)
}
