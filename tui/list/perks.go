package list

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Perks is a list of perks, of all or of those of a user.
type Perks struct {
	*List[api.PerkFilter, api.Perk]
	of             PerksOf
	categories     *screen.Loader[[]api.Category]
	cities         *screen.Loader[[]string] // of the newest perks
	categoriesWait bool                     // choose a category as soon as they are loaded
	noRelevance    atomic.Bool              // the service is another one than perksd, or older, and cannot sort by it
}

// PerksOf is what differs between lists of perks.
type PerksOf struct {
	None, Empty string // as in Kind, as is Elsewhere
	Elsewhere   func(typing bool) string

	Called func(api.PerkFilter) string
	Pages  func(*client.Client, context.Context, api.PerkFilter, client.ListOptions) client.Pages[api.Perk]
	File   string
	// Valid says whether a perk can be redeemed, or why not; nil says what its dates say.
	Valid func(*api.Perk) (text string, tone theme.Tone)
	// WhyNot says what keeps the user from redeeming a perk besides its dates; nil for nothing.
	WhyNot func(*api.Perk) string
	UserID string // of the only user whom perks are redeemed for; "" if that is still open
}

// NewPerks makes a list of perks.
func NewPerks(shell *screen.Shell, of PerksOf) *Perks {
	s := &Perks{of: of, categories: screen.NewLoader[[]api.Category](shell), cities: screen.NewLoader[[]string](shell)}
	says := of.Valid != nil
	if !says {
		of.Valid = func(p *api.Perk) (string, theme.Tone) {
			return screen.Valid(p, shell.Now()), screen.ValidTone(p, shell.Now())
		}
	}
	s.List = New(shell, Kind[api.PerkFilter, api.Perk]{
		One: "perk", Many: "perks", Called: of.Called, Fields: api.PerkFilterFields,
		Begun: []string{"city", "category", "near"}, IDRule: api.PerkIDRule,
		None: of.None, Empty: of.Empty, File: of.File, Elsewhere: of.Elsewhere,
		Orders: s.orders,
		Order: func(f api.PerkFilter) api.SortKey {
			for _, field := range []string{api.SortDistance, api.SortRelevance} {
				if slices.Contains(s.orders(f), field) {
					return api.SortKey{Field: field}
				}
			}
			return newestFirst()
		},
		Pages: func(
			c *client.Client, ctx context.Context, f api.PerkFilter, options client.ListOptions,
		) client.Pages[api.Perk] {
			newest := api.FormatSort([]api.SortKey{newestFirst()})
			if options.Sort != api.SortRelevance {
				return of.Pages(c, ctx, f, options)
			}
			options.Sort += "," + newest
			return func(yield func(api.Page[api.Perk], error) bool) {
				for page, err := range of.Pages(c, ctx, f, options) {
					if refused, is := errors.AsType[*client.Error](err); is && len(refused.Fields["sort"]) > 0 {
						s.noRelevance.Store(true)
						options.Sort = newest
						of.Pages(c, ctx, f, options)(yield)
						return
					}
					if !yield(page, err) {
						return
					}
				}
			}
		},
		ID:    func(p *api.Perk) string { return p.ID },
		Title: func(p *api.Perk) string { return display.Line(p.Title) },
		Open: func(id string, p *api.Perk) tea.Cmd {
			return shell.Open(screen.ToPerk{ID: id, Known: p, UserID: of.UserID})
		},
		Columns: s.columns(of.Valid, says),
		Facts: func(p *api.Perk) []widget.Pair {
			facts := PerkFacts(p, shell.Now())
			if distance := s.distance(p); distance != "" {
				facts = slices.Insert(facts, 2, widget.Pair{Label: "Distance", Value: distance})
			}
			return facts
		},
		Muted:  func(p *api.Perk) bool { return screen.PhaseOf(p, shell.Now()) == screen.Expired },
		Values: s.values, OnType: s.loadCategories,
		Changes: func(e api.Event) bool {
			return e.Type == api.EventPerkChanged || e.Type == api.EventPerkCreated || e.Type == api.EventPerksImported
		},
	})
	return s
}

// orders are what a list of perks can be sorted by, those that need something last.
func (s *Perks) orders(f api.PerkFilter) []string {
	fields := []string{
		"title", "category", "merchant_name", "city", "valid_from", "valid_to", "created_at", "updated_at",
	}
	for _, field := range []string{api.SortDistance, api.SortRelevance} {
		if f.CanSortBy(field) && (field != api.SortRelevance || !s.noRelevance.Load()) {
			fields = append(fields, field)
		}
	}
	return fields
}

// distance is how far a perk is from the position that is searched; "" if that is not known.
func (s *Perks) distance(p *api.Perk) string {
	km, known := s.DistanceKM(p)
	switch {
	case !known:
		return ""
	case km < 1:
		return fmt.Sprintf("%.0f m", km*1000)
	case km < 10:
		return fmt.Sprintf("%.1f km", km)
	}
	return fmt.Sprintf("%.0f km", km)
}

// columns are the columns. In a narrow window they leave from the id on; title and discount stay, and validity where
// that says why a perk cannot be redeemed.
func (s *Perks) columns(valid func(*api.Perk) (string, theme.Tone), validStays bool) Columns[*api.Perk] {
	titleWidth, validWidth, validDrop := 34, 13, 1
	if validStays {
		titleWidth, validWidth, validDrop = 24, 16, 0
	}
	return Columns[*api.Perk]{
		{Column: widget.Column{Name: "Title", Min: titleWidth, Share: 12, Matches: true}, Sort: "title",
			Cell: func(p *api.Perk) string { return display.Line(p.Title) }},
		{Column: widget.Column{Name: "Discount", Min: 9, Share: 2}, Sort: "discount_text",
			Cell: func(p *api.Perk) string { return screen.Optional(p.DiscountText) }},
		{Column: widget.Column{Name: "Distance", Min: 10, Right: true, Drop: 1}, Sort: api.SortDistance,
			Cell: s.distance},
		{Column: widget.Column{Name: "Merchant", Min: 12, Share: 3, Drop: 3, Matches: true}, Sort: "merchant_name",
			Cell: func(p *api.Perk) string { return screen.Optional(p.MerchantName) }},
		{Column: widget.Column{Name: "City", Min: 9, Share: 1, Drop: 2}, Sort: "city",
			Cell: func(p *api.Perk) string { return display.Line(p.City) }},
		{Column: widget.Column{Name: "Category", Min: 10, Share: 1, Drop: 4}, Sort: "category",
			Cell: func(p *api.Perk) string { return screen.Optional(p.Category) }},
		{Column: widget.Column{Name: "Valid", Min: validWidth, Share: 1, Drop: validDrop, Shorten: screen.ShortenValid},
			Sort: "valid_to",
			Cell: func(p *api.Perk) string { text, _ := valid(p); return text },
			Tone: func(p *api.Perk) theme.Tone { _, tone := valid(p); return tone }},
		{Column: widget.Column{Name: "Id", Min: 10, Share: 1, Drop: 5},
			Cell: func(p *api.Perk) string { return display.Line(p.ID) }},
	}
}

// PerkFacts is all that is known of a perk but its title.
func PerkFacts(p *api.Perk, now time.Time) []widget.Pair {
	given := func(text *string) string {
		if text == nil {
			return "none"
		}
		return display.Text(*text)
	}
	when := func(at *time.Time, none string) string {
		switch {
		case at == nil:
			return none
		case at.IsZero():
			return "not known"
		}
		return at.In(now.Location()).Format("2 Jan 2006 15:04 MST")
	}
	until := when(p.ValidTo, "no end date")
	if p.ValidTo != nil && !p.ValidTo.IsZero() { // the day that Validity names
		zoned := p.ValidTo.In(now.Location())
		until = display.End(zoned, zoned) + zoned.Format(" MST")
	}
	return []widget.Pair{
		{Label: "Discount", Value: given(p.DiscountText)},
		{Label: "Validity", Value: Validity(p, now)},
		{Label: "Merchant", Value: given(p.MerchantName)},
		{Label: "City", Value: display.Line(p.City)},
		{Label: "Category", Value: given(p.Category)},
		{Label: "About", Value: display.Text(p.Description), IsText: true},
		{Label: "Terms", Value: given(p.Terms), IsText: true},
		{Label: "Valid from", Value: when(p.ValidFrom, "any time")},
		{Label: "Valid to", Value: until},
		{Label: "Id", Value: display.Line(p.ID)},
		{Label: "Image", Value: given(p.ImageURL)},
		{Label: "Created", Value: when(&p.CreatedAt, "")},
		{Label: "Updated", Value: when(&p.UpdatedAt, "")},
	}
}

// Validity says when a perk can be redeemed, seen from now: "Valid until 3 Dec 2026, 12 days left".
func Validity(perk *api.Perk, now time.Time) string {
	// A perk that ends at midnight is valid until the day before.
	until := func(end time.Time) string { return "until " + display.Day(end.Add(-time.Nanosecond), now) }
	switch screen.PhaseOf(perk, now) {
	case screen.Expired:
		return "Was valid " + until(*perk.ValidTo) + ", " + display.Until(*perk.ValidTo, now)
	case screen.NotStarted:
		from := "Valid from " + display.Day(*perk.ValidFrom, now)
		if perk.ValidTo != nil {
			from += " " + until(*perk.ValidTo)
		}
		return from + ", starts " + display.In(*perk.ValidFrom, now)
	}
	if perk.ValidTo == nil {
		return "Valid, no end date"
	}
	return "Valid " + until(*perk.ValidTo) + ", " + display.Until(*perk.ValidTo, now)
}

func (s *Perks) Close() {
	s.List.Close()
	s.categories.Cancel()
	s.cities.Cancel()
}

func (s *Perks) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Redeemed:
		if s.of.UserID == "" || s.of.UserID == msg.UserID {
			s.Unmark(msg.PerkID)
		}
		return nil
	case screen.Reconnected:
		if s.categoriesWait = false; s.categories.Err != nil {
			s.categories.Reset()
		}
		if s.cities.Err != nil {
			s.cities.Reset()
		}
	case screen.Edited:
		return tea.Batch(s.List.Update(msg), s.loadCities())
	}
	if _, changed := s.categories.Handle(msg); changed {
		return s.handleCategories()
	}
	if _, changed := s.cities.Handle(msg); changed {
		return s.retype()
	}
	return s.List.Update(msg)
}

// Offers is List.Offers, with what every list of perks can do. Whatever is done ends the wait for categories.
func (s *Perks) Offers(own ...actions.Offer) []actions.Offer {
	expired := "all perks"
	switch {
	case s.of.UserID == "":
		expired = ""
	case s.Filter().IncludeExpired:
		expired = "available"
	}
	offers := s.List.Offers(slices.Concat([]actions.Offer{
		s.redeem(), {ID: actions.Expired, Hint: expired, Do: s.switchExpired},
	}, own, []actions.Offer{{ID: actions.Category, Do: s.chooseCategory}})...)
	return actions.Around(offers, func(do func() tea.Cmd) tea.Cmd {
		s.categoriesWait = false
		return do()
	})
}

func (s *Perks) switchExpired() tea.Cmd {
	return s.Find(s.With(func(f *api.PerkFilter) { f.IncludeExpired = !f.IncludeExpired }))
}

func (s *Perks) chooseCategory() tea.Cmd {
	if s.categories.Has {
		return s.pickCategory()
	}
	s.categoriesWait = true
	return s.loadCategories()
}

// redeem offers to redeem what is marked, and says how many, or else the perk under the cursor. If marks are not on the
// page it asks first, because users forget those.
func (s *Perks) redeem() actions.Offer {
	why, marked, under := s.WhyNoRow(), slices.Clone(s.Marked()), s.Current()
	if under != nil {
		if why = screen.NotRedeemableReason(under, s.shell.Now()); why == "" && s.of.WhyNot != nil {
			why = s.of.WhyNot(under)
		}
	}
	if why != "" {
		under = nil
	}
	open := func(perks ...api.Perk) tea.Cmd {
		return s.shell.Open(screen.ToRedeem{Perks: perks, UserID: s.of.UserID, Asks: s.of.UserID != ""})
	}
	if len(marked) == 0 {
		return actions.Offer{ID: actions.Redeem, Why: why, Do: func() tea.Cmd { return open(*under) }}
	}
	hint := fmt.Sprintf("redeem %d marked", len(marked))
	return actions.Offer{ID: actions.Redeem, Hint: hint, Do: func() tea.Cmd {
		if s.hidden() == 0 {
			return open(marked...)
		}
		names := make([]string, len(marked))
		for i := range marked {
			names[i] = display.Line(marked[i].Title)
		}
		options := []string{fmt.Sprintf("Redeem %d marked: %s", len(marked), strings.Join(names, ", "))}
		if under != nil {
			options = append(options, "Redeem only the one under the cursor: "+display.Line(under.Title))
		}
		return s.shell.Post(screen.Pick{Title: s.Summary(), Options: options, Then: func(index int) tea.Cmd {
			if index > 0 {
				return open(*under)
			}
			return open(marked...)
		}})
	}}
}

// values are the names for completion.
func (s *Perks) values(field string) (found []string) {
	switch field {
	case "category":
		for _, category := range s.categories.Value {
			found = append(found, display.Line(category.Name))
		}
	case "city":
		found = s.cities.Value
	case "near":
		found = slices.Concat(s.seen["city"], s.cities.Value)
	}
	return found
}

// loadCategories loads them once.
func (s *Perks) loadCategories() tea.Cmd {
	if s.categories.Has || s.categories.Busy() {
		return nil
	}
	return s.categories.Load(func(ctx context.Context, c *client.Client) ([]api.Category, error) {
		return c.Categories(ctx)
	})
}

// loadCities loads those of the newest perks once, when the first one is typed.
func (s *Perks) loadCities() tea.Cmd {
	text := s.text()
	c := api.CompleteQuery(s.Fields, text, len(text))
	if s.cities.Has || s.cities.Busy() || s.cities.Err != nil || !isValueOf(c, "city") && !isValueOf(c, "near") {
		return nil
	}
	return s.cities.Load(func(ctx context.Context, c *client.Client) (cities []string, err error) {
		newest, err := c.Perks(ctx, api.PerkFilter{}, client.ListOptions{Page: 1, PerPage: api.MaxPerPage})
		for _, perk := range newest.Data {
			if city := display.Line(perk.City); city != "" && !slices.Contains(cities, city) {
				cities = append(cities, city)
			}
		}
		return cities, err
	})
}

func isValueOf[F any](c api.QueryCompletion[F], field string) bool {
	return c.Field != nil && c.Field.Name == field
}

// retype reads what is typed again, because a name that is begun there may be known now.
func (s *Perks) retype() tea.Cmd {
	if s.Form() == nil {
		return nil
	}
	return s.typed()
}

func (s *Perks) handleCategories() tea.Cmd {
	wait := s.categoriesWait
	s.categoriesWait = false
	switch {
	case !wait || s.Form() != nil:
		return s.retype()
	case s.categories.Err != nil:
		return screen.Tell(screen.Failure, "%s", screen.Sentence("The categories were not loaded: ", s.categories.Err))
	}
	return s.pickCategory()
}

func (s *Perks) pickCategory() tea.Cmd {
	chosen := []string{""}
	pick := screen.Pick{Title: "Category", Options: []string{"All categories"}}
	for _, category := range s.categories.Value {
		if now := s.Filter().Category; now != "" && (strings.EqualFold(category.Name, now) || category.ID == now) {
			pick.Current = len(chosen)
		}
		chosen = append(chosen, category.Name)
		pick.Options = append(pick.Options, display.Line(category.Name))
	}
	pick.Then = func(index int) tea.Cmd {
		return s.Find(s.With(func(f *api.PerkFilter) { f.Category = chosen[index] }))
	}
	return s.shell.Post(pick)
}
