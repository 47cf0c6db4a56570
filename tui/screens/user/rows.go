package user

import (
	"slices"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/widget"
)

func perkColumns() []widget.Column {
	return []widget.Column{
		{Name: "Title", Min: 13, Share: 4},
		{Name: "Discount", Min: 10, Share: 1, Drop: 2},
		{Name: "Merchant", Min: 10, Share: 2, Drop: 3},
		{Name: "City", Min: 8, Share: 1, Drop: 4},
		{Name: "Valid", Min: 13, Drop: 1},
	}
}

// sortedColumn is the column that shows what the perks are sorted by; -1 if none does.
func sortedColumn(field string) int {
	return slices.Index([]string{"title", "discount_text", "merchant_name", "city", "valid_to"}, field)
}

func (s *Screen) perkRow(p api.Perk) widget.Row {
	return widget.Row{
		Cells:  []string{display.Line(p.Title), text(p.DiscountText), text(p.MerchantName), display.Line(p.City), s.left(p)},
		Marked: s.marked.Has(p.ID),
	}
}

func (s *Screen) perkLine(p api.Perk) string {
	parts := []string{display.Line(p.Title)}
	for _, part := range []string{text(p.DiscountText), text(p.MerchantName), display.Line(p.City), s.left(p)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	line := strings.Join(parts, ", ") + "."
	if s.marked.Has(p.ID) {
		line += " Marked."
	}
	return line
}

func (s *Screen) left(p api.Perk) string {
	if p.ValidTo == nil {
		return "no end"
	}
	return widget.Until(*p.ValidTo, s.shell.Now())
}

func redemptionColumns() []widget.Column {
	return []widget.Column{
		{Name: "When", Min: 10, Share: 1},
		{Name: "Title", Min: 13, Share: 4, Drop: 1},
		{Name: "Perk", Min: 7, Share: 2},
		{Name: "Status", Min: 8},
		{Name: "Id", Min: 8, Share: 2, Drop: 2},
		{Name: "Metadata", Min: 12, Share: 3, Drop: 3},
	}
}

func (s *Screen) redemptionRow(r api.Redemption) widget.Row {
	return widget.Row{
		Cells: []string{s.when(r), s.title(r), display.Line(r.PerkID), display.Line(string(r.Status)), display.Line(r.ID), inShort(r.Metadata)},
		Muted: r.Status == api.StatusRejected,
	}
}

func (s *Screen) redemptionLine(r api.Redemption) string {
	line := "Perk " + display.Line(r.PerkID) + ", "
	if title := s.title(r); title != "" {
		line += title + ", "
	}
	line += display.Line(string(r.Status)) + ", " + s.when(r) + ", id " + display.Line(r.ID)
	if metadata := inShort(r.Metadata); metadata != "" {
		line += ", metadata " + metadata
	}
	return line + "."
}

// title is what the perk of a redemption is called; "" if that is not known.
func (s *Screen) title(r api.Redemption) string { return display.Line(s.titles.known[r.PerkID]) }

func (s *Screen) when(r api.Redemption) string {
	if r.RedeemedAt.IsZero() {
		return "not known"
	}
	return widget.Age(s.shell.Now().Sub(r.RedeemedAt))
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return display.Line(*value)
}
