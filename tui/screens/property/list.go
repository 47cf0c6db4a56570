package property

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/record"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// List is the screen of the listings that the client may see.
type List struct {
	*list.List[api.PropertyFilter, api.Property]
	shell *screen.Shell
	typed string // the id that was typed, until the cursor is on it; "" for none
}

func NewList(shell *screen.Shell) *List {
	listed := list.Kind[api.PropertyFilter, api.Property]{
		One: "property", Many: "properties", Fields: api.PropertyFilterFields, IDRule: idRule,
		Empty:      shell.Key(actions.Create) + " creates one.",
		Orders:     func(api.PropertyFilter) []string { return api.PropertySortFields() },
		Order:      func(api.PropertyFilter) api.SortKey { return api.SortKey{Field: "propertyId"} },
		Pages:      (*client.Client).PropertyPages,
		ScopeOfAll: api.ScopePropertiesRead,
		Changes:    func(e api.Event) bool { return e.Property != nil || e.Type == api.EventPropertiesImported },
		ID:         func(p *api.Property) string { return string(p.PropertyID()) },
		Title:      func(p *api.Property) string { return display.Line(p.Title) },
		Open: func(id string, _ *api.Property) tea.Cmd {
			return shell.Open(screen.ToProperty{ID: api.PropertyID(id)})
		},
		Columns: list.Columns[*api.Property]{
			{Column: widget.Column{Name: "Id", Min: 4, Right: true}, Sort: "propertyId",
				Cell: func(p *api.Property) string { return display.Line(string(p.PropertyID())) }},
			{Column: widget.Column{Name: "Title", Min: 24, Share: 6, Matches: true},
				Cell: func(p *api.Property) string { return display.Line(p.Title) }},
			{Column: widget.Column{Name: "Per week", Min: 8, Right: true}, Sort: "price_pw", Cell: cellOf("price_pw")},
			{
				Column: widget.Column{Name: "Beds", Min: 4, Right: true, Drop: 2}, Sort: "bedrooms",
				Cell: cellOf("bedrooms"),
			},
			{Column: widget.Column{Name: "City", Min: 10, Share: 2, Drop: 1, Matches: true}, Sort: "city",
				Cell: func(p *api.Property) string { return display.Line(p.City) }},
			{Column: widget.Column{Name: "Address", Min: 14, Share: 3, Drop: 3, Matches: true},
				Cell: func(p *api.Property) string { return display.Line(p.Address) }},
			{Column: widget.Column{Name: "Postcode", Min: 8, Share: 1, Drop: 4, Matches: true},
				Cell: func(p *api.Property) string { return display.Line(p.Postcode) }},
		},
		Facts: func(p *api.Property) []widget.Pair {
			return []widget.Pair{
				{Label: "Price", Value: priceOf(*p)},
				{Label: "Deposit", Value: valueOf(fieldNamed("deposit"), *p)},
				{Label: "Bedrooms", Value: valueOf(fieldNamed("bedrooms"), *p)},
				{Label: "Bathrooms", Value: valueOf(fieldNamed("bathrooms"), *p)},
				{Label: "Address", Value: display.Line(p.Address)},
				{Label: "City", Value: display.Line(p.Postcode + " " + p.City)},
				{Label: "About", Value: display.Text(p.Description)},
				{Label: "Images", Value: display.Text(strings.Join(p.Images, "\n"))},
				{Label: "Id", Value: display.Line(string(p.PropertyID()))},
			}
		},
	}
	if shell.Account.Profile.Sandbox { // the service lists live ones there, too
		listed.Fields, listed.ScopeOfAll, listed.None, listed.Empty = nil, "", noneInSandbox, goLive(shell)
		listed.Pages = func(
			*client.Client, context.Context, api.PropertyFilter, client.ListOptions,
		) client.Pages[api.Property] {
			return func(yield func(api.Page[api.Property], error) bool) {
				yield(api.Page[api.Property]{Meta: api.NewPageMeta(1, list.PerPage, 0)}, nil)
			}
		}
	}
	s := &List{shell: shell}
	listed.Entered = func(query string) tea.Cmd { // with an id there is nothing to choose
		if query == "" || idRule(query) != "" {
			return nil
		}
		s.typed = query
		return tea.Batch(s.Find(""), s.Open(query, nil))
	}
	s.List = list.New(shell, listed)
	return s
}

// cellOf is a field in a list as it came, without a remark: a column of numbers is narrow.
func cellOf(name string) func(*api.Property) string {
	return func(p *api.Property) string { return display.Line(kind.Text(name, *p)) }
}

func priceOf(p api.Property) string {
	price := valueOf(fieldNamed("price_pw"), p)
	if _, isOdd := p.Odd["price_pw"]; !isOdd {
		price += " per week"
	}
	return price
}

const noneInSandbox = "The sandbox has no properties."

func goLive(shell *screen.Shell) string {
	return "Log in to the live service (" + shell.Key(actions.Login) + ")."
}

func (s *List) Title() string { return "Properties" }

// idRule says why a text is words rather than the id of a property. Services may have other ids than numbers, but those
// could be words.
func idRule(text string) string {
	if strings.Trim(text, "0123456789") != "" {
		return "must be a whole number"
	}
	return ""
}

// Init opens the line at once: people come with an id or an address.
func (s *List) Init() tea.Cmd {
	if s.Fields == nil {
		return s.List.Init()
	}
	return tea.Batch(s.List.Init(), s.Type())
}

// Update also reads the list again when a property above it was changed or closed.
func (s *List) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Revealed, changedHere:
		return s.Reload()
	case record.Changed:
		if msg.Kind == kind.Name {
			for _, id := range msg.IDs {
				s.Unmark(id)
			}
		}
	}
	cmd := s.List.Update(msg)
	if s.typed != "" && s.Has() && !s.IsBusy() {
		s.ChooseID(s.typed)
		s.typed = ""
	}
	return cmd
}

// Offers is List.Offers, with what is done to all that is marked. The sandbox has no properties.
func (s *List) Offers() []actions.Offer {
	if s.Fields == nil {
		return s.List.Offers()
	}
	var marked []record.Marked[api.PropertyID]
	for _, p := range s.Marked() {
		marked = append(marked, record.Marked[api.PropertyID]{ID: p.PropertyID(), Title: display.Line(p.Title)})
	}
	edit := kind.EditMarked(s.shell, marked, s.Filter().Own)
	if len(marked) == 0 {
		edit.Why = fmt.Sprintf("Nothing is marked: %s marks. %s opens one.", s.shell.Key(actions.Mark),
			s.shell.Key(actions.Open))
	}
	return s.List.Offers(edit, actions.Offer{ID: actions.Create, Do: kind.New(s.shell)})
}
