// Package redemptions is the screen of all redemptions that the client may see, where a lead approves, rejects and voids them.
package redemptions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
	shell    *screen.Shell
	decider  *screen.Sender[decided]
	events   *screen.Loader[api.EventPage]
	position string // of the last event that was seen
	isQuiet  bool   // the service tells no events
}

func NewList(shell *screen.Shell) *List {
	s := &List{shell: shell, decider: screen.NewSender[decided](shell), events: screen.NewBackgroundLoader[api.EventPage](shell)}
	s.List = list.New(shell, list.Kind[api.RedemptionFilter, api.RedemptionRecord]{
		One: "redemption", Many: "redemptions", Fields: api.RedemptionFilterFields,
		Orders: func(api.RedemptionFilter) []string { return api.RedemptionRecordSortFields() },
		Order:  func(api.RedemptionFilter) api.SortKey { return screen.FirstOrder("redeemed_at") },
		Fetch: func(ctx context.Context, c *client.Client, f api.RedemptionFilter, options client.ListOptions) (api.Page[api.RedemptionRecord], error) {
			return c.Redemptions(ctx, client.RedemptionListOptions{ListOptions: options, RedemptionFilter: f})
		},
		ID:    func(r *api.RedemptionRecord) string { return r.ID },
		Title: func(r *api.RedemptionRecord) string { return display.Line(r.UserID + ", " + r.PerkID) },
		Muted: func(r *api.RedemptionRecord) bool {
			return r.Status == api.StatusRejected || r.Status == api.StatusVoided
		},
		Columns: screen.Columns[*api.RedemptionRecord]{
			{Column: widget.Column{Name: "User", Min: 12, Share: 2}, Sort: "user", Cell: func(r *api.RedemptionRecord) string { return display.Line(r.UserID) }},
			{Column: widget.Column{Name: "Perk", Min: 12, Share: 3}, Sort: "perk", Cell: func(r *api.RedemptionRecord) string { return display.Line(r.PerkID) }},
			{Column: widget.Column{Name: "Status", Min: 9}, Cell: func(r *api.RedemptionRecord) string { return display.Line(string(r.Status)) }, Tone: tone},
			{Column: widget.Column{Name: "When", Min: 12, Drop: 1}, Sort: "redeemed_at", Cell: func(r *api.RedemptionRecord) string { return display.Age(shell.Now().Sub(r.RedeemedAt)) }},
			{Column: widget.Column{Name: "Reason", Min: 12, Share: 2, Drop: 2}, Cell: func(r *api.RedemptionRecord) string { return screen.Optional(r.Reason) }},
			{Column: widget.Column{Name: "Client", Min: 10, Share: 1, Drop: 3}, Cell: func(r *api.RedemptionRecord) string { return display.Line(r.ClientID) }},
			{Column: widget.Column{Name: "Id", Min: 12, Share: 1, Drop: 4}, Cell: func(r *api.RedemptionRecord) string { return display.Line(r.ID) }},
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

// tone is how a status is meant.
func tone(r *api.RedemptionRecord) theme.Tone {
	return map[api.RedemptionStatus]theme.Tone{api.StatusPending: theme.Warning, api.StatusApproved: theme.Good}[r.Status]
}

func (s *List) Title() string { return "Redemptions" }

func (s *List) Init() tea.Cmd { return tea.Batch(s.List.Init(), s.listen()) }

func (s *List) Close() {
	s.List.Close()
	s.events.Cancel()
}

func (s *List) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Revealed:
		return s.Reload()
	case listenAgain:
		if msg.s == s {
			return s.listen()
		}
		return nil
	}
	if sent, mine := s.decider.Handle(msg); mine {
		return s.tell(sent)
	}
	events, changed := s.events.Handle(msg)
	if changed {
		return s.heard()
	}
	return tea.Batch(events, s.List.Update(msg))
}

// eventPause is how long to wait before asking for events again. The list itself is read only if there are some.
const eventPause = 3 * time.Second

type listenAgain struct{ s *List }

// listen asks for the events since the last ones, or for the position of now.
func (s *List) listen() tea.Cmd {
	after := s.position
	return s.events.Load(func(ctx context.Context, c *client.Client) (api.EventPage, error) {
		return c.Events(ctx, after, api.MaxPerPage, 0)
	})
}

func (s *List) heard() tea.Cmd {
	var refused *client.Error
	if errors.As(s.events.Err, &refused) && refused.Status/100 == 4 && refused.Status != 429 {
		s.isQuiet = true // the service has none for this client
		return nil
	}
	cmd := s.shell.After(eventPause, listenAgain{s})
	if s.events.Err != nil {
		return cmd
	}
	s.position = s.events.Value.Next
	for _, event := range s.events.Value.Data {
		if event.Redemption != nil && s.Form() == nil {
			return tea.Batch(cmd, s.Reload())
		}
	}
	return cmd
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
	return s.List.Do(id)
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
			names = append(names, display.Line(r.PerkID+" for "+r.UserID))
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
	left := fmt.Sprintf("%d of %d were not: ", len(result.ids)-len(result.done), len(result.ids))
	return tea.Batch(screen.Tell(screen.Failure, "%s", strings.TrimPrefix(text, "0 redemptions "+string(result.to)+".")+" "+screen.Sentence(left, result.failure)), s.Reload())
}
