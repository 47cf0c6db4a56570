package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"example.com/perks/store"
)

const (
	maxBatch = 64 // attempts in one transaction; larger batches gain little and delay the last attempt
	// batches that do not wait for a lock; more make smaller batches, one leaves processors idle while it commits
	maxRunning   = 2
	maxWaiting   = 4096 // attempts in all queues; further callers block
	maxConflicts = 3    // unique violations before the attempts of a batch run one by one
)

// redeemer runs attempts in batches: those that are queued while transactions commit share the next one. Attempts at
// the same perk would wait for the same lock anyway, and so they share one commit; those at other perks share it too. A
// perk is in one batch at a time. An attempt runs at once if less than maxRunning batches do.
type redeemer struct {
	db      *DB
	slots   chan struct{} // a token for each attempt that is queued or running
	batches store.BatchMeter
	// perks by id, see redeemNew; only the batch that has the perk uses its entry
	supposed *lru.Cache[string, *eligibility]

	mu      sync.Mutex
	queues  map[string]*perkQueue
	ready   []*perkQueue // not empty and in no batch, the oldest first
	running int          // batches that do not wait for a lock
}

func newRedeemer(db *DB) *redeemer {
	supposed, err := lru.New[string, *eligibility](maxSupposed)
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return &redeemer{db: db, slots: make(chan struct{}, maxWaiting), queues: map[string]*perkQueue{},
		supposed: supposed}
}

// perkQueue is the attempts that wait until those at the same perk are decided.
type perkQueue struct {
	perkID   string
	attempts []*queuedAttempt
	inBatch  bool
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
		return store.RedeemResult{}, w.claim.abandon(db.waits.explain(ctx.Err()))
	}
}

func (r *redeemer) enqueue(w *queuedAttempt) error {
	select {
	case r.slots <- struct{}{}:
	case <-w.ctx.Done():
		return store.NotStarted(w.ctx.Err())
	}
	if _, err := r.db.join(); err != nil { // reply leaves
		<-r.slots
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	perkID := w.attempt.PerkID
	queue := r.queues[perkID]
	if queue == nil {
		queue = &perkQueue{perkID: perkID}
		r.queues[perkID] = queue
	}
	if queue.attempts = append(queue.attempts, w); len(queue.attempts) == 1 && !queue.inBatch {
		r.ready = append(r.ready, queue)
	}
	r.start()
	return nil
}

// start runs batches of what is ready. It needs the mutex.
func (r *redeemer) start() {
	for r.running < maxRunning {
		batch, perks := r.next()
		if batch == nil {
			return
		}
		r.running++
		go r.run(batch, perks)
	}
}

// run decides a batch. Attempts that have to wait for a lock do so with those at the same perk, so that they hold up no
// others.
func (r *redeemer) run(batch []*queuedAttempt, perks []*perkQueue) {
	locked := r.process(batch, r.optimistic(batch, perks), false)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	for _, queue := range perks {
		var own []*queuedAttempt
		for _, w := range locked {
			if w.attempt.PerkID == queue.perkID {
				own = append(own, w)
			}
		}
		if own == nil {
			r.release(queue)
			continue
		}
		go func() {
			r.process(own, nil, true)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.release(queue)
			r.start()
		}()
	}
	r.start()
}

// release lets another batch have the perk. It needs the mutex.
func (r *redeemer) release(queue *perkQueue) {
	queue.inBatch = false
	if len(queue.attempts) == 0 {
		delete(r.queues, queue.perkID)
		return
	}
	r.ready = append(r.ready, queue)
}

// next takes the oldest attempts, but of several with the same user or key only the first, because it decides the
// outcome of the others. It returns nil if there are none. It needs the mutex.
func (r *redeemer) next() (batch []*queuedAttempt, perks []*perkQueue) {
	var notReached []*perkQueue
	users, keys := map[string]bool{}, map[[2]string]bool{}
	for i, queue := range r.ready {
		if len(batch) == maxBatch {
			notReached = append(notReached, r.ready[i:]...)
			break
		}
		taken := len(batch)
		var rest []*queuedAttempt
		for _, w := range queue.attempts {
			user, key := w.attempt.UserID, scopedKey(w.attempt)
			switch {
			case w.ctx.Err() != nil:
				r.reply(w, redeemReply{err: w.claim.abandon(r.db.waits.explain(w.ctx.Err()))})
			case len(batch) == maxBatch || users[user] || key[1] != "" && keys[key]:
				rest = append(rest, w)
			default:
				store.Dequeued(w.ctx)
				batch = append(batch, w)
				users[user], keys[key] = true, true
			}
		}
		queue.attempts = rest
		switch {
		case len(batch) > taken:
			queue.inBatch = true
			perks = append(perks, queue)
		case len(rest) > 0:
			notReached = append(notReached, queue)
		default:
			delete(r.queues, queue.perkID)
		}
	}
	r.ready = notReached
	return batch, perks
}

// scopedKey is the attempt's idempotency key with its client; the key is "" if there is none.
func scopedKey(attempt store.RedeemAttempt) [2]string {
	if attempt.Key == nil {
		return [2]string{}
	}
	return [2]string{attempt.ClientID, attempt.Key.Key}
}

// process replies to every attempt of the batch, but for those that have to wait for a lock or to be looked up, unless
// it waits: it returns these. It retries transient failures while a caller waits. After a failure that a single attempt
// may have caused, it runs each attempt by itself.
func (r *redeemer) process(
	batch []*queuedAttempt, supposed map[string]*eligibility, waits bool,
) (locked []*queuedAttempt) {
	attempts := make([]store.RedeemAttempt, len(batch))
	for i, w := range batch {
		attempts[i] = w.attempt
	}
	d, err := r.redeemWithRetries(batch, attempts, supposed, waits)
	r.suppose(attempts, d)
	switch {
	case errors.Is(err, errLocked):
		return batch
	case err != nil && !isTransient(err) && len(batch) > 1:
		for i := range batch {
			locked = append(locked, r.process(batch[i:i+1], nil, waits)...)
		}
		return locked
	}
	for i, w := range batch {
		switch {
		case err != nil:
			r.reply(w, redeemReply{err: w.fault(err)})
		case errors.Is(d.replies[i].err, errLocked):
			w.claim.failed(errLocked) // nothing of it was written, even if it has begun
			locked = append(locked, w)
		default:
			r.reply(w, d.replies[i])
		}
	}
	return locked
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
	r.db.running.Done()
}

// redeemWithRetries retries transient failures while a caller waits, even after an unknown outcome, because attempts
// are recognized by their id. It retries a unique violation at once: the conflicting row is committed and will be read.
// If that persists, it has another cause. Only the first try can suppose that the attempts are new. After an error
// there is no decision.
func (r *redeemer) redeemWithRetries(
	batch []*queuedAttempt, attempts []store.RedeemAttempt, supposed map[string]*eligibility, waits bool,
) (*decision, error) {
	ctx, cancel := r.db.detach(context.Background())
	defer cancel()
	begin := func(i int) bool { return batch[i].claim.begin() }
	conflicts := 0
	for backoff := newBackoff(); ; supposed = nil {
		var d *decision
		var err error
		if supposed != nil {
			d, err = r.db.redeemNew(ctx, attempts, supposed, begin)
		} else {
			d, err = r.db.redeemBatch(ctx, attempts, waits, begin)
		}
		if err != nil {
			for _, w := range batch {
				w.claim.failed(err)
			}
		}
		switch {
		case err == nil:
			if decided := len(attempts) - d.undecided; decided > 0 {
				r.batches.Finished(decided)
			}
		case errors.Is(err, errNotNew):
			continue
		case errors.Is(err, errLocked):
			return nil, err
		default:
			r.batches.Failed()
		}
		r.db.diskSpace.noteError(err)
		if sqlState(err) == stateUniqueViolation {
			if conflicts++; conflicts < maxConflicts {
				continue
			}
		}
		switch {
		case err == nil:
			return d, nil
		case !isRetryable(err):
			return nil, err
		}
		r.db.resetIfBroken(err)
		hasCaller := slices.ContainsFunc(batch, func(w *queuedAttempt) bool { return w.ctx.Err() == nil })
		if !hasCaller || !backoff.next(ctx) {
			return nil, err
		}
	}
}
