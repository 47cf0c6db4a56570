package perks

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/record"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// kind is what screens know of perks that may be changed.
var kind = &record.Kind[string, api.PerkRecord, api.PerkPatch]{
	EditKind: operation.Perks, Many: "perks", List: actions.Perks, Tab: screen.PerksTab, Scope: api.ScopePerksWrite,
	Route: func(id string) screen.Route { return screen.ToPerk{ID: id} },
	Title: func(p api.PerkRecord) string { return display.Line(p.Title) },
	Summary: func(p api.PerkRecord) []string {
		stock := operation.Perks.Text("stock", p)
		if stock == "" {
			stock = "unlimited"
		}
		about := widget.Joined(", ", screen.Optional(p.DiscountText), display.Line(p.City))
		return []string{display.Line(p.Title), about, "Stock: " + stock}
	},
	Needs: "A title, a description and a city are needed.",
	Rows: [][]string{{"title"}, {"merchant_name", "category"}, {"discount_text"}, {"image_url"},
		{"valid_from", "valid_to"}, {"city"}, {"lat", "lng"}, {"stock", "approval", "hold_for"}, {"description", "terms"}},
	CheckNew: func(members []api.Member) error {
		_, err := api.ParseNewPerk(members)
		return err
	},
	Remember: func(*screen.Shell, string, api.PerkRecord) tea.Cmd { return nil }, // the screen does it for everybody
	IsAbout:  isAbout,
	InEvent:  func(api.Event) *api.PerkRecord { return nil },
}

func isAbout(e api.Event, id string) bool {
	return strings.EqualFold(e.Subject, "perk/"+id) || e.Type == api.EventPerksImported
}
