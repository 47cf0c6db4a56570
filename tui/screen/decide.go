package screen

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Decidable is a redemption on a screen, with the title of its perk.
type Decidable struct {
	api.RedemptionRecord
	Title string
	// Named returns what the perk is called by now, where its title may still be read; nil for Title.
	Named func() string
}

// perk names the perk.
func (r Decidable) perk() string {
	if r.Named != nil {
		return r.Named()
	}
	return r.Title
}

// Decided tells screens what a redemption is after a decision.
type Decided struct{ Record api.RedemptionRecord }

// Decider approves, rejects and voids redemptions, wherever a screen shows them: one after the other, after one
// question.
type Decider struct {
	shell  *Shell
	sender *Sender[operation.Deciding]
	run    decisions // the last
}

// decisions is one decision on several redemptions, and what became of them.
type decisions struct {
	verb
	reason           string
	left             []string // the ids that are not sent yet
	all              int
	done, lost       int // lost counts those of done whose reply was lost
	taken            int // others decided them first
	refused, unknown int
	failure          error // the first
	stopped          bool  // by the user
}

// verb is a decision in words.
type verb struct {
	to          api.RedemptionStatus
	name, doing string
}

var verbs = map[actions.ID]verb{
	actions.Approve: {api.StatusApproved, "approve", "approving"},
	actions.Reject:  {api.StatusRejected, "reject", "rejecting"},
	actions.Void:    {api.StatusVoided, "void", "voiding"},
}

func NewDecider(shell *Shell) *Decider {
	return &Decider{shell: shell, sender: NewSender[operation.Deciding](shell)}
}

// Unsaved says what would be left undone; "" if nothing is under way.
func (d *Decider) Unsaved() string {
	if !d.sender.Busy() {
		return ""
	}
	return display.Capital(d.run.progress()) + ". The rest would not be sent."
}

// progress says which one is being sent: "approving 12 of 46".
func (r decisions) progress() string {
	text := fmt.Sprintf("%s %d of %d", r.doing, r.all-len(r.left), r.all)
	if r.stopped {
		text += ", then it stops"
	}
	return text
}

// stops tells whether there is something left that the user can stop.
func (d *Decider) stops() bool { return d.sender.Busy() && len(d.run.left) > 0 && !d.run.stopped }

// Progress says how far several decisions are, and how to stop them; "" while none are made.
func (d *Decider) Progress() string {
	switch {
	case !d.sender.Busy() || d.run.all == 1:
		return ""
	case d.stops():
		return display.Capital(d.run.progress()) + ". " + d.shell.Key(actions.Back) + " stops after this one."
	}
	return display.Capital(d.run.progress()) + "."
}

// stop sends no more than what is under way.
func (d *Decider) stop() tea.Cmd {
	d.run.stopped = true
	d.shell.Progress = d.run.progress()
	return nil
}

// Offers returns the three decisions on what is chosen, and while they are sent, to stop. none says why nothing is.
func (d *Decider) Offers(chosen []Decidable, none string) (offers []actions.Offer) {
	for _, id := range []actions.ID{actions.Approve, actions.Reject, actions.Void} {
		why := d.whyNot(id, chosen, none)
		offer := actions.Offer{ID: id, Why: why, Do: func() tea.Cmd { return d.ask(verbs[id], chosen) }}
		if len(chosen) > 1 {
			offer.Hint = fmt.Sprintf("%s %d", verbs[id].name, len(chosen))
		}
		offers = append(offers, offer)
	}
	if d.stops() {
		offers = append(offers, actions.Offer{ID: actions.Back, Hint: "stop", Do: d.stop})
	}
	return offers
}

// whyNot says why none of what is chosen can be decided so; "" if one can.
func (d *Decider) whyNot(id actions.ID, chosen []Decidable, none string) string {
	from := verbs[id].to.DecidedFrom()
	can := func(r Decidable) bool {
		return r.Status == from && d.shell.Account.Client.FourEyes(r.RedemptionRecord, verbs[id].to) == nil
	}
	switch {
	case d.sender.Busy():
		return display.Capital(d.run.progress()) + "."
	case len(chosen) == 0:
		return none
	case slices.ContainsFunc(chosen, can):
		return ""
	}
	for _, r := range chosen {
		if err := d.shell.Account.Client.FourEyes(r.RedemptionRecord, verbs[id].to); err != nil && r.Status == from {
			return err.Error()
		}
	}
	if len(chosen) > 1 {
		return "None of them is " + string(from) + "."
	}
	why := "It is " + StatusWord(chosen[0].Status) + "."
	switch chosen[0].Status {
	case api.StatusPending:
		why += " Reject it: " + d.shell.Key(actions.Reject) + "."
	case api.StatusApproved:
		why += " Void it: " + d.shell.Key(actions.Void) + "."
	}
	return why
}

// ask asks before anything is approved, and for a reason before it is rejected or voided.
func (d *Decider) ask(verb verb, chosen []Decidable) tea.Cmd {
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(r Decidable) bool {
		return r.Status != verb.to.DecidedFrom() || d.shell.Account.Client.FourEyes(r.RedemptionRecord, verb.to) != nil
	})
	run := decisions{verb: verb, all: len(chosen)}
	for _, r := range chosen {
		run.left = append(run.left, r.ID)
	}
	question := func() (title, text string) {
		if run.all == 1 {
			return display.Capital(verb.name) + " " + names(chosen) + "?", "Redemption " + display.Line(chosen[0].ID)
		}
		return fmt.Sprintf("%s %d redemptions?", display.Capital(verb.name), run.all), names(chosen)
	}
	begin := func(reason string) tea.Cmd {
		if d.sender.Busy() {
			return nil
		}
		run.reason = strings.TrimSpace(reason)
		d.run = run
		return d.step()
	}
	if verb.to == api.StatusApproved {
		return d.shell.Post(renamed{question, Confirm{
			Yes: verb.name, Whole: true, Then: func() tea.Cmd { return begin("") },
		}})
	}
	return d.shell.Post(renamed{question, Prompt{
		Yes: verb.name, Changes: true, Then: begin,
		Field: widget.Field{
			Name: "reason", Label: "Reason", Hint: "such as: the customer cancelled", Check: func(text string) string {
				if strings.TrimSpace(text) == "" {
					return "Enter a reason."
				}
				return api.ReasonRule(text, true)
			},
		},
	}})
}

// renamed is a question that names perks by their ids until their titles have been read, which may be after it is
// asked: it opens at once, because the next keys are meant for it.
type renamed struct {
	now func() (title, text string)
	Question
}

func (r renamed) Overlay(shell *Shell) Overlay {
	return &renamedDialog{r.Question.Overlay(shell), r.now}
}

type renamedDialog struct {
	Overlay
	now func() (title, text string)
}

// renamed is the dialog with what the perks are called now.
func (d *renamedDialog) renamed() Overlay {
	switch title, text := d.now(); of := d.Overlay.(type) {
	case *ConfirmDialog:
		of.ask.Title, of.ask.Text = title, text
	case *PromptDialog:
		of.ask.Title, of.ask.Text = title, text
	}
	return d.Overlay
}

func (d *renamedDialog) Title() string          { return d.renamed().Title() }
func (d *renamedDialog) AccessibleText() string { return d.renamed().AccessibleText() }

func (d *renamedDialog) View(theme *theme.Theme, width, height int) string {
	return d.renamed().View(theme, width, height)
}

// names lists redemptions by their perks: "Tea for two for ann, bob".
func names(chosen []Decidable) string {
	var perks []string
	users := map[string][]string{}
	for _, r := range chosen {
		perk := r.perk()
		if users[perk] == nil {
			perks = append(perks, perk)
		}
		users[perk] = append(users[perk], display.Line(r.UserID))
	}
	lines := make([]string, len(perks))
	for i, perk := range perks {
		lines[i] = display.Line(perk) + " for " + strings.Join(users[perk], ", ")
	}
	return strings.Join(lines, "\n")
}

// step sends the next decision.
func (d *Decider) step() tea.Cmd {
	deciding := operation.Deciding{ID: d.run.left[0], Status: d.run.to, Reason: d.run.reason}
	d.run.left = d.run.left[1:]
	if d.run.all > 1 {
		d.shell.Progress = d.run.progress()
	}
	return d.sender.Send(func(ctx context.Context, c *client.Client) (operation.Deciding, error) {
		deciding := deciding.Send(ctx, c)
		if deciding.Record().ID != "" {
			return deciding, nil // the service can be reached
		}
		return deciding, deciding.Err
	})
}

// Handle takes the reply to a decision, and sends the next one. ended says that it was the last. A refusal stops none
// of the others; the user, a lost reply, even if the decision was confirmed, and a refusal that would meet all of them
// stop the rest.
func (d *Decider) Handle(msg tea.Msg) (cmd tea.Cmd, ended bool) {
	sent, mine := d.sender.Handle(msg)
	if !mine {
		return nil, false
	}
	run, result := &d.run, sent.Value
	failure := result.Err
	if result.ID == "" {
		failure = sent.Err // there was no client to send it with
	}
	stops := result.Earlier || run.stopped
	switch {
	case failure == nil:
		run.done++
		if result.Earlier {
			run.lost++
		}
	case client.OutcomeUnknown(failure):
		run.unknown++
		stops = true
	case MeetsAll(failure):
		run.left, stops = append(run.left, result.ID), true
	case api.CodeOf(failure) == api.CodeConflict:
		run.taken++
	default:
		run.refused++
	}
	if run.failure == nil {
		run.failure = failure
	}
	if result.Record().ID != "" && !client.OutcomeUnknown(failure) {
		cmd = Send(Decided{result.Record()})
	}
	if len(run.left) > 0 && !stops {
		return tea.Batch(cmd, d.step()), false
	}
	d.shell.Progress = ""
	return tea.Batch(cmd, d.tell()), true
}

// tell says what became of a decision.
func (d *Decider) tell() tea.Cmd {
	run, confirmed := d.run, ""
	switch {
	case run.lost > 0 && run.lost == run.done:
		confirmed = " (reply lost, confirmed)"
	case run.lost > 0:
		confirmed = fmt.Sprintf(" (%d reply lost, confirmed)", run.lost)
	}
	if run.done == run.all {
		return Tell(Done, "%s %s%s.", display.Plural(run.done, "redemption", "redemptions"), run.to, confirmed)
	}
	var parts []string
	for _, part := range []struct {
		n    int
		text string
	}{
		{run.done, string(run.to) + confirmed}, {run.taken, "already decided"}, {run.refused, "not " + string(run.to)},
		{run.unknown, "unknown"}, {len(run.left), "not sent"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprint(part.n, " ", part.text))
		}
	}
	text := strings.Join(parts, ", ")
	if run.failure == nil {
		return Tell(Warning, "%s.", text)
	}
	return Tell(Failure, "%s", text+". "+Sentence("", run.failure))
}
