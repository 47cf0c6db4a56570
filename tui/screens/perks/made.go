package perks

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

// made is the redemptions of a perk, newest first, on its page.
type made struct {
	*list.Redemptions[struct{}]
	shell   *screen.Shell
	decider *screen.Decider
	hasKeys bool // it has the keyboard
}

// leastMade is the least height of the list.
const leastMade = 7

func newMade(shell *screen.Shell, perkID string) *made {
	newest, titles := list.FirstOrder("redeemed_at"), list.NewTitles(shell)
	titles.Know(perkID, api.Perk{ID: perkID}) // the page itself shows it
	type record = *api.RedemptionRecord
	m := &made{shell: shell, decider: screen.NewDecider(shell)}
	m.Redemptions = list.NewRedemptions(shell, titles, list.Kind[struct{}, api.RedemptionRecord]{
		Settings: "made", NoMarks: true,
		Called: func(struct{}) string { return "Redemptions" }, None: "Nobody has redeemed it yet.",
		Orders: func(struct{}) []string { return []string{newest.Field} },
		Order:  func(struct{}) api.SortKey { return newest },
		Pages: func(
			c *client.Client, ctx context.Context, _ struct{}, options client.ListOptions,
		) client.Pages[api.RedemptionRecord] {
			return c.RedemptionPages(ctx, api.RedemptionFilter{PerkID: perkID}, options)
		},
		ScopeOfAll: api.ScopeRedemptionsReadAll,
		File:       perkID + "-redemptions",
		Open:       func(id string, _ record) tea.Cmd { return shell.Open(screen.ToRedemption{ID: id}) },
		Columns: list.Columns[record]{
			{Column: widget.Column{Name: "When", Min: list.AgeWidth}, Sort: newest.Field,
				Cell: func(r record) string { return shell.When(r.RedeemedAt) }},
			{Column: widget.Column{Name: "User", Min: 12, Share: 2},
				Cell: func(r record) string { return display.Line(r.UserID) }},
			list.Status,
			{Column: widget.Column{Name: "Reason", Min: 12, Share: 2, Drop: 1},
				Cell: func(r record) string { return screen.Optional(r.Reason) }},
			{Column: widget.Column{Name: "Metadata", Min: 12, Share: 2, Drop: 2},
				Cell: func(r record) string { return screen.MetadataSummary(r.Metadata) }},
			{Column: widget.Column{Name: "Client", Min: 10, Share: 1, Drop: 3},
				Cell: func(r record) string { return display.Line(r.ClientID) }},
			{Column: widget.Column{Name: "Id", Min: 12, Share: 1, Drop: 4},
				Cell: func(r record) string { return display.Line(r.ID) }},
		},
	})
	m.take(false)
	return m
}

// Init reads the list, where the client may.
func (m *made) Init() tea.Cmd {
	if c := m.shell.Account.Client; c == nil || c.Lacks(api.ScopeRedemptionsRead) {
		return nil
	}
	return m.Reload()
}

// take gives the keyboard to the list, or takes it away.
func (m *made) take(has bool) tea.Cmd {
	m.hasKeys = has
	m.Focus(has)
	return nil
}

// update handles a message. After a decision everything about the perk has to be read again.
func (m *made) update(msg tea.Msg) (cmd tea.Cmd, decided bool) {
	if cmd, ended := m.decider.Handle(msg); ended {
		return cmd, true
	} else if cmd != nil {
		return cmd, false
	}
	return m.Redemptions.Update(msg), false
}

// offers returns what can be done while the list has the keyboard.
func (m *made) offers(perkTitle string, back actions.Offer) []actions.Offer {
	why, chosen := m.WhyNoRow(), []screen.Decidable(nil)
	if r := m.Current(); r != nil {
		chosen = []screen.Decidable{{RedemptionRecord: *r, Title: perkTitle}}
	}
	return m.Offers(append(m.decider.Offers(chosen, why), back,
		actions.Offer{ID: actions.ForUser, Why: why, Do: func() tea.Cmd {
			return m.shell.Open(screen.ToUser{ID: m.Current().UserID, Redeemed: true})
		}})...)
}
