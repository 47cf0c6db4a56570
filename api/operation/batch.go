package operation

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// Batch makes many changes, or predicts them. Fill in the exported fields; Run may be called once.
type Batch struct {
	// Connect makes the client, or returns the one that it has made. Nil if the tasks need none.
	Connect     func() (*client.Client, error)
	Log         Log
	Concurrency int
	Rate        float64 // rows to start in a second; 0 is any number
	Now         func() time.Time
	Wait        func(context.Context, time.Duration) error
	// KeysCount tells whether the service honours idempotency keys, and still remembers those of the batch. Nil if the
	// tasks need no keys, because to repeat them changes nothing.
	KeysCount func() bool
	Resends   bool             // nobody minds if a row is done twice
	StopsAll  func(error) bool // tells which errors say that no row can be sent, beside those of the service
	Patience  time.Duration    // a request that fails after this long says that the service is down
	// Predictions is how many rows Predict may read for at once where the tasks share requests; 0 is Concurrency.
	Predictions int

	failures    atomic.Int64 // of the service since an answer that was none
	probe       sync.Once    // of whether the service honours keys
	slots       *semaphore.Weighted
	workers     *semaphore.Weighted // one for each row in progress, including those that wait without a slot
	waiting     *semaphore.Weighted // one for each row in a queue
	idle        chan *Row           // hands a row to a goroutine that has finished another
	limit       *rate.Limiter
	requests    context.Context
	running     context.Context // ends when no further row may start; requests in flight continue
	stop        context.CancelCauseFunc
	subjects    sync.Mutex
	queues      map[string][]*Row // the rows that wait for one in progress, by subject
	unknownRows map[string]int    // rows whose outcome is unknown, by subject
	forgets     atomic.Bool       // see ForgetsSubjects
}

const (
	maxWithoutSlot = 256  // rows that wait without a slot
	maxWaiting     = 1024 // rows in all queues

	// SettleDelay is how long a server may keep processing a request after its connection has broken.
	SettleDelay = 5 * time.Second
	// maxSends bounds the requests for a row whose replies are lost.
	maxSends = 3
	// ManyFailures in a row, of whatever rows, are an outage. A few rows can make the service fail by what they say.
	ManyFailures = 10
)

// Client returns the client of the batch.
func (b *Batch) Client() (*client.Client, error) {
	if b.Connect == nil {
		return nil, nil
	}
	return b.Connect()
}

// Begin prepares the batch. Stop may be called from then on.
func (b *Batch) Begin(ctx context.Context) {
	b.running, b.stop = context.WithCancelCause(ctx)
	b.requests = client.WithWaitContext(context.WithoutCancel(ctx), b.running)
	b.slots, b.waiting = semaphore.NewWeighted(int64(b.Concurrency)), semaphore.NewWeighted(maxWaiting)
	b.workers = semaphore.NewWeighted(int64(b.Concurrency) + maxWithoutSlot)
	b.idle, b.queues, b.unknownRows = make(chan *Row), map[string][]*Row{}, map[string]int{}
	b.limit = b.Limiter()
}

// Limiter spaces rows as the rate asks.
func (b *Batch) Limiter() *rate.Limiter {
	if b.Rate > 0 {
		return rate.NewLimiter(rate.Limit(b.Rate), 1)
	}
	return rate.NewLimiter(rate.Inf, 1)
}

// Stop starts no further row. Requests in flight continue.
func (b *Batch) Stop(cause error) { b.stop(cause) }

// IsStopping tells whether no further row may start.
func (b *Batch) IsStopping() bool { return b.running.Err() != nil }

// Run carries out the rows, and returns when none is in progress any more. The error is about the whole batch, not
// about single rows. ending is called when the last row was started, or none may start any more.
func (b *Batch) Run(rows iter.Seq2[*Row, error], ending func()) error {
	defer b.stop(nil)
	var readErr error
	read := make(chan struct{})
	go func() {
		defer close(read)
		readErr = b.dispatch(rows)
	}()
	select {
	case <-read:
	case <-b.running.Done(): // an input that stays silent must not keep the run
	}
	ending()
	// until no row is in progress
	_ = b.workers.Acquire(context.WithoutCancel(b.running), int64(b.Concurrency)+maxWithoutSlot)
	err := context.Cause(b.running)
	select {
	case <-read:
		return cmp.Or(readErr, err)
	default:
		return err
	}
}

// dispatch starts the rows in their order. A row waits for an earlier one about the same subject, so that the last row
// about a property wins, and two rows never claim the same outcome.
func (b *Batch) dispatch(rows iter.Seq2[*Row, error]) error {
	defer close(b.idle)
	for row, err := range rows {
		if err != nil || b.IsStopping() {
			return err
		}
		if b.waiting.Acquire(b.running, 1) != nil {
			return nil
		}
		if b.queue(row) {
			continue
		}
		b.waiting.Release(1)
		if b.workers.Acquire(b.running, 1) != nil {
			return nil
		}
		if b.slots.Acquire(b.running, 1) != nil {
			b.workers.Release(1)
			return nil
		}
		select {
		case b.idle <- row:
		default:
			go b.workOnEach(row)
		}
	}
	return nil
}

// workOnEach processes one row after another until the batch ends. A goroutine for each row would grow its stack for
// every request, which took a tenth of the time.
func (b *Batch) workOnEach(row *Row) {
	for row != nil {
		b.workOn(row)
		row = <-b.idle
	}
}

// queue adds the row to the queue of its subject if a row about that is in progress, and reports whether it did.
func (b *Batch) queue(row *Row) bool {
	if row.Task == nil {
		return false
	}
	b.subjects.Lock()
	defer b.subjects.Unlock()
	subject := row.Task.Subject()
	queue, busy := b.queues[subject]
	if busy {
		queue = append(queue, row)
	}
	b.queues[subject] = queue
	return busy
}

// workOn processes a row, and then those that wait for it.
func (b *Batch) workOn(row *Row) {
	for ; row != nil; row = b.next(row) {
		if b.limit.Wait(b.running) == nil {
			event, result := b.carryOut(row)
			b.finish(row, event, result)
		} // else the batch is stopping, and this row and its queue are left for the next run
	}
	b.slots.Release(1)
	b.workers.Release(1)
}

// next returns the next row about the same subject, nil if none waits.
func (b *Batch) next(row *Row) *Row {
	if row.Task == nil {
		return nil
	}
	b.subjects.Lock()
	defer b.subjects.Unlock()
	subject := row.Task.Subject()
	queue := b.queues[subject]
	if len(queue) == 0 {
		delete(b.queues, subject)
		return nil
	}
	b.queues[subject] = queue[1:]
	b.waiting.Release(1)
	return queue[0]
}

// finish notes what became of a row.
func (b *Batch) finish(row *Row, event RowEvent, result RowResult) {
	if row.State = row.State.Next(event); event == RowLeft {
		return
	}
	result.State = row.State
	if err := b.Log.Note(row, result); err != nil {
		b.stop(err)
	}
	if row.State == RowUnknown && row.Task != nil {
		b.subjects.Lock()
		b.unknownRows[row.Task.Subject()] = row.Number
		b.subjects.Unlock()
	}
}

// carryOut makes the change of a row exactly once, whatever earlier runs did.
func (b *Batch) carryOut(row *Row) (RowEvent, RowResult) {
	if row.Task == nil {
		return RowInvalid, RowResult{Err: row.Invalid, Why: Invalid}
	}
	b.subjects.Lock()
	behind, isUnknown := b.unknownRows[row.Task.Subject()]
	b.subjects.Unlock()
	if isUnknown && behind != row.Number { // whose retry would undo this row
		return RowHeld, RowResult{Why: HeldBack, Behind: behind}
	}
	change := &rowChange{Batch: b, Row: row}
	rules := Rules{
		Now:       b.Now,
		KeysCount: func(time.Time) bool { return b.keysCount() },
		Persistence: &Persistence{
			Wait: change.wait, MayResend: b.mayResendAfter, MaxSends: maxSends, Ends: b.endsAll,
		},
	}
	if row.State != RowResuming {
		return b.resultOf(Attempt[Outcome]{Key: row.Key}.Send(b.requests, change, rules))
	}
	since := b.Log.Began()
	if since.After(b.Now()) {
		// The clock was set back. An older redemption may be taken for the row's, but no row is done twice.
		since = time.Time{}
	}
	return b.resultOf(Resumed[Outcome](row.Key, since).Resume(b.requests, change, rules))
}

// rowChange sends a row, and asks what became of it.
type rowChange struct {
	*Batch
	*Row
	isSettled bool // the first wait of a row that an earlier run may have sent is over
}

func (c *rowChange) Send(ctx context.Context, key string) (Outcome, bool, error) {
	service, err := c.Client()
	if err != nil {
		return Outcome{}, false, err
	}
	asked := c.Now()
	outcome, replayed, err := c.Task.Send(ctx, service, key)
	c.answered(err, asked)
	if err == nil {
		c.keysCount() // the log keeps that they do
	}
	return outcome, replayed, err
}

// LookUp asks the service whether the row has been done. A row about a record that does not exist is not done.
func (c *rowChange) LookUp(ctx context.Context, since time.Time) (Outcome, Event, error) {
	service, err := c.Client()
	if err != nil {
		return Outcome{}, Unread, err
	}
	asked := c.Now()
	outcome, event, err := c.Task.LookUp(ctx, service, since, c.Log.Taken)
	if IsFailing(err) {
		c.answered(err, asked)
	}
	if client.IsNotFound(err) {
		return Outcome{}, Absent, nil
	}
	return outcome, event, err
}

// Observe reads what is there before a row is sent. The first row that does so usually shows whether the service
// honours keys, and then no other needs to.
func (c *rowChange) Observe(ctx context.Context) {
	task, observes := c.Task.(ObservingTask)
	service, err := c.Client()
	if !observes || err != nil {
		return
	}
	isFirst := false
	c.probe.Do(func() {
		isFirst = true
		task.Observe(ctx, service)
	})
	if !isFirst && !c.keysCount() {
		task.Observe(ctx, service)
	}
}

// wait waits until no request of the row can be in flight any more. Those of an earlier run have had some time.
// Meanwhile other rows use the slot. It returns false if the batch stops.
func (c *rowChange) wait() bool {
	left := SettleDelay
	if c.State == RowResuming && !c.isSettled {
		c.isSettled = true
		left = min(left, c.Log.LastSent().Add(SettleDelay).Sub(c.Now())) // it would be more if the clock was set back
	}
	if left <= 0 {
		return true
	}
	c.slots.Release(1)
	err := c.Wait(c.running, left)
	_ = c.slots.Acquire(context.WithoutCancel(c.running), 1) // rows free their slots soon
	return err == nil
}

func (b *Batch) keysCount() bool { return b.KeysCount != nil && b.KeysCount() }

// mayResend tells whether a row whose outcome is unknown may be sent again although nothing was found: the service
// would not carry it out twice, or nobody minds.
func (b *Batch) mayResend() bool { return b.KeysCount == nil || b.Resends || b.keysCount() }

func (b *Batch) mayResendAfter(err error) bool {
	var unreachable *client.Unreachable
	other, isOther := errors.AsType[*client.Error](err)
	isSlow, isProxy := errors.As(err, &unreachable) && unreachable.TimedOut(), isOther && other.NotFromService
	return b.mayResend() && !isSlow && !isProxy
}

// resultOf is what became of a row. It stops the batch if an error would hit every row.
func (b *Batch) resultOf(a Attempt[Outcome]) (RowEvent, RowResult) {
	ends := b.endsAll(a.Err)
	if ends {
		b.stop(a.Err)
	}
	if b.isAboutRequest(a.CheckErr) &&
		b.HitsAll(a.CheckErr) { // a list that can't be walked to its end says nothing about others
		b.stop(a.CheckErr)
	}
	outcome := a.Result
	switch {
	case a.State == Made && outcome.Err == nil:
		return RowConfirmed, RowResult{Outcome: outcome}
	case a.State == Made && client.OutcomeUnknown(outcome.Err):
		return RowLost, RowResult{Outcome: outcome, Err: outcome.Err}
	case a.State == Made:
		return RowRefused, RowResult{Outcome: outcome, Err: outcome.Err}
	case a.State == NotMade && !ends:
		return RowRefused, RowResult{Err: a.Err}
	case a.State == Matched && !b.keysCount() && a.Candidate.ID != "":
		return RowLost, RowResult{Outcome: a.Candidate, Why: Ambiguous}
	case (a.State == Settled || a.State == Matched) && a.CheckErr == nil && !b.mayResend():
		return RowLost, RowResult{Err: cmp.Or(a.LostErr, errSentBefore), Why: NotResent}
	case a.LostErr != nil || a.CheckErr != nil:
		return RowLost, RowResult{Err: cmp.Or(a.LostErr, a.CheckErr)}
	case a.Err != nil && !ends:
		return RowLost, RowResult{Err: a.Err}
	}
	return RowLeft, RowResult{}
}

var errSentBefore error = api.Errorf("outcome_unknown", "An earlier run may have sent this row.")

// answered notes what a request came to that was sent at a time. A failure for which the client has waited as long as
// it may stops the batch at once, and so does an outage: what its rows would get is not about them.
func (b *Batch) answered(err error, asked time.Time) {
	switch {
	case IsFailing(err):
		if b.failures.Add(1) >= ManyFailures || b.Now().Sub(asked) >= b.Patience {
			b.stop(err)
		}
	case err == nil || errors.As(err, new(*client.Error)):
		b.failures.Store(0)
	}
}

// IsFailing tells whether an error is the answer of a service that fails or is overloaded, or of a proxy before it, or
// a lost reply.
func IsFailing(err error) bool {
	if refused, is := errors.AsType[*client.Error](err); is {
		return refused.Status >= http.StatusInternalServerError || refused.Status == http.StatusTooManyRequests
	}
	return client.OutcomeUnknown(err)
}

// HitsAll tells whether an error would meet every row: the service is down, asks for too long a wait or rejects this
// client, or this computer has failed.
func (b *Batch) HitsAll(err error) bool {
	var refused *client.Error
	switch {
	case b.StopsAll != nil && b.StopsAll(err), errors.As(err, new(*client.Unreachable)):
		return true
	case errors.As(err, &refused):
		return refused.LoginNeeded() || refused.Status == http.StatusTooManyRequests ||
			refused.Status == http.StatusServiceUnavailable || refused.Unsupported ||
			refused.Code == api.CodeInsufficientScope
	}
	return !errors.As(err, new(*api.Error))
}

func (b *Batch) isAboutRequest(err error) bool {
	return b.StopsAll != nil && b.StopsAll(err) || errors.As(err, new(*client.Unreachable)) ||
		errors.As(err, new(*client.Error))
}

// endsAll tells whether an error says that nothing was sent, and that no row can be.
func (b *Batch) endsAll(err error) bool {
	return err != nil && !client.OutcomeUnknown(err) && b.HitsAll(err)
}
