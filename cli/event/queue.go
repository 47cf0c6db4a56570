package event

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/webhook"
	"example.com/perks/cli/command"
)

// mostHeld bounds the events in memory and in the state: those that wait for a retry, and those behind them.
const mostHeld = 500

// queue delivers events, those of each subject in order. One goroutine has it.
type queue struct {
	target   target
	slots    int
	show     func(delivery, api.Event) error
	streams  *command.Streams
	state    *state // nil if nothing is kept
	position string // behind all events that were taken

	order    []*held            // what is not delivered, oldest first
	subjects map[string][]*held // the same
	running  int
	saidFull bool // since it was empty
}

// held is an event that is not delivered yet.
type held struct {
	api.Event
	before  string // a position before it, "" if none is known
	attempt int    // how many were made
	due     time.Time
	running bool
}

// read is a page of events that was read.
type read struct {
	api.EventPage
	before string // a position before it, "" if none is known
	err    error
}

// done is an attempt that has ended.
type done struct {
	*held
	at     time.Time
	answer answer
	took   time.Duration
}

func newQueue(t target, slots int, show func(delivery, api.Event) error, s *command.Streams) *queue {
	return &queue{target: t, slots: slots, show: show, streams: s, subjects: map[string][]*held{}}
}

// resume begins with what an earlier run has not delivered.
func (q *queue) resume() {
	q.position = q.state.After
	for _, e := range q.state.Undelivered {
		q.add(e)
	}
}

func (q *queue) add(e api.Event) {
	h := &held{Event: e, before: q.position}
	q.order, q.subjects[e.Subject] = append(q.order, h), append(q.subjects[e.Subject], h)
}

// safe returns a position before all events that are not delivered, "" if none is known.
func (q *queue) safe() string {
	if len(q.order) > 0 {
		return q.order[0].before
	}
	return q.position
}

// run delivers until there are no more pages and all is delivered. On an error, also if ctx ends, it waits for the
// attempts that run, and saves the state.
func (q *queue) run(ctx context.Context, pages <-chan read) (cause error) {
	results := make(chan done)
	for {
		var wake <-chan time.Time
		if cause == nil {
			wake = q.start(ctx, results)
		}
		if q.running == 0 && (cause != nil || pages == nil && len(q.order) == 0) {
			return errors.Join(cause, q.save())
		}
		next, stop := pages, ctx.Done()
		if cause != nil || q.running == q.slots || q.isFull() {
			next = nil // what is held comes first, so that the state stays small
		}
		if cause != nil {
			stop = nil
		}
		select {
		case page, isOpen := <-next:
			switch {
			case !isOpen:
				pages, cause = nil, ctx.Err()
			case page.err != nil:
				cause = page.err
			default:
				cause = q.take(page)
			}
		case result := <-results:
			cause = errors.Join(cause, q.finish(result))
		case <-wake:
		case <-stop:
			cause = ctx.Err()
		}
		if cause != nil && stop != nil && q.running > 0 {
			q.streams.Note("Waiting for %s to end.", display.Plural(q.running, "delivery", "deliveries"))
		}
	}
}

// isFull tells whether no more is read, and says so once.
func (q *queue) isFull() bool {
	isFull := len(q.order) >= mostHeld
	if isFull && !q.saidFull {
		q.streams.Warn("%s are not delivered, so no more are read until one is. The oldest is of %s.",
			display.Plural(len(q.order), "event", "events"), q.order[0].Subject)
	}
	q.saidFull = isFull || q.saidFull && len(q.order) > 0
	return isFull
}

func (q *queue) take(page read) error {
	isFirst := q.position == ""
	if isFirst {
		q.position = page.before
	}
	for _, e := range page.Data {
		q.add(e)
		q.position = e.Cursor
	}
	q.position = page.Next
	if isFirst {
		return q.save() // a kill before the first delivery must not lose the events until then
	}
	return nil
}

// start starts what may run now. It returns a channel that tells when more may.
func (q *queue) start(ctx context.Context, results chan<- done) (wake <-chan time.Time) {
	now, next := time.Now(), time.Time{}
	for _, h := range q.order {
		switch isHead := q.subjects[h.Subject][0] == h; {
		case !isHead || h.running:
		case h.due.After(now):
			if next.IsZero() || h.due.Before(next) {
				next = h.due
			}
		case q.running < q.slots:
			h.running = true
			h.attempt++
			q.running++
			go func() {
				begun := time.Now()
				given := q.target.deliver(context.WithoutCancel(ctx), h.Event, now, h.attempt)
				results <- done{h, now, given, time.Since(begun)}
			}()
		}
	}
	if next.IsZero() {
		return nil
	}
	return time.After(next.Sub(now))
}

// finish notes the outcome of an attempt. The state is saved before the next attempt starts, so that a kill repeats
// only what runs.
func (q *queue) finish(d done) error {
	d.running = false
	q.running--
	line := d.answer.delivery(d.Event, d.at, d.attempt, d.took)
	if line.Error != nil {
		// Programs too: what keeps one from working, such as a printer that is off, lasts as long.
		wait, again := webhook.Retry(d.attempt, d.answer.response, rand.Float64)
		if !again {
			return errors.Join(q.show(line, d.Event), notDelivered(d.Event, line))
		}
		d.due = time.Now().Add(wait)
		line.NextAt = new(d.due.UTC().Truncate(time.Millisecond))
		return q.show(line, d.Event)
	}
	q.order = slices.DeleteFunc(q.order, func(h *held) bool { return h == d.held })
	if rest := q.subjects[d.Subject][1:]; len(rest) > 0 {
		q.subjects[d.Subject] = rest
	} else {
		delete(q.subjects, d.Subject)
	}
	return errors.Join(q.save(), q.show(line, d.Event))
}

func (q *queue) save() error {
	if q.state == nil || q.position == "" {
		return nil
	}
	undelivered := make([]api.Event, len(q.order))
	for i, h := range q.order {
		undelivered[i] = h.Event
	}
	return q.state.save(q.position, undelivered)
}
