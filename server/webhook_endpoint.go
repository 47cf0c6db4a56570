package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/webhook"
	"example.com/perks/store"
)

const (
	webhookSlots       = 8    // requests to one webhook at once
	webhookSlotsFailed = 2    // after one that failed
	webhookOutstanding = 64   // events that wait to be sent until more are read
	webhookMaxFailures = 1000 // events that failed, or wait behind one, until no more are read
	webhookMaxLogged   = 10   // deliveries that are logged between two syncs, and twice as many that failed
	webhookPause       = 2 * time.Second
	webhookLazy        = 10 * time.Second // or up to twice that, until a position is kept that passed what others see
)

// webhookBound is how much is read at once for a webhook that is behind.
var webhookBound = store.AuditBound{Entries: 64, Bytes: 64 << 10}

// webhookEndpoint delivers the events of one webhook while its server holds it.
type webhookEndpoint struct {
	sender  *webhookSender
	id      string
	retries bool // what has failed is due at once, because the webhook was changed

	lazy time.Duration // see webhookLazy; random, so that not all write at once

	isReleased, isChanged bool // why it stops; of the sender's goroutine

	stopping chan struct{} // closed when nothing more may begin
	stop     func()        // closes it
	done     chan struct{} // closed when nothing runs any more

	// Of the goroutine that runs.
	hook        store.Webhook
	secrets     []webhookSecret
	outstanding []*outgoing            // what was read after the position, in order
	chains      map[string][]*outgoing // by subject: the first is being sent, or ready; others wait behind it
	ready       []*outgoing
	failing     map[string][]*waiting // by subject: the first is tried again, others wait behind it
	sending     int                   // requests that run
	retrying    int                   // those of them for what failed before
	slots       int
	read        store.AuditPlace   // everything before is outstanding, or was settled
	number      int64              // of the last failure
	unsaved     map[int64]*waiting // failures that the database does not have yet

	woken chan struct{} // there are new numbers in progress.saved

	mu       sync.Mutex
	loaded   bool
	version  int64 // of the webhook
	progress webhookProgress
}

// outgoing is an event that was read and not yet sent.
type outgoing struct {
	feedEvent
	isSettled bool
}

// waiting is an event that failed, or waits behind one that did. The event itself is read again when it is sent.
type waiting struct {
	store.WebhookFailure // without the cursor once it is saved
	isSaved              bool
	isSending            bool
}

func newWebhookEndpoint(sender *webhookSender, id string, retries bool) *webhookEndpoint {
	e := &webhookEndpoint{sender: sender, id: id, retries: retries, lazy: webhookLazy + rand.N(webhookLazy),
		stopping: make(chan struct{}), done: make(chan struct{}),
		chains: map[string][]*outgoing{}, failing: map[string][]*waiting{},
		unsaved: map[int64]*waiting{}, woken: make(chan struct{}, 1), slots: webhookSlots}
	e.stop = sync.OnceFunc(func() { close(e.stopping) })
	e.progress.changed, e.progress.ended = map[int64]store.WebhookFailure{}, map[int64]bool{}
	return e
}

// isDone tells whether nothing runs any more.
func (e *webhookEndpoint) isDone() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// load reads the webhook and what has failed.
func (e *webhookEndpoint) load(ctx context.Context) error {
	release, err := e.sender.loading.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	hook, failures, err := e.sender.store.HeldWebhook(ctx, e.id)
	if err != nil {
		return err
	}
	if e.secrets, err = e.sender.keys.open(ctx, hook); err != nil {
		return err
	}
	e.hook, e.read = hook, hook.Position
	now := e.sender.service.now()
	for _, failure := range failures {
		if e.retries {
			failure.NextAt = now
		}
		w := &waiting{WebhookFailure: failure, isSaved: true}
		e.failing[failure.Subject] = append(e.failing[failure.Subject], w)
		e.number = failure.Number
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.loaded, e.version = true, hook.Version
	e.progress.position, e.progress.kept, e.progress.failingSince = hook.Position, hook.Position, hook.FailingSince
	e.progress.keptAt = time.Now()
	e.count()
	return nil
}

// run delivers until it is stopped, or until ctx ends, which also ends the requests that run.
func (e *webhookEndpoint) run(ctx context.Context) {
	defer close(e.done)
	if err := e.load(ctx); err != nil {
		if api.CodeOf(err) != api.CodeNotFound && ctx.Err() == nil {
			e.sender.warn("a webhook cannot be delivered; this is tried again", "webhook", e.id, "error",
				sanitize(err.Error()))
		}
		wait(ctx, e.stopping, webhookPause) // before it is loaded again
		return
	}
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	reader := e.sender.feed.follow(e.hook.Position, true)
	reader.most, reader.isBehind = webhookBound, true // or has become so while no server held it
	parts := make(chan webhookPart, 1)
	results := make(chan webhookResult, webhookSlots)
	isReading, stopping, ended := false, e.stopping, ctx.Done()
	for isStopped := false; !isStopped || e.sending > 0 || isReading; {
		if !isStopped {
			e.dispatch(ctx, results)
			if !isReading && e.hasRoom() {
				isReading = true
				go func() { parts <- e.next(reading, reader) }()
			}
		}
		due := time.NewTimer(e.untilDue())
		select {
		case part := <-parts:
			isReading = false
			e.take(ctx, part)
		case result := <-results:
			e.settle(result)
		case <-due.C:
		case <-e.woken:
			e.noteSaved()
		case <-stopping:
			isStopped, stopping = true, nil
			stopReading()
		case <-ended:
			isStopped, ended = true, nil
		}
		due.Stop()
	}
	reader.leave()
}

// webhookPart is what was read.
type webhookPart struct {
	feedPart
	err error
}

// next reads on. After an error it waits for a moment.
func (e *webhookEndpoint) next(ctx context.Context, reader *follower) webhookPart {
	part, err := reader.next(ctx)
	if err != nil {
		reader.leave() // it begins anew
	}
	if err != nil && !isPositionLost(err) {
		wait(ctx, e.stopping, webhookPause/4)
	}
	return webhookPart{part, err}
}

// isPositionLost tells whether the audit log does not have the position any more.
func isPositionLost(err error) bool { return api.CodeOf(err) == api.CodeValidationFailed }

// wait returns after a while, or when something ends.
func wait(ctx context.Context, stopping <-chan struct{}, long time.Duration) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-stopping:
	}
}

func (e *webhookEndpoint) hasRoom() bool {
	return len(e.outstanding) < webhookOutstanding && e.failures() < webhookMaxFailures
}

func (e *webhookEndpoint) failures() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.progress.failures
}

// reasonArchived disables a webhook whose position is gone.
const reasonArchived = "Events after its position are not in the audit log any more: they were archived, or the " +
	"database is an older copy. Enable it to go on with the newest events; what came before is not sent."

// take adds the events of a part that the client may see.
func (e *webhookEndpoint) take(ctx context.Context, part webhookPart) {
	switch {
	case isPositionLost(part.err):
		e.disable(reasonArchived)
		return
	case part.err != nil:
		if !errors.Is(part.err, io.EOF) && ctx.Err() == nil {
			e.sender.warn("events for a webhook cannot be read; this is tried again", "webhook", e.id, "error",
				sanitize(part.err.Error()))
		}
		return
	case len(part.events) > 0:
		e.add(ctx, part.events)
	}
	e.read = part.next
	e.mu.Lock()
	defer e.mu.Unlock()
	e.advance()
}

func (e *webhookEndpoint) add(ctx context.Context, events []feedEvent) {
	caller, isActive, err := e.sender.subscriber(ctx, e.hook.ClientID)
	isKnown := isActive && err == nil // otherwise it is decided when they are sent
	for _, event := range events {
		if !event.isWanted(e.hook.Types) || isKnown && !event.maySee(caller) {
			continue
		}
		o := &outgoing{feedEvent: event}
		e.outstanding = append(e.outstanding, o)
		switch chain, isBusy := e.chains[event.Subject]; {
		case len(e.failing[event.Subject]) > 0:
			e.postpone(o, 0, e.sender.service.now())
		case isBusy:
			e.chains[event.Subject] = append(chain, o)
		default:
			e.chains[event.Subject] = []*outgoing{o}
			e.ready = append(e.ready, o)
		}
	}
}

// dispatch begins requests while there are slots. What failed before gets half of them at most.
func (e *webhookEndpoint) dispatch(ctx context.Context, results chan<- webhookResult) {
	for e.sending < e.slots && e.retrying < max(1, e.slots/2) {
		w := e.due(e.sender.service.now())
		if w == nil {
			break
		}
		w.isSending = true
		e.sending++
		e.retrying++
		failure := w.WebhookFailure
		go func() {
			result := e.retry(ctx, failure)
			result.retried = w
			results <- result
		}()
	}
	for e.sending < e.slots && len(e.ready) > 0 {
		o := e.ready[0]
		e.ready = e.ready[1:]
		e.sending++
		go func() {
			result := e.send(ctx, o.feedEvent)
			result.sent = o
			results <- result
		}()
	}
}

// due returns the oldest of what can be tried again, or nil.
func (e *webhookEndpoint) due(now time.Time) (first *waiting) {
	for _, chain := range e.failing {
		w := chain[0]
		if w.isSaved && !w.isSending && !w.NextAt.After(now) && (first == nil || w.Number < first.Number) {
			first = w
		}
	}
	return first
}

// untilDue is how long it takes until something can be tried again.
func (e *webhookEndpoint) untilDue() time.Duration {
	next, now := time.Hour, e.sender.service.now()
	for _, chain := range e.failing {
		if w := chain[0]; w.isSaved && !w.isSending {
			next = min(next, max(w.NextAt.Sub(now), time.Millisecond))
		}
	}
	if e.retrying >= max(1, e.slots/2) || e.sending >= e.slots {
		return time.Hour // a result comes before
	}
	return next
}

// settle notes what came of an event.
func (e *webhookEndpoint) settle(r webhookResult) {
	e.sending--
	if r.retried != nil {
		e.retrying--
		r.retried.isSending = false
	}
	switch r.outcome {
	case outcomeDelivered:
		e.settleDelivered(r)
	case outcomeFailed:
		e.settleFailed(r)
	case outcomeAborted, outcomeLater:
		if r.sent != nil {
			e.ready = append(e.ready, r.sent)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.advance()
}

func (e *webhookEndpoint) settleDelivered(r webhookResult) {
	subject, attempt := "", 1
	if w := r.retried; w != nil {
		subject, attempt = w.Subject, w.Attempt+1
		if e.failing[subject] = e.failing[subject][1:]; len(e.failing[subject]) == 0 {
			delete(e.failing, subject)
		}
		e.mu.Lock()
		e.progress.ended[w.Number] = true
		delete(e.progress.changed, w.Number)
		e.mu.Unlock()
	} else {
		subject, r.sent.isSettled = r.sent.Subject, true
		if chain := e.chains[subject][1:]; len(chain) > 0 {
			e.chains[subject] = chain
			e.ready = append(e.ready, chain[0])
		} else {
			delete(e.chains, subject)
		}
	}
	if r.posted.answer == nil { // it was not sent
		return
	}
	e.slots = webhookSlots
	e.log(r, attempt, nil)
	e.sender.count(outcomeNameDelivered)
}

func (e *webhookEndpoint) settleFailed(r webhookResult) {
	e.slots = webhookSlotsFailed
	attempt := 1
	if r.retried != nil {
		attempt = r.retried.Attempt + 1
	}
	long, again := webhook.Retry(attempt, r.posted.answer, rand.Float64)
	e.sender.count(outcomeNameFailed)
	if webhook.IsGone(r.posted.answer) {
		e.log(r, attempt, nil)
		e.disable("It answered 410 Gone, which says that it wants no more.")
		return
	}
	next := e.sender.service.now().Add(long)
	if r.retried != nil {
		r.retried.Attempt, r.retried.NextAt = attempt, next
		e.mu.Lock()
		e.progress.changed[r.retried.Number] = r.retried.WebhookFailure
		e.mu.Unlock()
	} else {
		chain := e.chains[r.sent.Subject]
		delete(e.chains, r.sent.Subject)
		e.postpone(chain[0], 1, next)
		for _, o := range chain[1:] {
			e.postpone(o, 0, e.sender.service.now())
		}
	}
	if !again {
		e.log(r, attempt, nil)
		e.disable(fmt.Sprintf("An event failed %d times, at last so: %s", attempt, r.posted.failure()))
		return
	}
	e.log(r, attempt, &next)
}

// postpone keeps an event as one that failed, or waits behind one.
func (e *webhookEndpoint) postpone(o *outgoing, attempt int, next time.Time) {
	o.isSettled = true
	e.number++
	w := &waiting{WebhookFailure: store.WebhookFailure{Number: e.number, Entry: o.entry, Subject: o.Subject,
		Cursor: o.Cursor, At: o.At, Attempt: attempt, NextAt: next}}
	e.failing[o.Subject] = append(e.failing[o.Subject], w)
	e.unsaved[w.Number] = w
	e.mu.Lock()
	defer e.mu.Unlock()
	e.progress.changed[w.Number] = w.WebhookFailure
}

// disable ends the deliveries, until the client enables the webhook again.
func (e *webhookEndpoint) disable(reason string) {
	e.stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.progress.disabled == "" {
		e.progress.disabled = reason
	}
	e.progress.isUrgent = true
}
