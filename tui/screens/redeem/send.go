package redeem

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/tui/screen"
)

// answerTime is how long after something was sent without a question y is taken as the answer to one.
const answerTime = time.Second

// submit continues with what was confirmed and is still waiting, or asks to confirm a new submission.
func (s *Screen) submit() tea.Cmd {
	if s.whyNot() != "" || !s.fields.breaksNoRule() {
		return nil
	}
	if s.isUnknown() {
		return s.refuseUnknown()
	}
	request := s.fields.request()
	if s.sub.is(request) && s.sub.agreed {
		if waiting := s.sub.waiting(); len(waiting) > 0 {
			s.queue, s.resumedAt = waiting, s.shell.Now()
			return s.step()
		}
	}
	next := &submission{request: request}
	for _, perk := range s.perks {
		next.items = append(next.items, s.itemFor(perk, request))
	}
	if len(next.open()) == 0 {
		return screen.Tell(screen.Note, "%s has all of it already.", request.UserID)
	}
	s.asking = true
	question := s.question(next)
	question.By = s
	return s.ask(question, s.whyNot, func() tea.Cmd { return s.begin(next) })
}

// withdraw takes back the question whether to redeem, because the service now says that there is no such user.
func (s *Screen) withdraw() tea.Cmd {
	s.questions++
	s.asking = false
	s.fields.Refuse(unknownUser(s.typedUser()))
	return s.shell.Post(screen.Withdraw{By: s})
}

// ask asks a question that can be answered once, as long as it is the last one and whyNot has nothing against it.
func (s *Screen) ask(question screen.Confirm, whyNot func() string, then func() tea.Cmd) tea.Cmd {
	s.questions++
	number := s.questions
	question.Then = func() tea.Cmd {
		if number != s.questions {
			return nil
		}
		s.questions++
		if why := whyNot(); why != "" {
			return screen.Tell(screen.Warning, "Nothing was sent. %s", why)
		}
		return then()
	}
	return s.shell.Post(question)
}

// begin sends a confirmed submission. From here on each item has its idempotency key.
func (s *Screen) begin(next *submission) tea.Cmd {
	for _, i := range next.open() {
		if i.Key == "" {
			i.Key = s.shell.NewID()
		}
		i.Attempt = i.Reopen()
		if i.State == operation.NotMade {
			i.at = time.Time{}
		}
	}
	s.eligibility.Reset()
	s.asking = false
	next.agreed = true
	s.sub, s.queue = next, next.open()
	return s.step()
}

// step sends the next item of the queue.
func (s *Screen) step() tea.Cmd {
	if len(s.queue) == 0 || s.whyOtherAccount() != "" {
		s.queue = nil
		s.editing = len(s.sub.waiting()) > 0
		return nil
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	return s.attempt(next, false)
}

// attempt sends an item, or only checks its outcome. The reply goes to handleReply.
func (s *Screen) attempt(i *item, checkOnly bool) tea.Cmd {
	if s.sender.Busy() {
		return nil
	}
	s.current, s.checking, s.sentAt = i, checkOnly, s.shell.Now()
	r, seen := i.Redeeming, maps.Clone(s.seen)
	taken := func(id string) bool { return seen[id] } // it belongs to another request
	s.attempts++
	return s.sender.Send(func(ctx context.Context, c *client.Client) (operation.Redeeming, error) {
		if checkOnly {
			r = r.Check(client.Once(ctx), c, taken)
			return r, unlessListed(r, r.CheckErr)
		}
		r = r.Send(ctx, c, taken)
		return r, unlessListed(r, r.Failure())
	})
}

// unlessListed drops a lost reply where the user's list was read: the service is there, and the shell would otherwise
// find it back online and check again at once.
func unlessListed(r operation.Redeeming, err error) error {
	if r.State.IsDoubtful() && r.Candidate.ID != "" && errors.As(err, new(*client.Unreachable)) {
		return nil
	}
	return err
}

// dueCheck checks an outcome that was still unknown after an attempt.
type dueCheck struct {
	of      *Screen
	attempt int
}

func (s *Screen) autoCheck(c dueCheck) tea.Cmd {
	switch {
	case c.of != s || c.attempt != s.attempts || s.sender.Busy():
		return nil
	case s.whyOtherAccount() != "":
		return s.shell.After(firstCheck, c)
	}
	s.checks++
	return s.checkNow()
}

// The pause before an automatic check doubles from the first to the last. It stays short while the service cannot be
// reached: then a check only reads.
const (
	firstCheck = 4 * time.Second
	lastCheck  = 30 * time.Second
)

// nextCheck is the pause before an unresolved item is checked; 0 if it is not. If its list shows a redemption that may
// belong to another request, reading the list again would tell nothing new.
func (s *Screen) nextCheck(i *item) time.Duration {
	switch {
	case i.CheckErr == nil && i.Candidate.ID != "":
		return 0
	case i.CheckErr == nil || i.Candidate.ID != "":
		return min(firstCheck<<min(s.checks, 10), lastCheck)
	}
	return firstCheck
}

// checkLater schedules a check of the unresolved item.
func (s *Screen) checkLater() tea.Cmd {
	i := s.sub.unresolved()
	if i == nil || s.nextCheck(i) == 0 {
		return nil
	}
	pause := s.nextCheck(i)
	s.checkAt = s.shell.Now().Add(pause)
	return tea.Batch(s.shell.After(pause, dueCheck{s, s.attempts}), s.countDown(second{s, s.attempts}))
}

// second passes until the next check, so that the screen counts down to it. Who listens is not told.
type second struct {
	of      *Screen
	attempt int
}

func (s *Screen) countDown(c second) tea.Cmd {
	if c.of != s || c.attempt != s.attempts || s.shell.Command != nil || s.shell.SecondsTo(s.checkAt) <= 0 {
		return nil
	}
	return s.shell.After(time.Second, c)
}

// handleReply takes the outcome of an attempt. Only here does anything become redeemed.
func (s *Screen) handleReply(sent screen.Sent[operation.Redeeming]) tea.Cmd {
	i := s.current
	wasUnknown := i.State.IsDoubtful()
	i.at = s.shell.Now()
	switch r := sent.Value; {
	case r.Key == i.Key:
		i.Redeeming = r
	case wasUnknown:
		i.CheckErr = sent.Err // there was no client to ask with
	default:
		i.Err = sent.Err
	}
	s.noteKeySupport()
	switch {
	case i.State == operation.Made:
		s.seen[i.Result.ID] = true
		if s.asks && len(s.sub.items) == 1 {
			s.shell.Post(screen.Back{From: s})
		}
		served := screen.Send(screen.Redeemed{PerkID: i.perk.ID, UserID: i.Request.UserID})
		return tea.Batch(served, s.announce(i), s.shell.Remember(s.profile, "user", i.Request.UserID), s.step())
	case i.State.IsDoubtful():
		s.queue, s.editing = nil, false
		if wasUnknown {
			return s.checkLater()
		}
		s.checks = 0
		return tea.Batch(s.checkLater(), screen.Tell(screen.Warning, "Unknown outcome: %s for %s.", quoted(i.perk),
			i.Request.UserID))
	}
	if stops, fields := classify(i); stops {
		s.queue, s.editing = nil, true
		if s.fields.Refuse(fields); len(fields[userField]) > 0 && len(s.sub.items) == 1 {
			return nil // it stands beside the field
		}
		return s.announce(i)
	}
	var existing tea.Cmd
	if api.CodeOf(i.Err) == api.CodeAlreadyRedeemed {
		existing = s.loadExisting(i)
	}
	return tea.Batch(s.announce(i), existing, s.step())
}

// announce tells the outcome of an item. Of several it counts the outcomes once all are sent: one message would hide
// the others.
func (s *Screen) announce(i *item) tea.Cmd {
	about, text := []*item{i}, fmt.Sprintf("%s for %s: %s.", quoted(i.perk), i.Request.UserID, s.outcome(i).mark)
	if i.State != operation.Made {
		text = "Not redeemed: " + text
	}
	if len(s.sub.items) > 1 {
		if len(s.queue) > 0 {
			return nil
		}
		about, text = s.sub.items, s.counts()
	}
	kind := screen.Done
	if slices.ContainsFunc(about, (*item).needsAttention) {
		kind = screen.Warning
	}
	return screen.Tell(kind, "%s", text)
}

// checkNow checks what became of the unresolved item.
func (s *Screen) checkNow() tea.Cmd {
	if i := s.sub.unresolved(); i != nil && s.whyNotCheck() == "" {
		return s.attempt(i, true)
	}
	return nil
}

// retry sends the unresolved item again under its key, or else what failed. Where that can redeem twice, it asks first.
func (s *Screen) retry() tea.Cmd {
	i := s.sub.unresolved()
	if s.whyNotCheck() != "" {
		return nil
	}
	if i == nil {
		return s.retryFailed()
	}
	s.noteKeySupport()
	if s.canRetrySafely(i) {
		return s.attempt(i, false)
	}
	why := "This service has not shown that it honours idempotency keys."
	if s.honoursKeys {
		why = "The service may have forgotten the idempotency key."
	}
	question := screen.Confirm{Title: "Retry?", Yes: "retry", Text: why + " " +
		quoted(i.perk) + " may be redeemed twice for " + i.Request.UserID + ". Checking again is safer."}
	return s.ask(question, s.whyNotCheck, func() tea.Cmd {
		if s.sub.unresolved() != i {
			return nil
		}
		return s.attempt(i, false)
	})
}

// retryFailed sends what failed again, each under its key. It was confirmed for this user already.
func (s *Screen) retryFailed() tea.Cmd {
	failed := s.failed()
	send := func() tea.Cmd {
		for _, i := range failed {
			i.at = time.Time{}
		}
		s.queue = failed
		return s.step()
	}
	if slices.ContainsFunc(failed, s.isAbandonedWithOtherMetadata) ||
		slices.ContainsFunc(failed, s.isUnresolvedElsewhere) {
		return s.ask(s.question(&submission{request: s.sub.request, items: failed}), s.whyNot, send)
	}
	return send()
}

// canRetrySafely tells whether the service honours keys, and still remembers the item's. Later, the same key can redeem
// again.
func (s *Screen) canRetrySafely(i *item) bool {
	return s.honoursKeys && s.shell.Now().Sub(i.Since()) < client.KeyLifetime
}

// giveUp stops checking, and unlocks the form although the outcome is unknown.
func (s *Screen) giveUp() tea.Cmd {
	i := s.sub.unresolved()
	if i == nil || s.sender.Busy() {
		return nil
	}
	return s.shell.Post(screen.Confirm{
		Title: "Stop checking?",
		Text: quoted(i.perk) + " may have been redeemed for " + i.Request.UserID + ", or may still be. " +
			"If you redeem it again with other metadata, it may be redeemed twice.",
		Yes: "stop checking", Local: true,
		Then: func() tea.Cmd {
			if s.sub.unresolved() != i || s.sender.Busy() {
				return nil
			}
			i.Attempt = i.GiveUp()
			s.abandoned = append(s.abandoned, i)
			s.sub.agreed, s.editing = false, true
			return nil
		},
	})
}

// noteKeySupport remembers that the service honours keys. Another client, after a login, would have to learn it again.
func (s *Screen) noteKeySupport() {
	if c := s.shell.Account.Client; c != nil && s.whyOtherAccount() == "" && c.HonoursKeys() {
		s.honoursKeys = true
	}
}
