package user

import (
	"context"
	"net/http"

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
	s := &List{shell: shell}
	s.List = list.New(shell, list.Kind[api.UserFilter, api.User]{
		One: "user", Many: "users", Fields: api.UserFilterFields, IDRule: api.UserIDRule, NoMarks: true,
		ScopeOfList: true, Empty: "An operator imports them: perksd import users",
		Orders: func(api.UserFilter) []string { return []string{"id"} }, OneWay: true,
		Order: func(api.UserFilter) api.SortKey { return api.SortKey{Field: "id"} },
		Pages: func(
			c *client.Client, ctx context.Context, f api.UserFilter, options client.ListOptions,
		) client.Pages[api.User] {
			if options.Sort = ""; c.Lacks(api.ScopeRedemptionsReadAll) { // there is one order
				return unlisted
			}
			return c.UserPages(ctx, f, options)
		},
		ID: func(u *api.User) string { return u.ID },
		Columns: list.Columns[*api.User]{{
			Column: widget.Column{Name: "User", Min: 12, Share: 1, Matches: true},
			Cell:   func(u *api.User) string { return display.Line(u.ID) },
		}},
		Open: func(id string, _ *api.User) tea.Cmd { return shell.Open(screen.ToUser{ID: id, Redeemed: true}) },
		Entered: func(string) tea.Cmd {
			s.opens = true
			return s.openExact()
		},
	})
	return s
}

// unlisted is the only page of a client that may not list users. It is not asked for.
func unlisted(yield func(api.Page[api.User], error) bool) {
	yield(api.Page[api.User]{}, &client.Error{Status: http.StatusForbidden, Code: api.CodeInsufficientScope,
		Message: "This client lacks the scope " + string(api.ScopeRedemptionsReadAll) + "."})
}

func (s *List) Title() string { return "Users" }

// Init opens the line at once: people come with an id.
func (s *List) Init() tea.Cmd { return tea.Batch(s.List.Init(), s.Type()) }

// Offers is List.Offers. Whatever else is done, the user that was typed is not opened any more.
func (s *List) Offers() []actions.Offer {
	return actions.Around(s.List.Offers(), func(do func() tea.Cmd) tea.Cmd {
		s.opens = false
		return do()
	})
}

func (s *List) Update(msg tea.Msg) tea.Cmd { return tea.Batch(s.List.Update(msg), s.openExact()) }

// openExact opens the user whose whole id was typed.
func (s *List) openExact() tea.Cmd {
	if !s.opens || s.IsBusy() {
		return nil
	}
	s.opens = false
	id := s.Filter().Prefix
	if rows := s.Shown(); len(rows) > 0 && rows[0].ID == id || s.TypedID() != "" {
		return s.Open(id, nil)
	}
	return nil
}
