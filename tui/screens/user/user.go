// Package user is what one user can redeem, and has redeemed.
//
// It knows no other screen.
package user

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell         *screen.Shell
	width, height int

	id         string // of the user; "" until one is chosen
	available  *list[api.Perk]
	redeemed   *list[api.Redemption]
	titles     *titles     // of the perks that were redeemed
	order      api.SortKey // of the perks that can be redeemed
	layout     layout
	at         int // the tab that is shown
	marked     screen.Marks
	detail     *detail // of a redemption, nil if the lists are shown
	remembered bool
}

// The tabs.
const (
	atAvailable = iota
	atRedeemed
)

// New makes the screen. Without an id it asks for one.
func New(shell *screen.Shell, route screen.ToUser) *Screen {
	s := &Screen{shell: shell, id: route.ID, titles: newTitles(shell), order: screen.DefaultOrder()}
	if route.Redeemed {
		s.at = atRedeemed
	}
	s.available = &list[api.Perk]{
		loader: screen.NewLoader[api.Page[api.Perk]](shell), table: widget.NewTable(shell.Theme, perkColumns()...),
		now: shell.Now, name: "Available", one: "perk", many: "perks",
		id: func(p api.Perk) string { return p.ID }, row: s.perkRow, line: s.perkLine,
		fetch: func(page int64) screen.Fetch[api.Page[api.Perk]] {
			sort := api.FormatSort([]api.SortKey{s.order})
			id, options := s.id, client.PerkListOptions{ListOptions: client.ListOptions{Page: page, PerPage: perPage, Sort: sort}}
			return func(ctx context.Context, c *client.Client) (api.Page[api.Perk], error) {
				return c.UserPerks(ctx, id, options)
			}
		},
	}
	s.redeemed = &list[api.Redemption]{
		loader: screen.NewLoader[api.Page[api.Redemption]](shell), table: widget.NewTable(shell.Theme, redemptionColumns()...),
		now: shell.Now, name: "Redeemed", one: "redemption", many: "redemptions",
		id: func(r api.Redemption) string { return r.ID }, row: s.redemptionRow, line: s.redemptionLine,
		fetch: func(page int64) screen.Fetch[api.Page[api.Redemption]] {
			id, options := s.id, client.ListOptions{Page: page, PerPage: perPage}
			return func(ctx context.Context, c *client.Client) (api.Page[api.Redemption], error) {
				return c.UserRedemptions(ctx, id, options)
			}
		},
	}
	return s
}

// Title names the user.
func (s *Screen) Title() string {
	switch {
	case s.id == "":
		return "User"
	case s.detail != nil:
		return "Redemption " + display.Line(s.detail.redemption.ID) + " of user " + display.Line(s.id)
	}
	return "User " + display.Line(s.id)
}

// Init loads both tabs, so that both counts are known.
func (s *Screen) Init() tea.Cmd {
	if s.id == "" {
		return s.ask()
	}
	return s.eachTab(tab.start)
}

// Update takes the ends of loads, what was asked for, and the mouse.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	defer s.arrange()
	cmd := s.update(msg)
	return tea.Batch(cmd, s.readTitles())
}

// readTitles reads what the perks of the page of redemptions are called, while that is shown.
func (s *Screen) readTitles() tea.Cmd {
	if s.at != atRedeemed {
		return nil
	}
	return s.titles.read(s.redeemed.loader.Value.Data)
}

func (s *Screen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case recent:
		return s.askAmong(msg)
	case chosen:
		return s.turnToUser(msg)
	case screen.Redeemed:
		if msg.UserID == s.id {
			s.marked = s.marked.Without(msg.PerkID)
		}
		return nil
	case screen.Revealed:
		return s.eachTab(tab.again)
	case screen.Reconnected:
		if msg.Other {
			s.titles.forget()
			return s.startAnew()
		}
		s.titles.retry()
		return s.eachTab(tab.again)
	case tea.MouseMsg:
		return s.mouse(msg)
	}
	s.titles.take(msg)
	cmd := s.eachTab(func(t tab) tea.Cmd {
		next, _ := t.take(msg)
		return next
	})
	return tea.Batch(cmd, s.remember())
}

// startAnew forgets what was loaded of a user, and loads.
func (s *Screen) startAnew() tea.Cmd {
	s.eachTab(func(t tab) tea.Cmd { t.forget(); return nil })
	s.marked, s.detail, s.remembered = nil, nil, false
	if s.id == "" {
		return nil
	}
	return s.eachTab(tab.start)
}

// remember puts the user first among the recent ones, once it is known that there is such a user.
func (s *Screen) remember() tea.Cmd {
	if s.remembered || !s.available.loader.Has && !s.redeemed.loader.Has {
		return nil
	}
	s.remembered = true
	memory, profile, id := s.shell.Memory, s.shell.Account.Profile, s.id
	return func() tea.Msg {
		if err := memory.Remember(profile, kind, id); err != nil {
			return screen.Toast{Kind: screen.Warning, Text: screen.Sentence("This user will not be among the recent ones: ", err)}
		}
		return nil
	}
}

// Close gives up what is being loaded.
func (s *Screen) Close() {
	s.available.loader.Cancel()
	s.redeemed.loader.Cancel()
	s.titles.cancel()
}

// Form returns nil: nothing is typed here.
func (s *Screen) Form() *widget.Form { return nil }

// Unsaved returns "": nothing here can be lost.
func (s *Screen) Unsaved() string { return "" }
