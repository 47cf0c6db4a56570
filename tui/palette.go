package tui

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// palette finds actions by name, those that can be done first, and records: by their ids, and perks by their titles.
func (a *App) palette() screen.Overlay {
	offers := slices.DeleteFunc(a.Offers(), func(o actions.Offer) bool { return o.ID == actions.Palette || o.ID.Group() == "list" })
	slices.SortStableFunc(offers, func(o, other actions.Offer) int { return cmp.Compare(min(len(o.Why), 1), min(len(other.Why), 1)) })
	pick := a.pickAction("Commands", offers)
	for i, offer := range offers {
		name := a.shell.Keys.Action(offer.ID).Name
		if key := a.keyNow(offer.ID); key != "" {
			name += "  (" + key + ")"
		}
		if !offer.Enabled() {
			name += " - not now: " + offer.Why
		}
		pick.Options[i] = name
	}
	if a.shell.Account.Client != nil {
		pick.More = &screen.More{Recent: a.recentRecords(), Typed: a.typedRecords, Search: a.searchPerks}
	}
	return pick.Overlay(a.shell)
}

// Kinds is the kinds of records that can be opened by id.
func Kinds() []string { return []string{"perk", "user", "property"} }

// RouteTo returns the screen of a record, and what is wrong with its kind or id; "" if there can be one.
func RouteTo(kind, id string) (to screen.Route, why string) {
	switch kind {
	case "perk":
		return screen.ToPerk{ID: api.LowerUUID(id)}, api.PerkIDRule(id)
	case "user":
		return screen.ToUser{ID: id}, api.UserIDRule(id)
	case "property":
		number, err := strconv.ParseInt(id, 10, 64)
		if err != nil || number < 1 {
			why = "must be a whole number above 0"
		}
		return screen.ToProperty{ID: number}, why
	}
	return nil, "must be that of a perk, user or property"
}

// openRecord is the choice to open a record, if the text can be its id.
func (a *App) openRecord(kind, id string) (choices []screen.Choice) {
	to, why := RouteTo(kind, id)
	if why != "" {
		return nil
	}
	return []screen.Choice{{Name: "Open " + kind + " " + id, Then: func() tea.Cmd { return a.shell.Open(to) }}}
}

// mostRecent is how many users and properties the palette begins with.
const mostRecent = 3

func (a *App) recentRecords() func() []screen.Choice {
	memory, profile := a.shell.Memory, a.shell.Account.Profile
	return func() (choices []screen.Choice) {
		for _, kind := range []string{"user", "property"} {
			ids := memory.Recent(profile, kind)
			for _, id := range ids[:min(len(ids), mostRecent)] {
				choices = append(choices, a.openRecord(kind, id)...)
			}
		}
		return choices
	}
}

// named opens the record that words such as "user alice" name.
func (a *App) named(text string) []screen.Choice {
	kind, id, _ := strings.Cut(text, " ")
	return a.openRecord(strings.ToLower(kind), strings.TrimSpace(id))
}

// typedRecords opens what a text can be the id of. Words such as "quit" mean a command first, what has a digit or a hyphen does not.
func (a *App) typedRecords(text string) (choices []screen.Choice, first bool) {
	if choices = a.named(text); choices != nil {
		return choices, true
	}
	for _, kind := range Kinds() {
		choices = append(choices, a.openRecord(kind, text)...)
	}
	return choices, strings.ContainsAny(text, "0123456789-_")
}

// mostTitles is how many perks a search in the palette shows.
const mostTitles = 5

func (a *App) searchPerks(text string) screen.Fetch[[]screen.Choice] {
	if a.named(text) != nil {
		return nil
	}
	return func(ctx context.Context, c *client.Client) (choices []screen.Choice, err error) {
		options := client.PerkListOptions{ListOptions: client.ListOptions{PerPage: mostTitles}, PerkFilter: api.PerkFilter{Query: text}}
		page, err := c.Perks(ctx, options)
		for _, perk := range page.Data {
			choices = append(choices, screen.Choice{Name: "Perk: " + perk.Title, Then: func() tea.Cmd {
				return a.shell.Open(screen.ToPerk{ID: perk.ID, Known: &perk})
			}})
		}
		return choices, err
	}
}
