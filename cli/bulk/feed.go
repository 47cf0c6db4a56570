package bulk

import (
	"iter"
	"sync"

	"example.com/perks/api/rows"
)

// job is a row on its way.
type job struct {
	row     int // the line of the input
	content uint32
	key     string
	raw     rows.Row
	task    Task
	subject string         // of the task
	invalid error          // why there is no task
	broken  *rows.RowError // why there is not even a row
	done    bool           // by an earlier run; there is no task
	sent    bool           // an earlier run may have sent it
}

// feed hands out the rows in their order, one at a time. A row about something that another row is changing right now waits
// behind that one: in the end the last row about a property has the last word, and two rows can never claim one outcome.
type feed struct {
	reading sync.Mutex // held while the input is read, which may take as long as its writer likes
	next    func() (rows.Row, error, bool)
	stop    func()
	prep    func(rows.Row, error) (*job, error) // nil for a row that needs no work

	mu      sync.Mutex
	changed *sync.Cond
	busy    map[string][]*job // by subject, those that wait behind the one at work
	waiting int
	flying  int // jobs that were handed out and are not done
	ended   bool
	halted  bool
	err     error
}

// maxWaiting bounds the rows that wait behind others.
const maxWaiting = 1024

func newFeed(source iter.Seq2[rows.Row, error], prep func(rows.Row, error) (*job, error)) *feed {
	f := &feed{prep: prep, busy: map[string][]*job{}}
	f.changed = sync.NewCond(&f.mu)
	f.next, f.stop = iter.Pull2(source)
	return f
}

// take returns the next row that may be worked on, or nil when there is none any more. Its taker gives it back by done.
func (f *feed) take() *job {
	f.reading.Lock()
	defer f.reading.Unlock()
	for f.wanted() {
		j, err := f.read()
		if err != nil || j == nil {
			f.end(err)
			return nil
		}
		if f.claim(j) {
			return j
		}
	}
	return nil
}

// wanted waits until there is room for another row, and tells whether there are to be any.
func (f *feed) wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.waiting >= maxWaiting && !f.ended {
		f.changed.Wait()
	}
	return !f.ended
}

// read returns the next row that needs work, nil at the end of the input.
func (f *feed) read() (*job, error) {
	for {
		row, err, more := f.next()
		if !more {
			return nil, nil
		}
		j, err := f.prep(row, err)
		if err != nil || j != nil {
			return j, err
		}
	}
}

// claim tells whether the row may be worked on now. Otherwise it waits behind the one that is.
func (f *feed) claim(j *job) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.halted {
		return false
	}
	if j.task != nil {
		j.subject = j.task.Subject()
		behind, isBusy := f.busy[j.subject]
		if isBusy {
			f.busy[j.subject] = append(behind, j)
			f.waiting++
			return false
		}
		f.busy[j.subject] = nil
	}
	f.flying++
	return true
}

// done says that a row is behind, and returns the one that waited for it, if there is one.
func (f *feed) done(j *job) *job {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j.task != nil {
		if behind := f.busy[j.subject]; len(behind) > 0 {
			f.busy[j.subject] = behind[1:]
			if f.waiting--; f.waiting == maxWaiting-1 {
				f.changed.Broadcast()
			}
			return behind[0]
		}
		delete(f.busy, j.subject)
	}
	if f.flying--; f.flying == 0 { // whoever drains waits for no other
		f.changed.Broadcast()
	}
	return nil
}

// halt lets no further rows out.
func (f *feed) halt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended, f.halted = true, true
	f.changed.Broadcast()
}

func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended, f.err = true, err
	f.changed.Broadcast()
}

// drain waits until no row is out and none will be, and returns what ended the reading apart from the end of the input. It
// does not wait for an input that stays silent after a halt.
func (f *feed) drain() error {
	f.mu.Lock()
	for !f.ended || f.flying > 0 {
		f.changed.Wait()
	}
	defer f.mu.Unlock()
	if f.reading.TryLock() {
		f.stop()
		f.reading.Unlock()
	}
	return f.err
}
