package perks

import (
	"slices"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/widget"
)

// columns are those of the list. As it gets narrower they leave from the id on; the title stays, and until the very end how
// long the perk is valid. A title is cut short only where it is alone with that.
func columns(titleMin int) []widget.Column {
	return []widget.Column{
		{Name: "Title", Min: titleMin, Share: 6},
		{Name: "Discount", Min: 10, Share: 2, Drop: 2},
		{Name: "Merchant", Min: 14, Share: 3, Drop: 3},
		{Name: "City", Min: 10, Share: 1, Drop: 4},
		{Name: "Category", Min: 10, Share: 1, Drop: 5},
		{Name: "Valid", Min: 13, Share: 1, Drop: 1},
		{Name: "Id", Min: 10, Share: 1, Drop: 6},
	}
}

// The least width of a title: in a narrow window, normally, and in a wide one.
const (
	leastTitle = 12
	goodTitle  = 26
	bestTitle  = 40
	besides    = 17 // what the cursor and the days that are left take
)

// usualWidth is the width that the list needs to show the most important columns.
const usualWidth = 80

// fitTable lays the table out for its room.
func (s *Screen) fitTable(width, height int) {
	titleMin := max(leastTitle, min(width-besides, goodTitle)) + max(0, min(width-usualWidth, bestTitle-goodTitle))
	if titleMin != s.titleMin {
		cursor := s.table.Cursor()
		s.titleMin = titleMin
		s.table = widget.NewTable(s.shell.Theme, columns(titleMin)...)
		s.table.SetRows(s.rows)
		s.table.SetCursor(cursor)
	}
	order := s.list.Value.query.effective()
	s.table.Sort(sortedColumn(order.Field), order.Desc)
	s.table.Resize(width, height)
}

// sortedColumn is the column that shows what the list is sorted by; -1 if none does.
func sortedColumn(field string) int {
	return slices.Index([]string{"title", "discount_text", "merchant_name", "city", "category", "valid_to"}, field)
}

// buildRows puts what was loaded into words. It is done when that changes, not for each frame.
func (s *Screen) buildRows() {
	now := s.shell.Now()
	s.shown = s.list.Value.page.Data
	s.rows = make([]widget.Row, len(s.shown))
	for i := range s.shown {
		s.rows[i] = row(&s.shown[i], now, s.marks.Has(s.shown[i].ID))
	}
	s.rowsFrom = now
	s.table.SetRows(s.rows)
}

// refreshRows keeps the words true while time passes.
func (s *Screen) refreshRows() {
	if s.shell.Now().Sub(s.rowsFrom) >= time.Minute {
		s.buildRows()
	}
}

func row(p *api.Perk, now time.Time, marked bool) widget.Row {
	valid, over := validity(p, now)
	if !over && p.ValidFrom != nil && p.ValidFrom.After(now) {
		valid = widget.In(*p.ValidFrom, now) // a date is cut in a narrow column
	}
	return widget.Row{
		Cells: []string{
			display.Line(p.Title), line(p.DiscountText), line(p.MerchantName), display.Line(p.City), line(p.Category), valid, display.Line(p.ID),
		},
		Marked: marked,
		Muted:  over,
	}
}

// validity says how long a perk can still be redeemed, and whether that is over.
func validity(p *api.Perk, now time.Time) (text string, over bool) {
	switch {
	case p.ValidTo != nil && !p.ValidTo.After(now):
		return widget.Until(*p.ValidTo, now), true
	case p.ValidFrom != nil && p.ValidFrom.After(now):
		return "from " + widget.Day(*p.ValidFrom, now), false
	case p.ValidTo == nil:
		return "no end", false
	}
	return widget.Until(*p.ValidTo, now), false
}

func line(text *string) string {
	if text == nil {
		return ""
	}
	return display.Line(*text)
}

// current is the perk under the cursor, if there is one.
func (s *Screen) current() (api.Perk, bool) {
	if i := s.table.Cursor(); i < len(s.shown) {
		return s.shown[i], true
	}
	return api.Perk{}, false
}
