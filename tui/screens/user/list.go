package user

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// List is the screen of all users, found by the start of their ids.
type List struct {
	*list.List[api.UserFilter, api.User]
	shell *screen.Shell
	opens bool // the user whose whole id was typed, as soon as the list is there
}

func NewList(shell *screen.Shell) *List {
	id := func(u *api.User) string { return u.ID }
	return &List{shell: shell, List: list.New(shell, list.Kind[api.UserFilter, api.User]{
		One: "user", Many: "users", Fields: api.UserFilterFields, IDRule: api.UserIDRule, NoMarks: true,
		ScopeOfList: true, Empty: "An operator imports them: perksd import users",
		Orders: func(api.UserFilter) []string { return []string{"id"} }, OneWay: true,
		Order: func(api.UserFilter) api.SortKey { return api.SortKey{Field: "id"} },
		Fetch: func(ctx context.Context, c *client.Client, f api.UserFilter, options client.ListOptions) (api.Page[api.User], error) {
			options.Sort = "" // there is one order
			return c.Users(ctx, client.UserListOptions{ListOptions: options, UserFilter: f})
		},
		ID: id, Title: id,
		Columns: screen.Columns[*api.User]{{Column: widget.Column{Name: "User", Min: 12, Share: 1, Matches: true}, Cell: func(u *api.User) string { return display.Line(u.ID) }}},
	})}
}

func (s *List) Title() string { return "Users" }

// Init opens the line at once: people come with an id.
func (s *List) Init() tea.Cmd { return tea.Batch(s.List.Init(), s.List.Do(actions.Filter)) }

func (s *List) Offers() []actions.Offer { return s.List.Offers() }

func (s *List) Update(msg tea.Msg) tea.Cmd { return tea.Batch(s.List.Update(msg), s.openExact()) }

func (s *List) Do(id actions.ID) tea.Cmd {
	if s.opens = id == actions.Submit; id == actions.Open {
		return s.open()
	}
	return tea.Batch(s.List.Do(id), s.openExact())
}

// openExact opens the user whose whole id was typed.
func (s *List) openExact() tea.Cmd {
	if !s.opens || s.IsBusy() {
		return nil
	}
	s.opens = false
	if rows := s.Shown(); len(rows) > 0 && rows[0].ID == s.Filter().Prefix || s.TypedID() != "" {
		return s.shell.Open(screen.ToUser{ID: s.Filter().Prefix, Redeemed: true})
	}
	return nil
}

func (s *List) open() tea.Cmd {
	if id := s.TypedID(); id != "" {
		return s.shell.Open(screen.ToUser{ID: id, Redeemed: true})
	}
	if current := s.Current(); current != nil {
		return s.shell.Open(screen.ToUser{ID: current.ID, Redeemed: true})
	}
	return nil
}
