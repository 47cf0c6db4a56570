// Package redemptions is the screen of all redemptions that the client may see, where a lead approves, rejects and voids them.
package redemptions

import (
	"cmp"
	"context"

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

// List is the screen.
type List struct {
	*list.List[api.RedemptionFilter, api.RedemptionRecord]
	shell   *screen.Shell
	titles  list.Titles
	decider *screen.Decider
}

func NewList(shell *screen.Shell) *List {
	s := &List{shell: shell, titles: list.NewTitles(shell), decider: screen.NewDecider(shell)}
	s.List = list.New(shell, list.Kind[api.RedemptionFilter, api.RedemptionRecord]{
		One: "redemption", Many: "redemptions", Fields: api.RedemptionFilterFields, Bare: "user",
		Orders: func(api.RedemptionFilter) []string { return api.RedemptionRecordSortFields() },
		Order:  func(api.RedemptionFilter) api.SortKey { return screen.FirstOrder("redeemed_at") },
		Fetch: func(ctx context.Context, c *client.Client, f api.RedemptionFilter, options client.ListOptions) (api.Page[api.RedemptionRecord], error) {
			return c.Redemptions(ctx, client.RedemptionListOptions{ListOptions: options, RedemptionFilter: f})
		},
		ScopeOfAll: api.ScopeRedemptionsReadAll,
		Changes:    func(e api.Event) bool { return e.Redemption != nil },
		ID:         func(r *api.RedemptionRecord) string { return r.ID },
		Title:      func(r *api.RedemptionRecord) string { return s.title(r) + " for " + display.Line(r.UserID) },
		Muted:      func(r *api.RedemptionRecord) bool { return screen.IsFree(r.Status) },
		Columns: screen.Columns[*api.RedemptionRecord]{
			{Column: widget.Column{Name: "User", Min: 12, Share: 2}, Sort: "user", Cell: func(r *api.RedemptionRecord) string { return display.Line(r.UserID) }},
			{Column: widget.Column{Name: "Title", Min: 18, Share: 6}, Cell: s.title},
			{Column: widget.Column{Name: "Status", Min: 9},
				Cell: func(r *api.RedemptionRecord) string { return screen.StatusWord(r.Status) },
				Tone: func(r *api.RedemptionRecord) theme.Tone { return screen.StatusTone(r.Status) }},
			{Column: widget.Column{Name: "When", Min: 12, Drop: 1}, Sort: "redeemed_at",
				Cell: func(r *api.RedemptionRecord) string { return shell.When(r.RedeemedAt) }},
			{Column: widget.Column{Name: "Reason", Min: 12, Share: 2, Drop: 2}, Cell: func(r *api.RedemptionRecord) string { return screen.Optional(r.Reason) }},
			{Column: widget.Column{Name: "Perk", Min: 10, Share: 2, Drop: 3}, Sort: "perk", Cell: func(r *api.RedemptionRecord) string { return display.Line(r.PerkID) }},
			{Column: widget.Column{Name: "Client", Min: 10, Share: 1, Drop: 4}, Cell: func(r *api.RedemptionRecord) string { return display.Line(r.ClientID) }},
			{Column: widget.Column{Name: "Id", Min: 12, Share: 1, Drop: 5}, Cell: func(r *api.RedemptionRecord) string { return display.Line(r.ID) }},
		},
		Facts: func(r *api.RedemptionRecord) []widget.Pair { return shell.RedemptionFacts(r, s.titles.Of(r.PerkID)) },
	})
	return s
}

// title is that of the perk, or its id until that is known.
func (s *List) title(r *api.RedemptionRecord) string {
	return cmp.Or(s.titles.Of(r.PerkID), display.Line(r.PerkID))
}

// readTitles reads the titles of the perks on the page.
func (s *List) readTitles() tea.Cmd {
	var perks []string
	for _, r := range s.Shown() {
		perks = append(perks, r.PerkID)
	}
	return s.titles.Read(perks...)
}

func (s *List) Title() string { return "Redemptions" }

func (s *List) Unsaved() string { return cmp.Or(s.decider.Unsaved(), s.List.Unsaved()) }

func (s *List) Close() {
	s.List.Close()
	s.titles.Cancel()
}

func (s *List) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case screen.Revealed:
		return s.Reload()
	case screen.Reconnected:
		s.titles.Retry()
	}
	if decided, is := msg.(screen.Decided); is {
		s.Unmark(decided.Record.ID)
	}
	if cmd, ended := s.decider.Handle(msg); ended {
		return tea.Batch(cmd, s.Reload())
	} else if cmd != nil {
		return cmd
	}
	if s.titles.Take(msg) {
		s.Redraw()
	}
	return tea.Batch(s.List.Update(msg), s.readTitles())
}

// chosen returns what is marked, or else the redemption under the cursor.
func (s *List) chosen() (chosen []screen.Decidable) {
	records := s.Marked()
	if current := s.Current(); len(records) == 0 && current != nil {
		records = []api.RedemptionRecord{*current}
	}
	for _, r := range records {
		chosen = append(chosen, screen.NewDecidable(&r.Redemption, s.title(&r)))
	}
	return chosen
}

func (s *List) Offers() []actions.Offer {
	why := s.WhyNoRow()
	view := "pending only"
	if s.Filter().Status == api.StatusPending {
		view = "all"
	}
	own := append(s.decider.Offers(s.chosen(), why), actions.EnabledUnless(actions.NextTab, "").WithHint(view))
	own = append(own, actions.EnabledUnless(actions.ForUser, why), actions.EnabledUnless(actions.OpenPerk, why))
	return s.List.Offers(own...)
}

func (s *List) Do(id actions.ID) tea.Cmd {
	current := s.Current()
	if screen.Decides(id) {
		return s.decider.Do(id, s.chosen())
	}
	switch id {
	case actions.NextTab:
		return s.Find(s.With(func(f *api.RedemptionFilter) {
			if f.Status != api.StatusPending {
				f.Status = api.StatusPending
			} else {
				f.Status = ""
			}
		}))
	case actions.Open:
		if current == nil {
			return nil
		}
		return s.shell.Open(screen.ToRedemption{ID: current.ID})
	case actions.ForUser:
		if current == nil {
			return nil
		}
		return s.shell.Open(screen.ToUser{ID: current.UserID, Redeemed: true})
	case actions.OpenPerk:
		if current == nil {
			return nil
		}
		return s.shell.Open(screen.ToPerk{ID: current.PerkID})
	}
	return tea.Batch(s.List.Do(id), s.readTitles())
}
