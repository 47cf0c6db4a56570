package bulk

import (
	"errors"
	"hash/maphash"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"example.com/perks/cli/command"
)

// runState is what a run writes to files: the results and, while it is at work, the journal.
type runState struct {
	batchID    batch
	results    *results
	journal    *journal
	incomplete atomic.Bool // a result could not be written, so the journal has to stay
	partial    bool        // the run stopped before the last row
}

// openRunState resumes from the files of earlier runs of the same rows, or creates new ones. It refuses the files of
// another command or another server: their rows would count as done.
func openRunState(f Flags, out io.Writer, mark uint32, now time.Time) (*runState, error) {
	path, err := f.checkPaths(out)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return &runState{batchID: newBatch(now, mark), results: streamResults(out), journal: &journal{}}, nil
	}
	j, err := openJournal(path)
	if err != nil {
		return nil, err
	}
	s := &runState{journal: j, batchID: j.batch}
	s.results, err = openResults(path, j.leftover)
	switch {
	case err != nil:
	case j.leftover && s.results.rows > 0 && s.results.batch != j.batch:
		err = command.Usagef("%s and %s are of different runs. %s", path, j.path, otherName)
	case s.results.rows > 0:
		s.batchID = s.results.batch
	case !j.leftover:
		s.batchID = newBatch(now, mark)
	}
	if err == nil {
		err = s.batchID.checkMark(mark, path)
	}
	if err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	return s, nil
}

// close finishes the results. It removes the journal unless a later run still needs it.
func (s *runState) close() error {
	if s.incomplete.Load() {
		return s.abandon()
	}
	if err := s.results.finish(); err != nil {
		return errors.Join(err, s.journal.close(false))
	}
	needed := s.partial &&
		s.journal.leftover // only it knows the rows that a killed run sent and this one did not reach
	return s.journal.close(!needed)
}

// lastSent is the latest time at which an earlier run may have sent a request. A killed run may have sent one until
// this run took the journal. Any other run wrote to the results after its last request.
func (s *runState) lastSent() time.Time {
	if s.journal.leftover {
		return s.journal.opened
	}
	return s.results.written
}

// abandon closes the files as they are, and removes an empty journal.
func (s *runState) abandon() error {
	var err error
	if s.results != nil {
		err = s.results.abandon()
	}
	return errors.Join(err, s.journal.release())
}

// rowStates holds the state of each row in 12 bytes: whether it is done, a hash of the outcome's id, and a hash of the
// row's content. It grows in chunks, because a growing slice needs up to three times the memory while it is copied.
type rowStates struct {
	chunks map[int]*chunk
	seed   maphash.Seed
}

const chunkSize = 4096

type chunk struct {
	state   [chunkSize]uint64 // untried, failed, unknown, or a hash of the outcome's id
	content [chunkSize]uint32
}

const (
	untried uint64 = iota
	failed
	unknown
	firstDone // this and all above mean that the row is done
)

func newRowStates() *rowStates {
	return &rowStates{chunks: map[int]*chunk{}, seed: maphash.MakeSeed()}
}

func (s *rowStates) hash(id string) uint64 {
	return max(maphash.String(s.seed, id), firstDone)
}

func (s *rowStates) set(row int, state uint64, content uint32) {
	c := s.chunks[row/chunkSize]
	if c == nil {
		c = &chunk{}
		s.chunks[row/chunkSize] = c
	}
	c.state[row%chunkSize], c.content[row%chunkSize] = state, content
}

func (s *rowStates) get(row int) (state uint64, content uint32) {
	if c := s.chunks[row/chunkSize]; c != nil {
		return c.state[row%chunkSize], c.content[row%chunkSize]
	}
	return untried, 0
}

// has tells whether a row has this state.
func (s *rowStates) has(state uint64) bool {
	for _, c := range s.chunks {
		if slices.Contains(c.state[:], state) {
			return true
		}
	}
	return false
}

// hasID tells whether a row is done with an outcome of this id. It scans all rows: it is called only where a reply
// was lost, and a million rows take a millisecond.
func (s *rowStates) hasID(id string) bool {
	return s.has(s.hash(id))
}
