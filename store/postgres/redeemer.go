package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"example.com/perks/store"
)

const (
	maxBatch     = 64   // attempts that one transaction replies; more gain little and make the last wait longer
	maxWaiting   = 4096 // attempts in all queues; more make their callers wait
	maxConflicts = 3    // times that a transaction meets a key which another has just taken, before its attempts are tried singly
)

// redeemer replies attempts at the same perk together: what is queued while a transaction reaches the disk shares the next one. Each of
// them would wait for the same lock anyway, and so many callers pay for one commit. A perk that no one else asks for is redeemed at once.
type redeemer struct {
	db      *DB
	slots   chan struct{} // holds a token for each attempt that is queued or under way
	batches store.BatchMeter

	mu     sync.Mutex
	queues map[string][]*queuedAttempt // by perk; a perk that is in it has a goroutine that works on its queue
}

// queuedAttempt is an attempt that someone waits for.
type queuedAttempt struct {
	ctx     context.Context
	attempt store.RedeemAttempt
	claim   claim            // begins when the redemption is about to be written
	reply   chan redeemReply // buffered, so that no one waits for a caller who left
}

func (db *DB) Redeem(ctx context.Context, attempt store.RedeemAttempt) (store.RedeemResult, error) {
	if err := ctx.Err(); err != nil {
		return store.RedeemResult{}, store.NotBegun(err)
	}
	switch { // what the database cannot hold it would refuse, together with everyone else's attempts
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
		return store.NotBegun(w.ctx.Err())
	}
	leave, err := r.db.join()
	if err != nil {
		<-r.slots
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	perkID := w.attempt.PerkID
	queue, isWorkedOn := r.queues[perkID]
	r.queues[perkID] = append(queue, w)
	if isWorkedOn {
		leave() // the goroutine has joined, and ends only when the queue is empty
		return nil
	}
	go func() {
		defer leave()
		for batch := r.next(perkID); batch != nil; batch = r.next(perkID) {
			r.process(batch)
		}
	}()
	return nil
}

// next takes what waits longest, but of several attempts of one user, or under one key, only the first: what becomes of
// the others follows from that. It returns nil, and gives the queue up, when nothing waits.
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

// scopedKey is what an idempotency key is unique by; the second part is "" without one.
func scopedKey(attempt store.RedeemAttempt) [2]string {
	if attempt.Key == nil {
		return [2]string{}
	}
	return [2]string{attempt.ClientID, attempt.Key.Key}
}

// process replies every attempt of the batch. A failure that passes is waited out while someone waits; after one that may
// be a single attempt's own, each is tried by itself.
func (r *redeemer) process(batch []*queuedAttempt) {
	attempts := make([]store.RedeemAttempt, len(batch))
	for i, w := range batch {
		attempts[i] = w.attempt
	}
	answers, err := r.redeemWithRetries(batch, attempts)
	if err != nil && !isTransient(err) && len(batch) > 1 {
		for i := range batch {
			r.process(batch[i : i+1])
		}
		return
	}
	for i, w := range batch {
		if err != nil {
			r.reply(w, redeemReply{err: w.fault(err)})
			continue
		}
		r.reply(w, answers[i])
	}
}

// fault is what the caller is told of an error. Some try before may have made the redemption.
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

// writeWithRetries tries the attempts again while failures pass and someone waits. That the outcome of an earlier try may be
// unknown does not matter to the next. A unique violation is tried again at once, because what was in the way is committed
// and will be read; one that lasts has another cause, which waiting does not mend.
func (r *redeemer) redeemWithRetries(batch []*queuedAttempt, attempts []store.RedeemAttempt) ([]redeemReply, error) {
	ctx, cancel := r.db.detach(context.Background())
	defer cancel()
	met := 0
	for try := newBackoff(); ; {
		answers, err := r.db.redeemBatch(ctx, attempts, func(i int) bool { return batch[i].claim.begin() })
		if err == nil {
			r.batches.Ended(len(attempts))
		} else {
			r.batches.Failed()
			for _, w := range batch {
				w.claim.failed(err)
			}
		}
		r.db.diskSpace.noteError(err)
		if sqlState(err) == stateUniqueViolation {
			if met++; met < maxConflicts {
				continue
			}
		}
		if err == nil || !isRetryable(err) {
			return answers, err
		}
		r.db.resetIfBroken(err)
		isAwaited := slices.ContainsFunc(batch, func(w *queuedAttempt) bool { return w.ctx.Err() == nil })
		if !isAwaited || !try.next(ctx) {
			return nil, err
		}
	}
}
