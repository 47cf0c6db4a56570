package widget_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

func perks(look *theme.Theme) *widget.Table {
	table := widget.NewTable(look,
		widget.Column{Name: "Perk", Min: 10, Share: 3},
		widget.Column{Name: "City", Min: 8, Share: 1, Drop: 2},
		widget.Column{Name: "Price", Min: 7, Right: true, Drop: 1},
		widget.Column{Name: "Valid", Min: 12, Drop: 3},
	)
	rows := []widget.Row{
		{Cells: []string{"Coffee for two", "Paris", "4.50", "3 days left"}},
		{Cells: []string{"お茶と漢字の本をもう一冊", "東京都渋谷区", "1,200.00",
			"expired 2 days ago"}, Muted: true},
		{Cells: []string{"קפה לשניים", "תל אביב", "0", "5 hours left"}, Marked: true},
		{Cells: []string{family + " a day for the family " + japan, "e\u0301vian", "99.99"}, Marked: true, Muted: true},
	}
	for i := range 30 {
		rows = append(rows, widget.Row{Cells: []string{fmt.Sprintf("Perk %d", i), "Rome", "1.00", "12 days left"}})
	}
	table.SetRows(rows)
	return table
}

func TestTableGolden(t *testing.T) {
	golden(t, "table", func(look *theme.Theme, width, height int) string {
		table := perks(look)
		table.Sort(2, true)
		table.Resize(width, height)
		table.SetCursor(2)
		return table.View()
	})
}

func TestTableFitsEverySizeAndShowsItsCursor(t *testing.T) {
	table := perks(plain)
	for _, at := range []int{0, 2, 33} {
		table.SetCursor(at)
		table.Sort(at%4, false)
		everySize(t, func(_ *theme.Theme, width, height int) string {
			table.Resize(width, height)
			view := table.View()
			if height > 1 && width > 0 && strings.Count(view, ">") != 1 {
				t.Errorf("at %dx%d the cursor is not visible:\n%s", width, height, view)
			}
			return view
		})
	}
}

func TestOnlyCellsThatDoNotFitAreShortened(t *testing.T) {
	table := widget.NewTable(plain,
		widget.Column{Name: "Valid", Min: 4, Share: 1, Shorten: func(cell string) string { return cell[:1] + "." }})
	table.SetRows([]widget.Row{{Cells: []string{"12345"}}, {Cells: []string{"1234"}}})
	for width, want := range map[int]string{8: "Valid 12345 1234", 7: "Val… 1. 1234"} {
		table.Resize(width, 3)
		if got := strings.Join(strings.Fields(strings.ReplaceAll(ansi.Strip(table.View()), ">", "")),
			" "); got != want {
			t.Errorf("at width %d: %q, want %q", width, got, want)
		}
	}
}

func TestNumbersAreNotCut(t *testing.T) {
	id, title := widget.Column{Name: "Id", Min: 4, Right: true}, widget.Column{Name: "Title", Share: 1}
	table := widget.NewTable(plain, id, title)
	table.SetRows([]widget.Row{{Cells: []string{"9223372036854775807", "A flat by the river"}}})
	table.Resize(30, 3)
	if view := ansi.Strip(table.View()); !strings.Contains(view, "9223372036854775807 A fl") {
		t.Errorf("%s", view)
	}
}

func TestColumnWidths(t *testing.T) {
	for width, want := range map[int]string{
		60: "   Perk                  City            Price Valid", // columns with cut cells get more
		48: "   Perk         City         Price Valid",
		42: "   Perk              City           Price",
		30: "   Perk                  Price",
		29: "   Perk                 Price",
		21: "   Perk",
		10: "   Perk",
		5:  "   P…",
		3:  "",
	} {
		table := perks(plain)
		table.Resize(width, 3)
		if got := strings.TrimRight(strings.Split(ansi.Strip(table.View()), "\n")[0], " "); got != want {
			t.Errorf("at width %d: %q, want %q", width, got, want)
		}
	}
}

func TestSpareWidthGoesFirstToCutCells(t *testing.T) {
	table := widget.NewTable(plain,
		widget.Column{Name: "Perk", Min: 6, Share: 3},
		widget.Column{Name: "Discount", Min: 10, Share: 2},
		widget.Column{Name: "City", Min: 5, Share: 1},
	)
	table.SetRows([]widget.Row{{Cells: []string{"A ticket for the matinee", "20 % off", "San Francisco"}}})
	if got := table.Natural(); got != 2+25+11+14+1 {
		t.Errorf("Natural() = %d", got)
	}
	for width, want := range map[int]string{
		26: ">  A tic… 20 % off   San …",
		36: ">  A ticket for… 20 % off   San Fra…",
		53: ">  A ticket for the matinee 20 % off   San Francisco ",
		59: ">  A ticket for the matinee    20 % off     San Francisco  ",
	} {
		table.Resize(width, 2)
		if got := strings.Split(ansi.Strip(table.View()), "\n")[1]; got != want {
			t.Errorf("at width %d: %q, want %q", width, got, want)
		}
	}
	table.SetRows([]widget.Row{{Cells: []string{strings.Repeat("long ", 100), "", ""}}})
	if got := table.Natural(); got > 100 {
		t.Errorf("Natural() = %d with a long cell", got)
	}
}

// TestColumnsKeepTheWidthsOfTheFirstRows shows longer rows, as a list does when it is scrolled. Numbers are not cut.
func TestColumnsKeepTheWidthsOfTheFirstRows(t *testing.T) {
	table := widget.NewTable(plain,
		widget.Column{Name: "Perk", Min: 8, Share: 1},
		widget.Column{Name: "City", Min: 6, Share: 1},
		widget.Column{Name: "Note", Min: 6, Drop: 1},
		widget.Column{Name: "Price", Min: 3, Right: true},
	)
	table.Resize(40, 4)
	names := func(rows ...widget.Row) string {
		table.SetRows(rows)
		return strings.TrimRight(strings.Split(ansi.Strip(table.View()), "\n")[0], " ")
	}
	short := widget.Row{Cells: []string{"Tea", "York", "", "1"}}
	long := widget.Row{Cells: []string{"Tea", strings.Repeat("Llanfair", 5), "", "1"}}
	if at, why := names(short), table.WhyNot(2); strings.Contains(at, "Note") || why != "empty" {
		t.Errorf("a column without a cell is drawn, or missing because %q: %q", why, at)
	}
	before := names(short)
	if now := names(short, long); now != before {
		t.Errorf("the columns move from %q to %q", before, now)
	}
	table.Refit()
	if now := names(short, long); now == before {
		t.Errorf("the columns are as narrow as before: %q", now)
	}
	table.Forget()
	if now := names(short); now != before {
		t.Errorf("the columns are wider than the only row: %q, not %q", now, before)
	}
	names(short, widget.Row{Cells: []string{"Tea", "York", "New", "123456789"}})
	for _, want := range []string{"123456789", "New"} {
		if view := ansi.Strip(table.View()); !strings.Contains(view, want) {
			t.Errorf("%s is cut or missing:\n%s", want, view)
		}
	}
	table.Resize(20, 4)
	if why := table.WhyNot(2); why != "no space" {
		t.Errorf("in a narrow window the note is missing because %q", why)
	}
}

func TestSortedColumnIsMarkedEvenIfItsNameIsCut(t *testing.T) {
	for name, want := range map[string]string{"Name": "   Name ▲", "A long name": "   A lo… ▲"} {
		table := widget.NewTable(plain, widget.Column{Name: name, Min: 7})
		table.Sort(0, false)
		table.Resize(10, 1)
		if got := strings.TrimRight(ansi.Strip(table.View()), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	table := perks(plain)
	table.Sort(2, true)
	table.Resize(60, 2)
	if view := table.View(); !strings.Contains(view, "Price ▼") {
		t.Errorf("the column is not marked:\n%s", view)
	}
	table.Sort(-1, true)
	if view := table.View(); strings.ContainsAny(view, "▲▼") {
		t.Errorf("a column is marked:\n%s", view)
	}
}

func TestMarksAreCharacters(t *testing.T) {
	table := widget.NewTable(plain, widget.Column{Name: "Name", Min: 4})
	table.SetRows([]widget.Row{{Cells: []string{"a"}}, {Cells: []string{"b"}, Marked: true},
		{Cells: []string{"c"}, Marked: true}})
	table.Resize(8, 5)
	table.SetCursor(1)
	if diff := cmp.Diff("   Name \n   a    \n>* b    \n * c    \n", ansi.Strip(table.View())); diff != "" {
		t.Error(diff)
	}
}

func TestTableMoves(t *testing.T) {
	table := perks(plain)
	table.Resize(40, 11) // ten rows of 34
	for _, step := range []struct {
		do                   actions.ID
		cursor, above, below int
	}{
		{actions.Up, 0, 0, 24}, {actions.Down, 1, 0, 24}, {actions.PageDown, 10, 1, 23}, {actions.PageDown, 19, 10, 14},
		{actions.Bottom, 33, 24, 0}, {actions.Down, 33, 24, 0}, {actions.PageUp, 24, 24, 0}, {actions.Up, 23, 23, 1},
		{actions.Top, 0, 0, 24},
	} {
		if !table.Do(step.do) {
			t.Errorf("%s is not known", step.do)
		}
		above, below := unseen(table)
		if table.Cursor() != step.cursor || above != step.above || below != step.below {
			t.Errorf("after %s: row %d with %d above and %d below, want %v", step.do, table.Cursor(), above, below,
				step)
		}
	}
	if table.Do(actions.Redeem) {
		t.Error("Do handled redeem")
	}
	table.SetCursor(33)
	table.SetRows(make([]widget.Row, 5))
	if above, below := unseen(table); table.Cursor() != 4 || above != 0 || below != 0 || table.Len() != 5 {
		t.Errorf("with five rows: row %d with %d above and %d below", table.Cursor(), above, below)
	}
	table.SetRows(nil)
	if table.Cursor() != 0 || table.Len() != 0 {
		t.Errorf("with no rows: row %d", table.Cursor())
	}
	table.Do(actions.Down)
	table.View()
}

func TestRowAt(t *testing.T) {
	table := perks(plain)
	table.Resize(40, 11)
	table.SetCursor(20)
	view := strings.Split(table.View(), "\n")
	for line := range view {
		row, ok := table.RowAt(line)
		if ok != (line > 0) || ok && !strings.Contains(view[line], fmt.Sprintf("Perk %d ", row-4)) {
			t.Errorf("line %d is row %d, %t:\n%s", line, row, ok, view[line])
		}
	}
	table.SetRows(make([]widget.Row, 2))
	for line, want := range map[int]bool{-1: false, 0: false, 1: true, 2: true, 3: false, 11: false} {
		if _, ok := table.RowAt(line); ok != want {
			t.Errorf("line %d is a row: %t", line, ok)
		}
	}
}

func BenchmarkTable(b *testing.B) {
	var columns []widget.Column
	for i := range 8 {
		columns = append(columns, widget.Column{Name: fmt.Sprintf("Column %d", i), Min: 8, Share: 1, Drop: i})
	}
	for _, kind := range []struct{ name, cell string }{{"ascii", "Coffee for two at the harbour"},
		{"CJK", "お茶と漢字の本をもう一冊ください"}} {
		for _, all := range []int{100, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, all), func(b *testing.B) {
				rows := make([]widget.Row, all)
				for i := range rows {
					cells := make([]string, 8)
					for j := range cells {
						cells[j] = kind.cell
					}
					rows[i] = widget.Row{Cells: cells, Muted: i%4 == 0}
				}
				table := widget.NewTable(dark, columns...)
				table.SetRows(rows)
				table.Resize(200, 60)
				for b.Loop() {
					table.Do(actions.Down)
					table.View()
				}
			})
		}
	}
}

// unseen returns how many rows are above and below the drawn ones.
func unseen(table *widget.Table) (above, below int) {
	above, below = 0, table.Len()
	for line := 1; ; line++ {
		row, ok := table.RowAt(line)
		if !ok {
			return above, below
		}
		if line == 1 {
			above = row
		}
		below = table.Len() - row - 1
	}
}
