package operation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/perks/api/client"
)

// Every cell of the table keeps the promises that a run which resumes relies on.
func TestEveryCellOfTheRowTable(t *testing.T) {
	cells := 0
	for state := RowUntried; state <= RowDone; state++ {
		for event := RowAllowed; event <= RowKilled; event++ {
			cells++
			next := state.Next(event)
			sends := state == RowSending || state == RowResuming
			for rule, broken := range map[string]bool{
				"done stays done":                state == RowDone && next != RowDone,
				"only the service makes it done": state != RowDone && next == RowDone && event != RowConfirmed,
				"a row is sent once it is allowed": (next == RowSending || next == RowResuming) && !sends &&
					event != RowAllowed,
				"a row that may be sent is not fresh": sends && event == RowKilled && !next.MayBeDone(),
				"what may be done fails by the service": state.MayBeDone() && !next.MayBeDone() && next != RowDone &&
					event != RowRefused && event != RowInvalid,
				"an earlier run's send is not forgotten": state == RowResuming && next == RowUntried,
				"no result without a run": !sends &&
					(event == RowConfirmed || event == RowRefused || event == RowLost) && next != state,
			} {
				if broken {
					t.Errorf("state %d, event %d: %s, but got %d", state, event, rule, next)
				}
			}
		}
	}
	if cells != 7*8 {
		t.Errorf("%d cells walked", cells)
	}
}

// ledger is a service that redeems, and the log of the runs that ask it. Each request may be lost before or after it
// was carried out. A killed run notes nothing more.
type ledger struct {
	mu      sync.Mutex
	r       *rand.Rand
	keys    bool
	made    map[string]string // idempotency keys by subject
	twice   bool
	states  map[int]RowState
	killed  bool
	kill    func()
	trouble int // of 10 requests
}

func (l *ledger) Note(row *Row, result RowResult) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.killed {
		return errors.New("killed")
	}
	l.states[row.Number] = result.State
	return nil
}

func (l *ledger) Taken(string) bool   { return false }
func (l *ledger) Began() time.Time    { return time.Unix(0, 0) }
func (l *ledger) LastSent() time.Time { return time.Unix(0, 0) }

// part is a task on the ledger.
type part struct {
	*ledger
	number  int
	subject string
}

func (p part) Subject() string { return p.subject }

func (p part) Send(_ context.Context, _ *client.Client, key string) (o Outcome, replayed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return o, false, &client.Unreachable{Address: "service", Err: errors.New("killed"), NotSent: true}
	}
	if p.r.IntN(40) == 0 {
		p.killed = true
		p.kill()
	}
	trouble := p.r.IntN(20)
	if trouble < p.trouble {
		return o, false, errLostReply
	}
	made, known := p.made[p.subject]
	switch {
	case known && p.keys && made == key:
		return Outcome{ID: p.subject, Status: 201}, true, p.lateTrouble(trouble)
	case known && p.keys:
		return o, false, &client.Error{Status: 409, Code: "already_redeemed", KeyUnused: true}
	case known:
		p.twice = p.twice || made == key
		return o, false, &client.Error{Status: 409, Code: "conflict"}
	}
	p.made[p.subject] = key
	return Outcome{ID: p.subject, Status: 201}, false, p.lateTrouble(trouble)
}

func (l *ledger) lateTrouble(n int) error {
	if n < 2*l.trouble || l.killed {
		return errLostReply
	}
	return nil
}

var errLostReply = &client.Unreachable{Address: "service", Err: errors.New("cut"), OutcomeUnknown: true}

func (p part) Predict(context.Context, *client.Client) Prediction {
	return Prediction{Message: p.subject}
}

func (p part) After(row int) error {
	if p.number%5 == 0 {
		return fmt.Errorf("row %d comes first", row)
	}
	return nil
}

func (p part) LookUp(context.Context, *client.Client, time.Time, func(string) bool) (Outcome, Event, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.r.IntN(10) < p.trouble {
		return Outcome{}, Unread, errLostReply
	}
	if p.made[p.subject] != "" {
		return Outcome{ID: p.subject}, Match, nil
	}
	return Outcome{}, Absent, nil
}

// run carries out the rows that are not done, and forgets like a process what is not written down.
func (l *ledger) run(rows []*Row) {
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	l.killed, l.kill = false, kill
	b := &Batch{
		Log: l, Concurrency: 1 + l.r.IntN(4), Now: time.Now, Patience: time.Hour,
		Wait:      func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		KeysCount: func() bool { return l.keys },
	}
	b.Begin(ctx)
	allowed, read := map[int]bool{}, make(chan struct{})
	_ = b.Run(func(yield func(*Row, error) bool) {
		defer close(read)
		for _, made := range rows {
			l.mu.Lock()
			row := *made
			row.State = l.states[row.Number]
			if row.State != RowDone {
				row.State = row.State.Next(RowAllowed)
				allowed[row.Number] = true
			}
			l.mu.Unlock()
			if row.State != RowDone && !yield(&row, nil) {
				return
			}
		}
	}, func() {})
	<-read                        // a row may be read while the run ends
	for number := range allowed { // the journal of a killed run says which rows may have been sent
		if state := l.states[number]; l.killed && state != RowDone && state != RowUnknown {
			l.states[number] = state.Next(RowAllowed).Next(RowKilled)
		}
	}
}

// Runs that are killed at any request, and resumed, do each row at most once, and claim nothing that is not so.
func TestRandomBatchesKeepTheirPromises(t *testing.T) {
	for seed := range uint64(700) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			l := &ledger{r: r, keys: r.IntN(2) == 0, made: map[string]string{}, states: map[int]RowState{},
				trouble: r.IntN(3)}
			var rows []*Row
			for i := range 30 {
				subject := fmt.Sprintf("s%d", r.IntN(25))
				rows = append(rows, &Row{Number: i + 1, Key: fmt.Sprintf("k%d", i+1), Task: part{l, i + 1, subject}})
			}
			for range 40 {
				l.run(rows)
			}
			l.trouble = 0
			for range 2 { // the last runs are not disturbed, unless they are killed
				l.run(rows)
			}
			for _, row := range rows {
				isMade := l.made[row.Task.Subject()] == row.Key
				switch state := l.states[row.Number]; {
				case state == RowDone && !isMade, state == RowFailed && isMade, l.twice,
					l.keys && state == RowUnknown && !l.killed && isMade:
					t.Fatalf("seed %d: row %d is in state %d, made %t, twice %t", seed, row.Number, state, isMade,
						l.twice)
				}
			}
		})
	}
}

// A row that waits without a slot goes on although the queue behind it is full: the reader of the next row has to wait
// for it, and must not take its slot.
func TestARowWithoutSlotGoesOnWhenTheQueueIsFull(t *testing.T) {
	const rows = maxWaiting + 10
	l := &ledger{r: rand.New(rand.NewPCG(1, 1)), made: map[string]string{}, states: map[int]RowState{}}
	l.kill = func() {}
	var read atomic.Int64
	full := make(chan struct{})
	first := &losesFirst{part: part{l, 1, "a"}}
	b := &Batch{Log: l, Concurrency: 1, Now: time.Now, Patience: time.Hour}
	b.Wait = func(ctx context.Context, _ time.Duration) error {
		<-full
		return ctx.Err()
	}
	b.Begin(t.Context())
	err := b.Run(numbered(rows, func(n int) Task {
		if read.Add(1) == maxWaiting+2 { // one in progress, the queue, and this one
			close(full)
		}
		return first
	}), func() {})
	if err != nil || first.sends.Load() != rows+1 {
		t.Errorf("%d sends of %d rows, %v", first.sends.Load(), rows, err)
	}
	select {
	case <-b.idle:
	default:
		t.Error("a goroutine that has finished its row waits for ever for another")
	}
}

type losesFirst struct {
	part
	sends atomic.Int64
}

func (l *losesFirst) Send(context.Context, *client.Client, string) (Outcome, bool, error) {
	if l.sends.Add(1) == 1 {
		return Outcome{}, false, errLostReply
	}
	return Outcome{ID: "a"}, false, nil
}

func (l *losesFirst) LookUp(context.Context, *client.Client, time.Time, func(string) bool) (Outcome, Event, error) {
	return Outcome{}, Absent, nil
}

func numbered(n int, task func(n int) Task) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		for i := range n {
			if !yield(&Row{Number: i + 1, Task: task(i + 1), State: RowSending}, nil) {
				return
			}
		}
	}
}

// Rows about one record are sent in their order, however many run at once.
func TestRowsAboutOneRecordStayInOrder(t *testing.T) {
	var mu sync.Mutex
	order := map[string][]int{}
	l := &ledger{states: map[int]RowState{}}
	b := &Batch{Log: l, Concurrency: 8, Now: time.Now, Patience: time.Hour}
	b.Begin(t.Context())
	err := b.Run(numbered(300, func(n int) Task {
		return noted{part{l, n, fmt.Sprint(n % 7)}, func(p part) {
			mu.Lock()
			defer mu.Unlock()
			order[p.subject] = append(order[p.subject], p.number)
		}}
	}), func() {})
	for subject, numbers := range order {
		if !slices.IsSorted(numbers) {
			t.Errorf("%s: %v", subject, numbers)
		}
	}
	if err != nil || len(order) != 7 {
		t.Errorf("%d subjects, %v", len(order), err)
	}
}

type noted struct {
	part
	note func(part)
}

func (n noted) Send(context.Context, *client.Client, string) (Outcome, bool, error) {
	n.note(n.part)
	return Outcome{ID: "x"}, false, nil
}

// Predictions come in the order of the rows, and tell which repeats the record of an earlier one; nothing is sent.
func TestPredictionsAreInTheOrderOfTheRows(t *testing.T) {
	const subjects = 40
	l := &ledger{states: map[int]RowState{}, made: map[string]string{}}
	b := &Batch{Log: l, Concurrency: 3, Predictions: 100}
	row := 0
	for p, err := range b.Predict(t.Context(), numbered(100, func(n int) Task {
		return part{l, n, fmt.Sprint(n % subjects)}
	})) {
		row++
		behind := 0
		if row > subjects {
			behind = (row-1)%subjects + 1
		}
		wantErr := behind > 0 && row%5 == 0
		if err != nil || p.Number != row || p.Behind != behind || (p.Err != nil) != wantErr ||
			!wantErr && p.Message != fmt.Sprint(row%subjects) {
			t.Errorf("row %d: %+v of row %d behind %d, %v", row, p.Prediction, p.Number, p.Behind, err)
		}
	}
	if row != 100 || len(l.made) > 0 || b.ForgetsSubjects() {
		t.Errorf("%d rows, %d made", row, len(l.made))
	}
}

// Without a client nothing is sent, a later run has all rows to do, and a prediction says why.
func TestABatchWithoutAClientDoesNothing(t *testing.T) {
	broken := errors.New("not logged in")
	l := &ledger{states: map[int]RowState{}, made: map[string]string{}}
	connect := func() (*client.Client, error) { return nil, broken }
	rows := numbered(20, func(n int) Task { return part{l, n, fmt.Sprint(n)} })
	b := &Batch{Log: l, Connect: connect, Concurrency: 2, Now: time.Now, Patience: time.Hour}
	b.Begin(t.Context())
	if err := b.Run(rows, func() {}); err != broken || len(l.made) > 0 || len(l.states) > 0 {
		t.Errorf("%v, made %v, noted %v", err, l.made, l.states)
	}
	for _, err := range (&Batch{Connect: connect, Concurrency: 2}).Predict(t.Context(), rows) {
		if err != broken {
			t.Errorf("predicted %v", err)
		}
	}
}
