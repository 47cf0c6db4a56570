// Package redemptions is the screen of all redemptions that the client may see, where a lead approves, rejects and
// voids them.
package redemptions

import (
	"cmp"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// List is the screen.
type List struct {
	*list.Redemptions[api.RedemptionFilter]
	shell   *screen.Shell
	decider *screen.Decider
}

func NewList(shell *screen.Shell) *List {
	titles := list.NewTitles(shell)
	type record = *api.RedemptionRecord
	kind := list.Kind[api.RedemptionFilter, api.RedemptionRecord]{
		Fields: api.RedemptionFilterFields, Bare: "user",
		FieldsOf: func(page api.Page[api.RedemptionRecord]) []api.FilterField[api.RedemptionFilter] {
			return api.WithMetadata(api.RedemptionFilterFields, page.Searched)
		},
		Orders: func(api.RedemptionFilter) []string { return api.RedemptionRecordSortFields() },
		Order: func(filter api.RedemptionFilter) api.SortKey { // those that wait are a queue
			return api.SortKey{Field: "redeemed_at", Desc: filter.Status != api.StatusPending}
		},
		Nothing: func(filter api.RedemptionFilter) string {
			return actions.WhyIf(filter == api.RedemptionFilter{Status: api.StatusPending}, "Nothing waits for approval.")
		},
		Pages:      (*client.Client).RedemptionPages,
		ScopeOfAll: api.ScopeRedemptionsReadAll,
		Changes:    func(e api.Event) bool { return e.Redemption != nil },
		Open:       func(id string, _ record) tea.Cmd { return shell.Open(screen.ToRedemption{ID: id}) },
		Title:      func(r record) string { return titles.Perk(r) + " for " + display.Line(r.UserID) },
		Columns:    columns(shell, titles, false),
		Facts:      func(r record) []widget.Pair { return shell.RedemptionFacts(r, titles.Of(r.PerkID)) },
	}
	decider := screen.NewDecider(shell)
	kind.Note = decider.Progress
	of := list.NewRedemptions(shell, titles, kind)
	of.ColumnsOf = func(filter api.RedemptionFilter) list.Columns[record] {
		return columns(shell, titles, filter.Status == api.StatusPending)
	}
	return &List{of, shell, decider}
}

// columns are those of all redemptions, or of the queue of those that wait: there each has the same status, and says
// first how long it waits.
func columns(shell *screen.Shell, titles list.Titles, isQueue bool) (all list.Columns[*api.RedemptionRecord]) {
	type record = *api.RedemptionRecord
	user := list.Column[record]{Column: widget.Column{Name: "User", Min: 12, Share: 2}, Sort: "user",
		Cell: func(r record) string { return display.Line(r.UserID) }}
	title := list.Column[record]{Column: widget.Column{Name: "Perk", Min: 18, Share: 6}, Cell: titles.Perk}
	if isQueue {
		all = list.Columns[record]{
			{Column: widget.Column{Name: "Waiting", Min: 9}, Sort: "redeemed_at",
				Cell: func(r record) string { return strings.TrimSuffix(shell.When(r.RedeemedAt), " ago") }},
			user, title,
			{Column: widget.Column{Name: "Metadata", Min: 24, Share: 4, Drop: 1},
				Cell: func(r record) string { return screen.MetadataSummary(r.Metadata) }},
		}
	} else {
		all = list.Columns[record]{
			user, title, list.Status,
			{Column: widget.Column{Name: "When", Min: list.AgeWidth, Drop: 1}, Sort: "redeemed_at",
				Cell: func(r record) string { return shell.When(r.RedeemedAt) }},
			{Column: widget.Column{Name: "Reason", Min: 12, Share: 2, Drop: 2},
				Cell: func(r record) string { return screen.Optional(r.Reason) }},
		}
	}
	return append(all, list.Columns[record]{
		{Column: widget.Column{Name: "Perk id", Min: 10, Share: 2, Drop: 3}, Sort: "perk",
			Cell: func(r record) string { return display.Line(r.PerkID) }},
		{Column: widget.Column{Name: "Actor", Min: 8, Share: 1, Drop: 3}, Sort: "actor",
			Cell: func(r record) string { return screen.Optional(r.Actor) }},
		{Column: widget.Column{Name: "Client", Min: 10, Share: 1, Drop: 4},
			Cell: func(r record) string { return display.Line(r.ClientID) }},
		{Column: widget.Column{Name: "Id", Min: 12, Share: 1, Drop: 5},
			Cell: func(r record) string { return display.Line(r.ID) }},
	}...)
}

func (s *List) Title() string { return "Redemptions" }

func (s *List) Unsaved() string { return cmp.Or(s.decider.Unsaved(), s.Redemptions.Unsaved()) }

func (s *List) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Revealed:
		return s.Reload()
	case screen.Decided:
		s.Unmark(msg.Record.ID)
		if status := s.Filter().Status; status != "" && status != msg.Record.Status {
			s.Drop(msg.Record.ID)
		}
	}
	if cmd, ended := s.decider.Handle(msg); ended {
		return tea.Batch(cmd, s.Reload())
	} else if cmd != nil {
		return cmd
	}
	return s.Redemptions.Update(msg)
}

// chosen returns what is marked, or else the redemption under the cursor.
func (s *List) chosen() (chosen []screen.Decidable) {
	records := s.Marked()
	if current := s.Current(); len(records) == 0 && current != nil {
		records = []api.RedemptionRecord{*current}
	}
	for _, r := range records {
		chosen = append(chosen, s.Titles.Decidable(r))
	}
	return chosen
}

func (s *List) Offers() []actions.Offer {
	why, status, view := s.WhyNoRow(), api.StatusPending, "pending only"
	if s.Filter().Status == status {
		status, view = "", "all"
	}
	onlyStatus := s.With(func(f *api.RedemptionFilter) { f.Status = status })
	decide := actions.Around(s.decider.Offers(s.chosen(), why), func(do func() tea.Cmd) tea.Cmd {
		return tea.Batch(do(), s.ReadTitles()) // the question names what is marked elsewhere, too
	})
	return s.Redemptions.Offers(append(decide, []actions.Offer{
		{ID: actions.NextTab, Hint: view, Do: func() tea.Cmd { return s.Find(onlyStatus) }},
		{ID: actions.ForUser, Why: why, Do: func() tea.Cmd {
			return s.shell.Open(screen.ToUser{ID: s.Current().UserID, Redeemed: true})
		}},
		{ID: actions.OpenPerk, Why: why, Do: func() tea.Cmd {
			return s.shell.Open(screen.ToPerk{ID: s.Current().PerkID})
		}},
	}...)...)
}
