package bulk

import (
	"errors"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"example.com/perks/cli/command"
)

// books are what a run writes down: the results and, beside them while it is at work, the journal.
type books struct {
	batch   batch
	results *results
	journal *journal
	broken  atomic.Bool // not everything could be written down: the journal has to stay
	partial bool        // the run did not come to the end of the rows
}

// openBooks takes up the books of earlier runs over the same rows, or begins new ones. Books of other work, or of the same
// work elsewhere, are refused: their rows would pass for done.
func openBooks(f Flags, out io.Writer, mark uint32, now time.Time) (*books, error) {
	path, err := f.checkPaths(out)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return &books{batch: newBatch(now, mark), results: streamResults(out), journal: &journal{}}, nil
	}
	j, err := openJournal(path)
	if err != nil {
		return nil, err
	}
	b := &books{journal: j, batch: j.batch}
	b.results, err = openResults(path, j.left)
	switch {
	case err != nil:
	case j.left && b.results.rows > 0 && b.results.batch != j.batch:
		err = command.Usagef("%s and %s are of different runs. Name another file for the results: --results FILE", path, j.path)
	case b.results.rows > 0:
		b.batch = b.results.batch
	case !j.left:
		b.batch = newBatch(now, mark)
	}
	if err == nil {
		err = b.batch.checkMark(mark, path)
	}
	if err != nil {
		return nil, errors.Join(err, b.abandon())
	}
	return b, nil
}

// close ends a run in good order, or as good as it can.
func (b *books) close() error {
	if b.broken.Load() {
		return b.abandon()
	}
	if err := b.results.finish(); err != nil {
		return errors.Join(err, b.journal.close(false))
	}
	stays := b.partial && b.journal.left // it alone knows of rows that a killed run sent and this one did not come to
	return b.journal.close(!stays)
}

// lastSign is when a run before this one may have sent something last. When one was killed nobody knows, so that it may have
// been just now; what a run writes of a row whose outcome it does not know, it writes behind the sending.
func (b *books) lastSign() time.Time {
	if b.journal.left {
		return b.journal.opened
	}
	return b.results.written
}

// abandon leaves everything as it is. A journal that says nothing does not stay.
func (b *books) abandon() error {
	var err error
	if b.results != nil {
		err = b.results.abandon()
	}
	info, statErr := os.Stat(b.journal.path)
	return errors.Join(err, b.journal.close(statErr == nil && info.Size() == 0))
}

// rowStates is what is known of the rows, in 12 bytes for each: whether a row is done, with which outcome, and what the row said
// then. It grows by chunks, because a doubling slice would need three times as much for a moment.
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

// hasID tells whether a row is done with an outcome of this id. It scans all rows: it is called only where a reply was lost, and
// a million rows take a millisecond.
func (s *rowStates) hasID(id string) bool {
	hash := s.hash(id)
	for _, c := range s.chunks {
		if slices.Contains(c.state[:], hash) {
			return true
		}
	}
	return false
}
