// Package redeem is the screen that redeems perks for one user, and shows the outcomes. Nothing counts as redeemed
// before the service has said so. Nothing is sent that no y has confirmed. What may have been redeemed is never sent
// under another key without asking.
package redeem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell   *screen.Shell
	profile screen.Profile // the service that the perks are from, and that everything is sent to
	perks   []api.Perk
	asks    bool // at once
	fields  fields

	editing   bool            // the form is open, unless something is being sent or is unresolved
	asking    bool            // the form was asked about, and not changed since
	questions int             // the number of the last question: only that one can be answered
	sub       *submission     // what was confirmed last; nil if nothing was
	abandoned []*item         // the outcome is unknown, and a person has stopped checking
	seen      map[string]bool // ids of redemptions that belong to a known request

	decider   *screen.Decider
	sender    *screen.Sender[operation.Redeeming]
	current   *item     // the item of the last attempt
	checking  bool      // that attempt only checks what became of an earlier one
	sentAt    time.Time // when it began
	resumedAt time.Time // when something was last sent again, without a question
	attempts  int       // messages about earlier ones are out of date
	checks    int       // automatic checks of the unresolved item
	checkAt   time.Time // when the next is due
	queue     []*item   // sent next, in this order

	honoursKeys bool // the service has shown that it honours idempotency keys

	eligibility *screen.Loader[eligibility]
	unanswered  bool     // the service or the scope does not let this client ask for eligibility
	recent      []string // ids of users
	users       *screen.Loader[users]
	choices     choices
	picking     bool // the recent users are chosen from once they are read

	width, height int
	cursor        int           // the result that actions are about
	table         *widget.Table // of several results, as drawn last
	tableTop      int           // the line on which it begins
	formTop       int           // that of the form
	scroll, aside widget.Scroll // of the results, and of what is below the form
}

func New(shell *screen.Shell, route screen.ToRedeem) *Screen {
	s := &Screen{
		shell: shell, profile: shell.Account.Profile, editing: true, asks: route.Asks, seen: map[string]bool{},
		decider:     screen.NewDecider(shell),
		sender:      screen.NewSender[operation.Redeeming](shell),
		eligibility: screen.NewLoader[eligibility](shell),
		users:       screen.NewBackgroundLoader[users](shell),
	}
	s.fields, s.choices = newFields(shell.Theme, route.UserID, s.restOf), choices{at: -1}
	for _, perk := range route.Perks {
		if !slices.ContainsFunc(s.perks, func(p api.Perk) bool { return p.ID == perk.ID }) {
			s.perks = append(s.perks, perk)
		}
	}
	if route.UserID != "" {
		s.fields.FocusOnName(firstRow)
	}
	return s
}

// Watches tells whether an event changes who can redeem the perks.
func (s *Screen) Watches(event api.Event) bool {
	return slices.ContainsFunc(s.perks, func(perk api.Perk) bool {
		return event.Subject == "perks" || event.Subject == "perk/"+perk.ID ||
			event.Redemption != nil && event.Redemption.PerkID == perk.ID
	})
}

func (s *Screen) WatchesWhileTyping() bool { return true }

func (s *Screen) Title() string {
	if s.Form() == nil {
		return "Results for " + s.sub.request.UserID
	}
	if len(s.perks) == 1 {
		return "Redeem " + s.perks[0].Title
	}
	return "Redeem " + display.Plural(len(s.perks), "perk", "perks")
}

// Init loads no perks: they came with the route.
func (s *Screen) Init() tea.Cmd {
	var question tea.Cmd
	if s.asks {
		question = s.submit()
	}
	return tea.Batch(s.shell.Recent(s, s.profile, "user"), s.checkEligibility(), question)
}

func (s *Screen) Close() {
	s.eligibility.Cancel()
	s.users.Cancel()
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	if sent, mine := s.sender.Handle(msg); mine {
		return s.handleReply(sent)
	}
	if cmd, ended := s.decider.Handle(msg); ended || cmd != nil {
		return cmd
	}
	isFirst := !s.eligibility.Has
	if next, changed := s.eligibility.Handle(msg); next != nil || changed {
		if s.unanswered = s.unanswered || s.eligibility.Value.unanswered; isFirst && changed && !s.unanswered {
			next = tea.Batch(next, s.findUsers())
		}
		switch {
		case !changed || len(s.answers()) == 0:
		case !s.isUnknown():
			s.fields.Refuse(api.FieldErrors{userField: nil}) // somebody has imported the user
		case s.asking:
			return tea.Batch(next, s.withdraw())
		}
		return next
	}
	if next, changed := s.users.Handle(msg); next != nil || changed {
		s.unanswered = s.unanswered || s.users.Value.unanswered
		return next
	}
	switch msg := msg.(type) {
	case screen.Edited:
		s.asking = false
		s.fields.keepOneBlankRow()
		if msg.Field == userField {
			return s.userTyped()
		}
		return nil
	case screen.Reconnected:
		return s.reconnected()
	case dueCheck:
		return s.autoCheck(msg)
	case second:
		return s.countDown(msg)
	case screen.Mouse:
		s.mouse(msg)
		return nil
	case screen.Recent:
		return s.handleRecent(msg)
	case screen.Changed:
		return tea.Batch(s.checkEligibility(), s.findUsers())
	case screen.Decided:
		s.handleDecision(msg.Record)
		return nil
	}
	return s.handleExisting(msg)
}

func (s *Screen) Offers() []actions.Offer {
	submit := actions.Offer{ID: actions.Submit, Why: s.whyNot(), Hint: "redeem", Do: s.submit}
	user := actions.Offer{ID: actions.ForUser, Do: func() tea.Cmd {
		return s.shell.Open(screen.ToUser{ID: s.sub.request.UserID, Redeemed: true})
	}}
	perk := actions.Offer{ID: actions.OpenPerk, Do: s.openPerk}
	switch {
	case s.Form() != nil:
		return s.formOffers(submit)
	case s.sub.unresolved() != nil:
		why := s.whyNotCheck()
		busy := actions.WhyIf(s.sender.Busy(), why)
		return append([]actions.Offer{
			{ID: actions.CheckAgain, Why: why, Do: s.checkNow},
			{ID: actions.Retry, Why: why, Do: s.retry},
			{ID: actions.StopChecking, Why: busy, Do: s.giveUp},
			user, perk,
		}, widget.Moves(s.move)...)
	case s.sender.Busy():
		submit.Hint = ""
		return append([]actions.Offer{submit}, widget.Moves(s.move)...)
	}
	i, nothing := s.chosen(), "Nothing failed."
	none := actions.WhyIf(i == nil || s.outcome(i).id == "", "There is no redemption here.")
	noCopy := actions.WhyIf(s.shell.Now().Sub(s.resumedAt) < answerTime, "It was sent without a question.")
	if len(s.failed()) > 0 {
		nothing = s.whyNot()
	}
	return slices.Concat([]actions.Offer{
		{ID: actions.Retry, Why: nothing, Do: s.retry},
		user,
		{ID: actions.CopyID, Why: cmp.Or(noCopy, none), Do: func() tea.Cmd {
			return s.shell.Copy(s.outcome(i).id, ", of "+quoted(i.perk))
		}},
	}, s.decider.Offers(s.decidable(), none), []actions.Offer{
		{ID: actions.Redeem, Do: s.reopenForm}, {ID: actions.Open, Do: s.openPerk}, perk,
	}, widget.Moves(s.move))
}

// formOffers returns what can be done in the form.
func (s *Screen) formOffers(submit actions.Offer) (offers []actions.Offer) {
	if s.fields.Completion() != "" {
		offers = []actions.Offer{{ID: actions.Complete, Do: func() tea.Cmd {
			s.fields.Set(userField, s.fields.Value(userField)+s.fields.Completion())
			return s.userTyped()
		}}}
	}
	if len(s.toChoose()) > 0 {
		offers = append(offers,
			actions.Offer{ID: actions.NextChoice, Do: func() tea.Cmd { return s.choose(1) }},
			actions.Offer{ID: actions.PreviousChoice, Do: func() tea.Cmd { return s.choose(-1) }})
	}
	return append(offers, []actions.Offer{
		submit,
		{ID: actions.Cancel, Do: s.cancel},
		{ID: actions.Recent, Do: func() tea.Cmd {
			s.picking = true
			return s.shell.Recent(s, s.profile, "user")
		}},
		{ID: actions.NextField}, {ID: actions.PreviousField},
		{ID: actions.ScrollDown, Do: func() tea.Cmd { return s.aside.Scrolled(actions.PageDown) }},
		{ID: actions.ScrollUp, Do: func() tea.Cmd { return s.aside.Scrolled(actions.PageUp) }},
	}...)
}

// cancel closes the screen, and asks first if that would lose something.
func (s *Screen) cancel() tea.Cmd {
	question := screen.Confirm{Title: "Leave?", Text: s.Unsaved(), Yes: "leave", Local: true, Then: s.shell.Close}
	switch question.Text {
	case "":
		return s.shell.Close()
	case typedOnly:
		question.Title, question.Yes, question.No = "Discard this redemption?", "discard", "keep editing"
	}
	return s.shell.Post(question)
}

func (s *Screen) openPerk() tea.Cmd {
	if i := s.chosen(); i != nil {
		return s.shell.Open(screen.ToPerk{ID: i.perk.ID, Known: &i.perk})
	}
	return nil
}

// Form returns the form unless it is locked: while something is sent, while an outcome is unknown, and once all
// outcomes are shown.
func (s *Screen) Form() *widget.Form {
	if !s.editing || s.sender.Busy() || s.sub.unresolved() != nil {
		return nil
	}
	return s.fields.Form
}

// whyNot says why nothing can be sent now; "" if something can.
func (s *Screen) whyNot() string {
	switch {
	case s.sender.Busy() && s.checking:
		return "The last outcome is being checked."
	case s.sender.Busy():
		return "It is being sent."
	case s.sub.unresolved() != nil:
		return "First check whether " + quoted(s.sub.unresolved().perk) + " was redeemed."
	case len(s.perks) == 0:
		return "No perk was chosen: go back, and choose one."
	}
	return cmp.Or(s.whyOtherAccount(), s.shell.WhyNoChange(actions.Offer{ID: actions.Redeem}))
}

// whyNotCheck says why an outcome cannot be checked now; "" if it can.
func (s *Screen) whyNotCheck() string {
	return cmp.Or(actions.WhyIf(s.sender.Busy(), "It is being checked already."), s.whyOtherAccount())
}

// whyOtherAccount says that another account is logged in than the one that the perks are from; "" if it is the same.
// There the same ids mean other things, and idempotency keys mean nothing.
func (s *Screen) whyOtherAccount() string {
	if s.shell.Account.Profile.IsSame(s.profile) {
		return ""
	}
	return "These perks are from " + destination(s.profile) + ". Log in there."
}

// reopenForm opens the form again: an empty one once everything is redeemed, otherwise as it was.
func (s *Screen) reopenForm() tea.Cmd {
	if s.whyNotCheck() != "" {
		return nil
	}
	if len(s.sub.open()) == 0 {
		s.sub = nil
		s.fields = newFields(s.shell.Theme, "", s.restOf)
	}
	s.editing = true
	return s.userTyped()
}

func (s *Screen) Unsaved() string {
	if text := s.decider.Unsaved(); text != "" {
		return text
	}
	if i := s.current; s.sender.Busy() {
		return fmt.Sprintf("%s is being redeemed for %s. You would not see the outcome.", quoted(i.perk),
			i.Request.UserID)
	}
	if i := s.sub.unresolved(); i != nil {
		return fmt.Sprintf("It is unknown whether %s was redeemed for %s. You could not retry safely.", quoted(i.perk),
			i.Request.UserID)
	}
	if waiting := s.sub.waiting(); len(waiting) > 0 {
		verb := "are"
		if len(waiting) == 1 {
			verb = "is"
		}
		return fmt.Sprintf("%s %s not redeemed for %s yet.", quotedList(waiting), verb, s.sub.request.UserID)
	}
	if s.Form() != nil && len(s.fields.Changed()) > 0 && !s.sub.is(s.fields.request()) {
		return typedOnly
	}
	return ""
}

// typedOnly is all that is lost where nothing was sent.
const typedOnly = "What was typed was not sent."

// items is everything that the last submission asked for.
func (s *Screen) items() []*item {
	if s.sub == nil {
		return nil
	}
	return s.sub.items
}

// The fields have the service's names, so that its errors appear beside them. Further rows of metadata have a number.
const (
	userField = "user_id"
	firstRow  = "metadata"
)

// fields is the form: the user, and the metadata in rows.
type fields struct{ *widget.Form }

func newFields(theme *theme.Theme, userID string, complete func(string) string) fields {
	f := fields{widget.NewForm(theme, widget.Field{
		Name: userField, Label: "User", Value: userID, Hint: "the id of the user", Complete: complete,
		Check: func(text string) string {
			if strings.TrimSpace(text) == "" {
				return "Enter a user id."
			}
			return api.AnyIDRule(strings.TrimSpace(text))
		},
	})}
	f.addRow()
	return f
}

func (f fields) addRow() {
	at, number := len(f.rowNames()), ""
	if at > 0 {
		number = strconv.Itoa(at + 1)
	}
	f.Add(widget.Field{
		Name: firstRow + number, Label: strings.TrimSpace("Metadata " + number), Hint: "key=value, or nothing",
		Check: func(string) string { return rowProblem(f.rows(), at) },
	})
}

func (f fields) rowNames() []string { return f.Names()[1:] }

func (f fields) rows() (rows []string) {
	for _, name := range f.rowNames() {
		rows = append(rows, f.Value(name))
	}
	return rows
}

// keepOneBlankRow leaves exactly one blank row at the end, and removes none that is being typed in.
func (f fields) keepOneBlankRow() {
	for {
		names := f.rowNames()
		last := len(names) - 1
		if last < 1 || f.Focus() == names[last] || !isBlank(f.Value(names[last])) || !isBlank(f.Value(names[last-1])) {
			break
		}
		f.Remove(names[last])
	}
	names := f.rowNames()
	if !isBlank(f.Value(names[len(names)-1])) {
		f.addRow()
	}
}

func (f fields) request() api.RedeemRequest {
	return api.RedeemRequest{UserID: strings.TrimSpace(f.Value(userField)), Metadata: metadata(f.rows())}
}

// breaksNoRule shows what is wrong, goes to the first such field, and reports whether there is none. An error that the
// service gave earlier does not count: the service may accept the value now.
func (f fields) breaksNoRule() bool {
	f.Check()
	for _, name := range f.Names() {
		if f.Field(name).Check(f.Value(name)) != "" {
			f.FocusOnName(name)
			return false
		}
	}
	return true
}

func isBlank(row string) bool { return strings.TrimSpace(row) == "" }

// rowProblem says what is wrong with a row, as the end of a sentence whose subject is the row; "" if nothing is.
func rowProblem(rows []string, at int) string {
	rows = slices.Clone(rows[:at+1])
	for {
		_, wrong, err := api.ReadMetadata(rows)
		switch {
		case err == nil:
			return ""
		case wrong == at:
			return err.Error()
		}
		rows[wrong] = "" // which has its own problem
	}
}

// metadata returns the rows as compact JSON; nil if they are blank, or one cannot be read.
func metadata(rows []string) json.RawMessage {
	metadata, _, _ := api.ReadMetadata(rows)
	return metadata
}
