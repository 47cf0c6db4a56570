package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/uuid"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// notNow is before the reason why something cannot be done.
const notNow = " - not now: "

// palette finds actions by name, those that can be done first, and records by their ids and titles.
func (a *App) palette() screen.Overlay {
	offers := slices.DeleteFunc(a.Offers(), func(o actions.Offer) bool {
		return o.ID == actions.Palette || o.ID.Group() == "list"
	})
	slices.SortStableFunc(offers, func(o, other actions.Offer) int {
		return cmp.Compare(min(len(o.Why), 1), min(len(other.Why), 1))
	})
	pick := a.pickAction("Commands", offers)
	for i, offer := range offers {
		name := a.shell.Keys.Action(offer.ID).Name
		if key := a.keyNow(offer.ID); key != "" {
			name += "  (" + key + ")"
		}
		if !offer.Enabled() {
			name += notNow + offer.Why
		}
		pick.Options[i] = name
	}
	if a.shell.Account.Client != nil {
		pick.More = &screen.More{Options: "Commands", Recent: a.recentRecords(), Typed: a.typedRecords,
			Search: a.searchRecords}
	}
	return pick.Overlay(a.shell)
}

// kinds are the kinds of records that can be opened by id: their screens, and whether a text alone is taken for the id
// of one. Where a service has other ids than perksd, it must be behind its kind.
var kinds = []struct {
	name  string
	route func(id string) screen.Route
	isID  func(text string) bool
}{
	{"perk", func(id string) screen.Route { return screen.ToPerk{ID: api.LowerUUID(id)} }, isPerkID},
	{"user", func(id string) screen.Route { return screen.ToUser{ID: id} }, isUserID},
	{"property", func(id string) screen.Route { return screen.ToProperty{ID: api.PropertyID(id)} }, isPropertyID},
	{"redemption", func(id string) screen.Route { return screen.ToRedemption{ID: api.LowerUUID(id)} }, isRedemptionID},
}

func isPerkID(text string) bool       { return api.PerkIDRule(text) == "" }
func isUserID(text string) bool       { return api.UserIDRule(text) == "" }
func isPropertyID(text string) bool   { return strings.Trim(text, "0123456789") == "" }
func isRedemptionID(text string) bool { return uuid.Validate(text) == nil && isPerkID(text) }

// Kinds is the kinds of records that can be opened by id.
func Kinds() (names []string) {
	for _, kind := range kinds {
		names = append(names, kind.name)
	}
	return names
}

// RouteTo returns the screen of a record, and what is wrong with its kind or id; "" if there can be one.
func RouteTo(kind, id string) (to screen.Route, why string) {
	for _, known := range kinds {
		if known.name == kind {
			return known.route(id), api.AnyIDRule(id)
		}
	}
	return nil, "must be that of a perk, user, property or redemption"
}

// openRecord is the choice to open a record, if the text can be its id.
func (a *App) openRecord(kind, id string) (choices []screen.Choice) {
	to, why := RouteTo(kind, id)
	if why != "" {
		return nil
	}
	of := kind + " " + id
	return []screen.Choice{{Name: "Open " + of, Section: "Go to id", Of: of,
		Then: func() tea.Cmd { return a.shell.Open(to) }}}
}

// readable is the kinds of records that the client may read, as far as that is known.
func (a *App) readable() (names []string) {
	for _, kind := range kinds {
		if a.shell.WhyNotOpen(kind.route("")) == "" {
			names = append(names, kind.name)
		}
	}
	return names
}

// mostRecent is how many of each kind the palette begins with.
const mostRecent = 3

func (a *App) recentRecords() func() []screen.Choice {
	memory, profile, readable := a.shell.Memory, a.shell.Account.Profile, a.readable()
	return func() (choices []screen.Choice) {
		for _, kind := range []string{"user", "perk", "property", "redemption"} {
			if !slices.Contains(readable, kind) {
				continue
			}
			recent := memory.Recent(profile, kind)
			for _, one := range recent[:min(len(recent), mostRecent)] {
				id, title := screen.RecentTitle(one)
				opened := a.openRecord(kind, id)
				for i := range opened {
					opened[i].Section = "Recent"
				}
				if title != "" && len(opened) > 0 {
					opened[0].Name += ", " + title
				}
				choices = append(choices, opened...)
			}
		}
		return choices
	}
}

// named opens the record that words such as "user alice" name.
func (a *App) named(text string) []screen.Choice {
	kind, id, _ := strings.Cut(text, " ")
	choices := a.openRecord(strings.ToLower(kind), strings.TrimSpace(id))
	to, _ := RouteTo(strings.ToLower(kind), id)
	for i := range choices {
		if why := a.shell.WhyNotOpen(to); why != "" {
			choices[i].Name += notNow + why
		}
	}
	return choices
}

// typedRecords opens what a text can be the id of. Unless it looksLikeID, it more likely means a command, such as
// "quit".
func (a *App) typedRecords(text string) (choices []screen.Choice, first bool) {
	if choices = a.named(text); choices != nil {
		return choices, true
	}
	for _, kind := range kinds {
		if kind.isID(text) && a.shell.WhyNotOpen(kind.route("")) == "" {
			choices = append(choices, a.openRecord(kind.name, text)...)
		}
	}
	if isRedemptionID(text) { // people copy those of redemptions
		slices.Reverse(choices)
	}
	return choices, looksLikeID(text)
}

func looksLikeID(text string) bool { return strings.ContainsAny(text, "0123456789-_") }

const (
	// mostFound is how many perks a search in the palette shows; half as many users and properties.
	mostFound = 6
	// longestTitle leaves room for what tells records of one title apart.
	longestTitle = 36
)

// searchRecords finds the record with an id, or else perks and properties by their words or city, and users as their
// ids begin.
func (a *App) searchRecords(text string) screen.Fetch[[]screen.Choice] {
	if a.named(text) != nil {
		return nil
	}
	readable := a.readable()
	reads := func(kind string) bool { return slices.Contains(readable, kind) }
	return func(ctx context.Context, c *client.Client) (choices []screen.Choice, err error) {
		if choices, err = a.recordWithID(ctx, c, text, reads); len(choices) > 0 || err != nil {
			return choices, err
		}
		few := client.ListOptions{Page: 1, PerPage: mostFound}
		if reads("redemption") {
			if choices, err = a.redemptionsAbout(ctx, c, text, few); err != nil {
				return choices, err
			}
		}
		if reads("perk") {
			perks, failure := a.perksAbout(ctx, c, text, few)
			choices = append(choices, perks...)
			err = failure
		}
		few.PerPage = mostFound / 2
		if err == nil && isUserID(text) && reads("user") && !c.Lacks(api.ScopeRedemptionsReadAll) {
			users, failure := c.Users(ctx, api.UserFilter{Prefix: text}, few)
			for _, user := range users.Data {
				choices = append(choices, a.found("user", user.ID, screen.ToUser{ID: user.ID}, user.ID))
			}
			err = orLacking(failure)
		}
		if err == nil && reads("property") {
			listed, failure := c.Properties(ctx, api.PropertyFilter{Query: text}, few)
			for i := range listed.Data {
				choices = append(choices, a.propertyFound(&listed.Data[i]))
			}
			err = orLacking(failure)
		}
		return choices, err
	}
}

// perksAbout finds perks by their words, and then by their city.
func (a *App) perksAbout(
	ctx context.Context, c *client.Client, text string, few client.ListOptions,
) (choices []screen.Choice, err error) {
	for _, filter := range []api.PerkFilter{{Query: text}, {City: text}} {
		found, err := c.Perks(ctx, filter, few)
		if err != nil {
			return choices, err
		}
		for i := range found.Data {
			choice := a.perkFound(&found.Data[i])
			isKnown := func(known screen.Choice) bool { return known.Of == choice.Of }
			if len(choices) < mostFound && !slices.ContainsFunc(choices, isKnown) {
				choices = append(choices, choice)
			}
		}
	}
	return choices, nil
}

// redemptionsAbout finds redemptions by a value of their metadata, such as a ticket: "4711" by any key that is
// searched, and "ticket:4711" by that one. A page says which those are.
func (a *App) redemptionsAbout(
	ctx context.Context, c *client.Client, text string, few client.ListOptions,
) (choices []screen.Choice, err error) {
	key, value, hasKey := strings.Cut(text, ":")
	if !hasKey && !looksLikeID(text) {
		return nil, nil
	}
	first, err := c.Redemptions(ctx, api.RedemptionFilter{}, client.ListOptions{Page: 1, PerPage: 1})
	searched := first.Searched
	if !hasKey {
		value = text
	} else {
		searched = slices.DeleteFunc(searched, func(one string) bool { return !strings.EqualFold(one, key) })
	}
	for _, key := range searched {
		if err != nil || strings.TrimSpace(value) == "" {
			break
		}
		var found api.Page[api.RedemptionRecord]
		filter := api.RedemptionFilter{Metadata: api.MetadataFilter("").With(key, strings.TrimSpace(value))}
		found, err = c.Redemptions(ctx, filter, few)
		for i := range found.Data {
			r := &found.Data[i]
			choices = append(choices, a.redemptionFound(r, key+" "+display.Line(strings.TrimSpace(value))))
		}
	}
	return choices, orLacking(err)
}

func (a *App) redemptionFound(r *api.RedemptionRecord, facts ...string) screen.Choice {
	facts = append(facts, string(r.Status), r.ID)
	return a.found("redemption", r.ID, screen.ToRedemption{ID: r.ID}, r.PerkID+" for "+r.UserID, facts...)
}

// recordWithID finds the redemption, perk or property with an id that looks like one.
func (a *App) recordWithID(
	ctx context.Context, c *client.Client, text string, reads func(kind string) bool,
) (choices []screen.Choice, err error) {
	if !looksLikeID(text) {
		return nil, nil
	}
	if isRedemptionID(text) && reads("redemption") {
		r, _, failure := c.Redemption(ctx, api.LowerUUID(text))
		if failure == nil {
			return []screen.Choice{a.redemptionFound(&r)}, nil
		}
		err = orLacking(failure)
	}
	if err == nil && isPerkID(text) && reads("perk") {
		perk, failure := c.Perk(ctx, api.LowerUUID(text))
		if failure == nil {
			return []screen.Choice{a.perkFound(&perk)}, nil
		}
		err = orLacking(failure)
	}
	if err == nil && isPropertyID(text) && reads("property") {
		property, _, failure := c.Property(ctx, api.PropertyID(text))
		if failure == nil {
			return []screen.Choice{a.propertyFound(&property)}, nil
		}
		if client.IsNotFound(failure) {
			return a.deletedFound(ctx, c, api.PropertyID(text))
		}
		err = orLacking(failure)
	}
	return nil, err
}

func (a *App) perkFound(p *api.Perk) screen.Choice {
	to := screen.ToPerk{ID: p.ID, Known: p}
	return a.found("perk", p.ID, to, p.Title, p.ID, p.City, screen.Optional(p.DiscountText))
}

func (a *App) propertyFound(p *api.Property) screen.Choice {
	id := string(p.PropertyID())
	return a.found("property", id, screen.ToProperty{ID: p.PropertyID()}, p.Title, id, p.City)
}

// deletedFound is the choice of a property that was deleted: its screen can restore it.
func (a *App) deletedFound(ctx context.Context, c *client.Client, id api.PropertyID) ([]screen.Choice, error) {
	deletion, err := operation.Properties.Deletion(ctx, c, id)
	var was api.Property
	switch isRefusal := errors.As(err, new(*api.Error)); {
	case isRefusal && !needsLogin(err):
		return nil, nil // it was not deleted, or the client may not know
	case err != nil || api.ReadProperty(deletion.Before, &was) != nil:
		return nil, err
	}
	facts := []string{display.Line(string(id)), "deleted " + a.shell.When(deletion.At)}
	return []screen.Choice{a.found("property", string(id), screen.ToProperty{ID: id}, was.Title, facts...)}, nil
}

// sections is what the kinds of records that were found are called above them.
var sections = map[string]string{"perk": "Perks", "user": "Users", "property": "Properties",
	"redemption": "Redemptions"}

// found is the choice of a record: "Perk: Coffee for two, demo-1, Berlin".
func (a *App) found(kind, id string, to screen.Route, title string, facts ...string) screen.Choice {
	name := display.Capital(kind) + ": " + display.Cut(display.Line(title), longestTitle)
	name = widget.Joined(", ", append([]string{name}, facts...)...)
	return screen.Choice{Name: name, Section: sections[kind], Then: func() tea.Cmd { return a.shell.Open(to) },
		Of: kind + " " + id}
}

// orLacking returns the error unless the service refuses the list: another one may have none, or a client no right to
// it.
func orLacking(err error) error {
	if refused, is := errors.AsType[*client.Error](err); is && !refused.LoginNeeded() {
		return nil
	}
	return err
}
