// Package redemptions is the screen of all redemptions that the client may see, where a lead approves, rejects and voids them.
package redemptions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// List is the screen.
type List struct {
	*list.List[api.RedemptionFilter, api.RedemptionRecord]
	shell   *screen.Shell
	titles  list.Titles
	decider *screen.Sender[decided]
}

func NewList(shell *screen.Shell) *List {
	s := &List{shell: shell, titles: list.NewTitles(shell), decider: screen.NewSender[decided](shell)}
	s.List = list.New(shell, list.Kind[api.RedemptionFilter, api.RedemptionRecord]{
		One: "redemption", Many: "redemptions", Fields: api.RedemptionFilterFields,
		Orders: func(api.RedemptionFilter) []string { return api.RedemptionRecordSortFields() },
		Order:  func(api.RedemptionFilter) api.SortKey { return screen.FirstOrder("redeemed_at") },
		Fetch: func(ctx context.Context, c *client.Client, f api.RedemptionFilter, options client.ListOptions) (api.Page[api.RedemptionRecord], error) {
			return c.Redemptions(ctx, client.RedemptionListOptions{ListOptions: options, RedemptionFilter: f})
		},
		Changes: func(e api.Event) bool { return e.Redemption != nil },
		ID:      func(r *api.RedemptionRecord) string { return r.ID },
		Title:   func(r *api.RedemptionRecord) string { return s.title(r) + " for " + display.Line(r.UserID) },
		Muted: func(r *api.RedemptionRecord) bool {
			return r.Status == api.StatusRejected || r.Status == api.StatusVoided
		},
		Columns: screen.Columns[*api.RedemptionRecord]{
			{Column: widget.Column{Name: "User", Min: 12, Share: 2}, Sort: "user", Cell: func(r *api.RedemptionRecord) string { return display.Line(r.UserID) }},
			{Column: widget.Column{Name: "Title", Min: 18, Share: 6}, Cell: s.title},
			{Column: widget.Column{Name: "Status", Min: 9}, Cell: func(r *api.RedemptionRecord) string { return display.Line(string(r.Status)) }, Tone: tone},
			{Column: widget.Column{Name: "When", Min: 12, Drop: 1}, Sort: "redeemed_at", Cell: func(r *api.RedemptionRecord) string { return display.Age(shell.Now().Sub(r.RedeemedAt)) }},
			{Column: widget.Column{Name: "Reason", Min: 12, Share: 2, Drop: 2}, Cell: func(r *api.RedemptionRecord) string { return screen.Optional(r.Reason) }},
			{Column: widget.Column{Name: "Perk", Min: 10, Share: 2, Drop: 3}, Sort: "perk", Cell: func(r *api.RedemptionRecord) string { return display.Line(r.PerkID) }},
			{Column: widget.Column{Name: "Client", Min: 10, Share: 1, Drop: 4}, Cell: func(r *api.RedemptionRecord) string { return display.Line(r.ClientID) }},
			{Column: widget.Column{Name: "Id", Min: 12, Share: 1, Drop: 5}, Cell: func(r *api.RedemptionRecord) string { return display.Line(r.ID) }},
		},
		Facts: func(r *api.RedemptionRecord) []widget.Pair {
			facts := []widget.Pair{
				{Label: "Status", Value: string(r.Status)},
				{Label: "User", Value: display.Line(r.UserID)},
				{Label: "Perk", Value: display.Line(r.PerkID)},
				{Label: "Redeemed", Value: display.Instant(r.RedeemedAt, shell.Now())},
			}
			if r.DecidedAt != nil {
				facts = append(facts, widget.Pair{Label: "Decided", Value: display.Instant(*r.DecidedAt, shell.Now())})
			}
			return append(facts, widget.Pair{Label: "Reason", Value: screen.Optional(r.Reason)}, widget.Pair{Label: "Client", Value: display.Line(r.ClientID)},
				widget.Pair{Label: "Metadata", Value: display.Text(string(r.Metadata))}, widget.Pair{Label: "Id", Value: display.Line(r.ID)})
		},
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

// tone is how a status is meant.
func tone(r *api.RedemptionRecord) theme.Tone {
	return map[api.RedemptionStatus]theme.Tone{api.StatusPending: theme.Warning, api.StatusApproved: theme.Good}[r.Status]
}

func (s *List) Title() string { return "Redemptions" }

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
	if sent, mine := s.decider.Handle(msg); mine {
		return s.tell(sent)
	}
	if s.titles.Take(msg) {
		s.Redraw()
	}
	return tea.Batch(s.List.Update(msg), s.readTitles())
}

// chosen returns what is marked, or else the redemption under the cursor.
func (s *List) chosen() []api.RedemptionRecord {
	if marked := s.Marked(); len(marked) > 0 {
		return marked
	}
	if current := s.Current(); current != nil {
		return []api.RedemptionRecord{*current}
	}
	return nil
}

// whyNot says why none of what is chosen can be decided so; "" if one can.
func (s *List) whyNot(from api.RedemptionStatus) string {
	chosen := s.chosen()
	for _, r := range chosen {
		if r.Status == from {
			return ""
		}
	}
	switch {
	case len(chosen) == 0:
		return s.WhyNoRow()
	case len(chosen) == 1:
		return "It is " + display.Line(string(chosen[0].Status)) + "."
	}
	return "None of them is " + string(from) + "."
}

func (s *List) Offers() []actions.Offer {
	why := s.WhyNoRow()
	hint := func(offer actions.Offer, verb string) actions.Offer {
		if marked := len(s.Marked()); marked > 0 {
			return offer.WithHint(fmt.Sprintf("%s %d", verb, marked))
		}
		return offer
	}
	view := "pending only"
	if s.Filter().Status == api.StatusPending {
		view = "all"
	}
	return s.List.Offers(
		hint(actions.EnabledUnless(actions.Approve, s.whyNot(api.StatusPending)), "approve"), hint(actions.EnabledUnless(actions.Reject, s.whyNot(api.StatusPending)), "reject"),
		hint(actions.EnabledUnless(actions.Void, s.whyNot(api.StatusApproved)), "void"), actions.EnabledUnless(actions.NextTab, "").WithHint(view),
		actions.EnabledUnless(actions.ForUser, why), actions.EnabledUnless(actions.OpenPerk, why),
	)
}

func (s *List) Do(id actions.ID) tea.Cmd {
	current := s.Current()
	switch id {
	case actions.Approve:
		return s.decide("approve", api.StatusPending, api.StatusApproved)
	case actions.Reject:
		return s.decide("reject", api.StatusPending, api.StatusRejected)
	case actions.Void:
		return s.decide("void", api.StatusApproved, api.StatusVoided)
	case actions.NextTab:
		return s.Find(s.With(func(f *api.RedemptionFilter) {
			if f.Status != api.StatusPending {
				f.Status = api.StatusPending
			} else {
				f.Status = ""
			}
		}))
	case actions.Open, actions.ForUser:
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

// decision is what to do with some redemptions.
type decision struct {
	verb   string
	to     api.RedemptionStatus
	reason string
	ids    []string
}

// decided is what became of a decision: the first failure counts for all.
type decided struct {
	decision
	done    []string
	failure error
}

// decide asks before anything is approved, and for a reason before it is rejected or voided.
func (s *List) decide(verb string, from, to api.RedemptionStatus) tea.Cmd {
	d := decision{verb: verb, to: to}
	var names []string
	for _, r := range s.chosen() {
		if r.Status == from {
			d.ids = append(d.ids, r.ID)
			names = append(names, s.title(&r)+" for "+display.Line(r.UserID))
		}
	}
	if len(d.ids) == 0 || s.decider.Busy() {
		return nil
	}
	title := strings.ToUpper(verb[:1]) + verb[1:] + " " + display.Plural(len(d.ids), "redemption", "redemptions") + "?"
	if to == api.StatusApproved {
		return s.shell.Post(screen.Confirm{Title: title, Text: strings.Join(names, "\n"), Yes: verb, Then: func() tea.Cmd { return s.send(d) }})
	}
	return s.shell.Post(screen.Prompt{
		Title: title,
		Field: widget.Field{Name: "reason", Label: "Reason", Hint: "such as: the customer cancelled", Check: func(text string) string {
			if strings.TrimSpace(text) == "" {
				return "is required"
			}
			return ""
		}},
		Then: func(reason string) tea.Cmd {
			d.reason = strings.TrimSpace(reason)
			return s.send(d)
		},
	})
}

// send decides one after the other. It ends with the first that the service fails to answer; one that it refuses does not stop the others.
func (s *List) send(d decision) tea.Cmd {
	return s.decider.Send(func(ctx context.Context, c *client.Client) (decided, error) {
		result := decided{decision: d}
		for _, id := range d.ids {
			_, _, err := c.Decide(ctx, id, d.to, d.reason, "")
			var refused *client.Error
			switch {
			case err == nil:
				result.done = append(result.done, id)
				continue
			case result.failure == nil:
				result.failure = err
			}
			if !errors.As(err, &refused) {
				break
			}
		}
		return result, nil
	})
}

// tell says what became of a decision, and reads the list again. What was not decided stays marked.
func (s *List) tell(sent screen.Sent[decided]) tea.Cmd {
	result := sent.Value
	for _, id := range result.done {
		s.Unmark(id)
	}
	text := fmt.Sprintf("%s %s.", display.Plural(len(result.done), "redemption", "redemptions"), result.to)
	if result.failure == nil {
		return tea.Batch(screen.Tell(screen.Done, "%s", text), s.Reload())
	}
	left := fmt.Sprintf("%d of %d not %s: ", len(result.ids)-len(result.done), len(result.ids), result.to)
	if len(result.done) == 0 {
		text = ""
	}
	return tea.Batch(screen.Tell(screen.Failure, "%s", strings.TrimSpace(text+" "+screen.Sentence(left, result.failure))), s.Reload())
}
