// Package redeem is redeeming perks for one user, and what came of it. Nothing counts as redeemed before the service has
// said so, nothing is sent without a y, and what may have been redeemed is never sent again under another key unasked.
//
// It knows no other screen.
package redeem

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell  *screen.Shell
	home   screen.Profile // where the perks were chosen, and to where everything is sent
	perks  []api.Perk
	fields fields

	editing bool            // the form is open, unless something is under way or in doubt
	asked   int             // the question that may still be answered
	sub     *submission     // what was agreed to last; nil if nothing was
	doubts  []*item         // what was given up although it may have been redeemed
	seen    map[string]bool // redemptions whose origin is known, by id

	sender   *screen.Sender[client.Redeeming]
	current  *item   // what the sender is at
	looking  bool    // it only reads, or confirms what it has read
	attempts int     // begun so far; messages about earlier ones are out of date
	checks   int     // automatic ones, of the item in doubt
	queue    []*item // what comes after

	keysCount bool // the service has shown that it heeds idempotency keys

	width, height int
	scroll        widget.Scroll
	cursor        int   // the result that actions are about
	starts        []int // the lines on which the results were drawn last
	formTop       int   // the line on which the form was drawn last
}

// New makes the screen.
func New(shell *screen.Shell, route screen.ToRedeem) *Screen {
	s := &Screen{
		shell: shell, home: shell.Account.Profile, editing: true, seen: map[string]bool{},
		sender: screen.NewSender[client.Redeeming](shell), fields: newFields(shell.Theme, route.UserID),
	}
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

// Title names what is redeemed.
func (s *Screen) Title() string {
	if len(s.perks) == 1 {
		return "Redeem " + s.perks[0].Title
	}
	return "Redeem " + widget.Plural(int64(len(s.perks)), "perk", "perks")
}

// Init loads nothing: the perks came with the route.
func (s *Screen) Init() tea.Cmd { return nil }

// Update takes a message.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	if sent, mine := s.sender.Take(msg); mine {
		return s.took(sent)
	}
	switch msg := msg.(type) {
	case screen.Edited:
		s.fields.keepOneBlankRow()
		return nil
	case screen.Reconnected:
		return s.readAgain()
	case second:
		return s.tick(msg)
	case check:
		return s.check(msg)
	case tea.MouseMsg:
		s.point(msg)
		return nil
	case recentUsers:
		return s.pickUser(msg)
	}
	return s.takeHolders(msg)
}

// Do carries out an action.
func (s *Screen) Do(id actions.ID) tea.Cmd {
	switch id {
	case actions.Submit:
		return s.submit()
	case actions.Cancel:
		return s.leave()
	case actions.Recent:
		return s.recall()
	case actions.Settle:
		return s.settle()
	case actions.Retry:
		return s.retry()
	case actions.GiveUp:
		return s.giveUp()
	case actions.ForUser:
		return s.shell.Open(screen.ToUser{ID: s.sub.request.UserID, Redeemed: true})
	case actions.OpenPerk:
		return s.openPerk()
	case actions.CopyID:
		return s.copyID()
	case actions.Redeem:
		s.further()
		return nil
	}
	s.move(id)
	return nil
}

// Offers is what can be done in the present state.
func (s *Screen) Offers() []actions.Offer {
	switch {
	case s.Form() != nil:
		return []actions.Offer{
			actions.If(actions.Submit, s.whyNot()).As("redeem"), actions.If(actions.Cancel, ""), actions.If(actions.Recent, ""),
			actions.If(actions.NextField, ""), actions.If(actions.PreviousField, ""),
		}
	case s.sub.inDoubt() != nil:
		why, busy := s.whyNotSettle(), ""
		if s.sender.Busy() {
			busy = why
		}
		offers := []actions.Offer{actions.If(actions.Settle, why), actions.If(actions.Retry, why), actions.If(actions.GiveUp, busy)}
		return slices.Concat(offers, actions.Able(actions.ForUser, actions.OpenPerk), widget.Moves())
	case s.sender.Busy():
		return append([]actions.Offer{actions.If(actions.Submit, s.whyNot())}, widget.Moves()...)
	}
	none := ""
	if i := s.chosen(); i == nil || i.Redemption.ID == "" {
		none = "There is no redemption."
	}
	offers := []actions.Offer{actions.If(actions.ForUser, ""), actions.If(actions.CopyID, none), actions.If(actions.Redeem, ""), actions.If(actions.OpenPerk, "")}
	return append(offers, widget.Moves()...)
}

// Form returns the form unless it is locked: while something is under way, as long as an outcome is unknown, and when
// everything is told.
func (s *Screen) Form() *widget.Form {
	if !s.editing || s.sender.Busy() || s.sub.inDoubt() != nil {
		return nil
	}
	return s.fields.Form
}

// whyNot says why nothing can be sent now; "" if it can.
func (s *Screen) whyNot() string {
	switch {
	case s.sender.Busy() && s.looking:
		return "The service is still being asked what became of the last request."
	case s.sender.Busy():
		return "It is being sent, and the answer has not come yet."
	case s.sub.inDoubt() != nil:
		return "It has to be found out first whether " + named(s.sub.inDoubt().perk) + " was redeemed."
	case len(s.perks) == 0:
		return "No perk was chosen: go back, and choose one."
	}
	return s.elsewhere()
}

// whyNotSettle says why nothing can be found out now; "" if it can.
func (s *Screen) whyNotSettle() string {
	if s.sender.Busy() {
		return "The service is being asked already."
	}
	return s.elsewhere()
}

// elsewhere says that the present account is another one than that for which the perks were chosen: the same ids would mean
// other things there, and keys would mean nothing.
func (s *Screen) elsewhere() string {
	here, home := s.shell.Account.Profile, s.home
	if here.APIURL == home.APIURL && here.ClientID == home.ClientID && here.Sandbox == home.Sandbox {
		return ""
	}
	return "This was begun at " + place(home) + "; log in there again."
}

// further opens the form again: for somebody else once everything is done, otherwise as it was.
func (s *Screen) further() {
	if s.Form() != nil || s.whyNotSettle() != "" {
		return
	}
	if len(s.sub.open()) == 0 {
		s.sub = nil
		s.fields = newFields(s.shell.Theme, "")
	}
	s.editing = true
}

// leave closes the screen, after a question where something would be lost.
func (s *Screen) leave() tea.Cmd {
	lost := s.Unsaved()
	if lost == "" {
		return s.shell.Close()
	}
	return s.shell.Post(screen.Confirm{Title: "Leave?", Text: lost, Yes: "leave", Then: s.shell.Close})
}

// Unsaved says what would be lost.
func (s *Screen) Unsaved() string {
	if i := s.current; s.sender.Busy() {
		return fmt.Sprintf("%s is being redeemed for %s, and the answer has not come yet: nobody would learn how it ends.", named(i.perk), i.Request.UserID)
	}
	if i := s.sub.inDoubt(); i != nil {
		return fmt.Sprintf("It is not known whether %s was redeemed for %s. The key under which it could safely be sent again would be lost.", named(i.perk), i.Request.UserID)
	}
	if waiting := s.sub.waiting(); len(waiting) > 0 {
		return fmt.Sprintf("%s not redeemed for %s yet.", isOrAre(perksOf(waiting)), s.sub.request.UserID)
	}
	if s.Form() != nil && len(s.fields.Changed()) > 0 && !s.sub.is(s.fields.request()) {
		return "What was typed was not sent."
	}
	return ""
}

func isOrAre(perks []api.Perk) string {
	if len(perks) == 1 {
		return perksNamed(perks) + " is"
	}
	return perksNamed(perks) + " are"
}

// items is everything that the last submission asked for.
func (s *Screen) items() []*item {
	if s.sub == nil {
		return nil
	}
	return s.sub.items
}

func (s *Screen) key(id actions.ID) string { return s.shell.Keys.Key(id) }
