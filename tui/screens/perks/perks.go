// Package perks has two screens: the list of perks and one perk.
package perks

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// List is the screen of the list.
type List struct {
	*list.List[api.PerkFilter, api.Perk]
	shell          *screen.Shell
	categories     *screen.Loader[[]api.Category]
	categoriesWait bool // choose a category as soon as they are loaded
}

func NewList(shell *screen.Shell) *List {
	s := &List{shell: shell, categories: screen.NewLoader[[]api.Category](shell)}
	s.List = list.New(shell, list.Kind[api.PerkFilter, api.Perk]{
		One: "perk", Many: "perks", Fields: api.PerkFilterFields, IDRule: api.PerkIDRule, Empty: "An operator imports them: perksd import perks",
		Orders: func(f api.PerkFilter) []string {
			if f.Near == nil {
				return screen.PerkOrders()
			}
			return append(screen.PerkOrders(), api.SortDistance)
		},
		Order: func(f api.PerkFilter) api.SortKey {
			if f.Near != nil {
				return api.SortKey{Field: api.SortDistance}
			}
			return screen.DefaultOrder()
		},
		Fetch: func(ctx context.Context, c *client.Client, f api.PerkFilter, options client.ListOptions) (api.Page[api.Perk], error) {
			return c.Perks(ctx, client.PerkListOptions{ListOptions: options, PerkFilter: f})
		},
		ID:      func(p *api.Perk) string { return p.ID },
		Title:   func(p *api.Perk) string { return display.Line(p.Title) },
		Columns: s.columns(),
		Facts:   s.facts,
		Muted:   func(p *api.Perk) bool { return screen.PhaseOf(p, shell.Now()) == screen.Expired },
		Values: func(field string) (names []string) {
			for _, category := range s.categories.Value {
				if field == "category" {
					names = append(names, display.Line(category.Name))
				}
			}
			return names
		},
	})
	return s
}

func (s *List) Title() string { return "Perks" }

func (s *List) Close() {
	s.List.Close()
	s.categories.Cancel()
}

func (s *List) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Redeemed:
		s.Unmark(msg.PerkID)
		return nil
	case screen.Reconnected:
		if s.categoriesWait = false; s.categories.Err != nil {
			s.categories.Reset()
		}
	}
	categories, changed := s.categories.Handle(msg)
	if changed {
		return s.handleCategories()
	}
	return tea.Batch(categories, s.List.Update(msg))
}

// columns are the columns. In a narrow window they leave from the id on; title and discount stay.
func (s *List) columns() screen.Columns[*api.Perk] {
	valid := func(p *api.Perk) string { return screen.Valid(p, s.shell.Now()) }
	return screen.Columns[*api.Perk]{
		{Column: widget.Column{Name: "Title", Min: 34, Share: 12, Matches: true}, Sort: "title", Cell: func(p *api.Perk) string { return display.Line(p.Title) }},
		{Column: widget.Column{Name: "Discount", Min: 9, Share: 2}, Sort: "discount_text", Cell: func(p *api.Perk) string { return screen.Optional(p.DiscountText) }},
		{Column: widget.Column{Name: "Merchant", Min: 12, Share: 3, Drop: 2, Matches: true}, Sort: "merchant_name", Cell: func(p *api.Perk) string { return screen.Optional(p.MerchantName) }},
		{Column: widget.Column{Name: "City", Min: 9, Share: 1, Drop: 3}, Sort: "city", Cell: func(p *api.Perk) string { return display.Line(p.City) }},
		{Column: widget.Column{Name: "Category", Min: 10, Share: 1, Drop: 4}, Sort: "category", Cell: func(p *api.Perk) string { return screen.Optional(p.Category) }},
		{Column: widget.Column{Name: "Valid", Min: 13, Share: 1, Drop: 1, Shorten: screen.ShortenValid}, Sort: "valid_to", Cell: valid,
			Tone: func(p *api.Perk) theme.Tone { return screen.ValidTone(p, s.shell.Now()) }},
		{Column: widget.Column{Name: "Id", Min: 10, Share: 1, Drop: 5}, Cell: func(p *api.Perk) string { return display.Line(p.ID) }},
	}
}

// facts is all of a perk, for the preview.
func (s *List) facts(p *api.Perk) []widget.Pair {
	return []widget.Pair{
		{Label: "Discount", Value: screen.Optional(p.DiscountText)},
		{Label: "Valid", Value: strings.TrimLeft(strings.TrimPrefix(validity(p, s.shell.Now()), "Valid"), ", ")},
		{Label: "Merchant", Value: screen.Optional(p.MerchantName)},
		{Label: "City", Value: display.Line(p.City)},
		{Label: "Category", Value: screen.Optional(p.Category)},
		{Label: "About", Value: display.Text(p.Description)},
		{Label: "Terms", Value: strings.TrimSpace(display.Text(given(p.Terms)))},
		{Label: "Id", Value: display.Line(p.ID)},
	}
}

func (s *List) Offers() []actions.Offer {
	why := s.WhyNoRow()
	if current := s.Current(); current != nil {
		why = screen.NotRedeemableReason(current, s.shell.Now())
	}
	return s.List.Offers(screen.Marks(s.Marked()).Offer(why), actions.EnabledUnless(actions.Category, ""), actions.EnabledUnless(actions.Expired, ""))
}

// Do no longer waits for categories that were requested before.
func (s *List) Do(id actions.ID) tea.Cmd {
	s.categoriesWait = false
	switch id {
	case actions.Filter: // completion offers them
		return tea.Batch(s.loadCategories(), s.List.Do(id))
	case actions.Open:
		return s.open()
	case actions.Submit:
		if s.TypedID() != "" {
			return tea.Batch(s.List.Do(id), s.open())
		}
	case actions.Category:
		if s.categories.Has {
			return s.pickCategory()
		}
		s.categoriesWait = true
		return s.loadCategories()
	case actions.Expired:
		return s.Find(s.With(func(f *api.PerkFilter) { f.IncludeExpired = !f.IncludeExpired }))
	case actions.Redeem:
		perk := s.Current()
		if perk != nil && screen.NotRedeemableReason(perk, s.shell.Now()) != "" {
			perk = nil
		}
		return screen.Marks(s.Marked()).Redeem(s.shell, s.Shown(), perk, "")
	}
	return s.List.Do(id)
}

func (s *List) open() tea.Cmd {
	if id := s.TypedID(); id != "" {
		return s.shell.Open(screen.ToPerk{ID: id})
	}
	if perk := s.Current(); perk != nil {
		return s.shell.Open(screen.ToPerk{ID: perk.ID, Known: perk})
	}
	return nil
}

// loadCategories loads them once.
func (s *List) loadCategories() tea.Cmd {
	if s.categories.Has || s.categories.Busy() {
		return nil
	}
	return s.categories.Load(func(ctx context.Context, c *client.Client) ([]api.Category, error) { return c.Categories(ctx) })
}

func (s *List) handleCategories() tea.Cmd {
	wait := s.categoriesWait
	s.categoriesWait = false
	switch {
	case !wait || s.Form() != nil:
	case s.categories.Err != nil:
		return screen.Tell(screen.Failure, "%s", screen.Sentence("The categories were not loaded: ", s.categories.Err))
	default:
		return s.pickCategory()
	}
	return nil
}

func (s *List) pickCategory() tea.Cmd {
	names := []string{""}
	pick := screen.Pick{Title: "Category", Options: []string{"All categories"}}
	for _, category := range s.categories.Value {
		if now := s.Filter().Category; now != "" && (strings.EqualFold(category.Name, now) || category.ID == now) {
			pick.Current = len(names)
		}
		names = append(names, category.Name)
		pick.Options = append(pick.Options, display.Line(category.Name))
	}
	pick.Then = func(index int) tea.Cmd {
		return s.Find(s.With(func(f *api.PerkFilter) { f.Category = names[index] }))
	}
	return s.shell.Post(pick)
}
