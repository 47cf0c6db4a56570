package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.com/perks/store"
)

const (
	maxBatch     = 64   // attempts in one transaction; larger batches gain little and delay the last attempt
	maxWaiting   = 4096 // attempts in all queues; further callers block
	maxConflicts = 3    // unique violations before the attempts of a batch run one by one
)

// redeemer runs attempts at the same perk in batches: attempts that are queued while a transaction commits share the next one. Each would
// wait for the same lock anyway, and so they share one commit. An attempt at an idle perk runs at once.
type redeemer struct {
	db      *DB
	slots   chan struct{} // a token for each attempt that is queued or running
	batches store.BatchMeter

	mu     sync.Mutex
	queues map[string][]*queuedAttempt // by perk; each has a goroutine
}

// queuedAttempt is an attempt whose caller waits for the reply.
type queuedAttempt struct {
	ctx     context.Context
	attempt store.RedeemAttempt
	claim   claim            // begins just before the attempt is decided
	reply   chan redeemReply // buffered, so that the sender never blocks if the caller has gone
}

func (db *DB) Redeem(ctx context.Context, attempt store.RedeemAttempt) (store.RedeemResult, error) {
	if err := ctx.Err(); err != nil {
		return store.RedeemResult{}, store.NotStarted(err)
	}
	switch { // PostgreSQL would fail the whole batch
	case store.IsUnstorable(attempt.PerkID):
		return store.RedeemResult{}, store.PerkNotFound(attempt.PerkID)
	case store.IsUnstorable(attempt.UserID):
		return store.RedeemResult{}, store.UserNotFound(attempt.UserID)
	}
	w := &queuedAttempt{ctx: ctx, attempt: attempt, reply: make(chan redeemReply, 1)}
	if err := db.redeemer.enqueue(w); err != nil {
		return store.RedeemResult{}, err
	}
	select {
	case a := <-w.reply:
		return a.result, a.err
	case <-ctx.Done():
		return store.RedeemResult{}, w.claim.abandon(ctx.Err())
	}
}

func (r *redeemer) enqueue(w *queuedAttempt) error {
	select {
	case r.slots <- struct{}{}:
	case <-w.ctx.Done():
		return store.NotStarted(w.ctx.Err())
	}
	leave, err := r.db.join()
	if err != nil {
		<-r.slots
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	perkID := w.attempt.PerkID
	queue, hasGoroutine := r.queues[perkID]
	r.queues[perkID] = append(queue, w)
	if hasGoroutine {
		leave() // the goroutine has its own join, and runs until the queue is empty
		return nil
	}
	go func() {
		defer leave()
		var supposed *eligibility
		for batch := r.next(perkID); batch != nil; batch = r.next(perkID) {
			supposed = r.process(batch, supposed)
		}
	}()
	return nil
}

// next takes the oldest attempts, but of several with the same user or key only the first, because it decides the outcome of the others. It
// returns nil, and deletes the queue, if the queue is empty.
func (r *redeemer) next(perkID string) []*queuedAttempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	var batch, rest []*queuedAttempt
	users, keys := map[string]bool{}, map[[2]string]bool{}
	for _, w := range r.queues[perkID] {
		user, key := w.attempt.UserID, scopedKey(w.attempt)
		switch {
		case w.ctx.Err() != nil:
			r.reply(w, redeemReply{err: w.claim.abandon(w.ctx.Err())})
		case len(batch) == maxBatch || users[user] || key[1] != "" && keys[key]:
			rest = append(rest, w)
		default:
			store.Dequeued(w.ctx)
			batch = append(batch, w)
			users[user], keys[key] = true, true
		}
	}
	if batch == nil {
		delete(r.queues, perkID)
		return nil
	}
	r.queues[perkID] = rest
	return batch
}

// scopedKey is the attempt's idempotency key with its client; the key is "" if there is none.
func scopedKey(attempt store.RedeemAttempt) [2]string {
	if attempt.Key == nil {
		return [2]string{}
	}
	return [2]string{attempt.ClientID, attempt.Key.Key}
}

// process replies to every attempt of the batch. It retries transient failures while a caller waits. After a failure that a single attempt
// may have caused, it runs each attempt by itself. It returns the supposition for the next batch.
func (r *redeemer) process(batch []*queuedAttempt, supposed *eligibility) *eligibility {
	attempts := make([]store.RedeemAttempt, len(batch))
	for i, w := range batch {
		attempts[i] = w.attempt
	}
	d, err := r.redeemWithRetries(batch, attempts, supposed)
	if err != nil && !isTransient(err) && len(batch) > 1 {
		for i := range batch {
			r.process(batch[i:i+1], nil)
		}
		return nil
	}
	for i, w := range batch {
		if err != nil {
			r.reply(w, redeemReply{err: w.fault(err)})
			continue
		}
		r.reply(w, d.replies[i])
	}
	if err != nil {
		return nil
	}
	return d.supposition()
}

// fault is the error for the caller. An earlier try may have made the redemption.
func (w *queuedAttempt) fault(err error) error {
	if w.claim.isOutcomeUnknown() || isTransient(err) || store.IsContextError(err) {
		return w.claim.abandon(fmt.Errorf("redeem a perk: %w", err))
	}
	return fault("redeem a perk", err)
}

func (r *redeemer) reply(w *queuedAttempt, a redeemReply) {
	<-r.slots
	w.reply <- a
}

// redeemWithRetries retries transient failures while a caller waits, even after an unknown outcome, because attempts are recognized by
// their id. It retries a unique violation at once: the conflicting row is committed and will be read. If that persists, it has another
// cause. Only the first try can suppose that the attempts are new. A single attempt is looked up, so that a refusal takes one transaction.
func (r *redeemer) redeemWithRetries(batch []*queuedAttempt, attempts []store.RedeemAttempt, supposed *eligibility) (*decision, error) {
	ctx, cancel := r.db.detach(context.Background())
	defer cancel()
	begin := func(i int) bool { return batch[i].claim.begin() }
	conflicts := 0
	for backoff := newBackoff(); ; supposed = nil {
		var d *decision
		var err error
		if supposed != nil && len(batch) > 1 {
			d, err = r.db.redeemNew(ctx, attempts, supposed, begin)
		} else {
			d, err = r.db.redeemBatch(ctx, attempts, begin)
		}
		if err != nil {
			for _, w := range batch {
				w.claim.failed(err)
			}
		}
		switch {
		case err == nil:
			r.batches.Finished(len(attempts))
		case errors.Is(err, errNotNew):
			continue
		default:
			r.batches.Failed()
		}
		r.db.diskSpace.noteError(err)
		if sqlState(err) == stateUniqueViolation {
			if conflicts++; conflicts < maxConflicts {
				continue
			}
		}
		if err == nil || !isRetryable(err) {
			return d, err
		}
		r.db.resetIfBroken(err)
		hasCaller := slices.ContainsFunc(batch, func(w *queuedAttempt) bool { return w.ctx.Err() == nil })
		if !hasCaller || !backoff.next(ctx) {
			return nil, err
		}
	}
}
