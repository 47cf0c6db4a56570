package bulk

import (
	"errors"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.com/perks/api/rows"
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

// resultsPath is the file of the results, "" where they go to standard output and no later run can take them up.
func (f Flags) resultsPath() string {
	switch {
	case f.Results == stdout || f.Results == "" && f.File == stdin:
		return ""
	case f.Results != "":
		return f.Results
	}
	return f.File + ".results.jsonl"
}

const stdout = "-"

// checkPaths refuses results and failed rows that would not go to files of their own: a device may never end, and what is
// written to a pipe no later run can read. It returns the path of the results.
func (f Flags) checkPaths(out io.Writer) (results string, err error) {
	results = f.resultsPath()
	if info, err := os.Stat(results); err == nil && results != "" {
		if !info.Mode().IsRegular() {
			return "", command.Usagef("--results %s is not a regular file, so a later run could not resume from it. Name a file, or - for standard output.", results)
		}
		if file, ok := out.(*os.File); ok && isFile(file, info) {
			return "", command.Usagef("--results %s is standard output, where other data goes too. Name another file, or - for standard output alone.", results)
		}
	}
	if f.Failed == stdout {
		return "", command.Usagef("--failed takes a file, not standard output: it is written as a whole when the run ends.")
	}
	if info, err := os.Stat(f.Failed); err == nil && f.Failed != "" && !info.Mode().IsRegular() {
		return "", command.Usagef("--failed %s is no regular file: a file would be put in its place.", f.Failed)
	}
	if real, err := filepath.EvalSymlinks(results); err == nil && results != "" { // what has two names has one journal, and the link stays one
		results = real
	}
	return results, f.checkSame(results)
}

// checkFailed refuses a name by which another run would take the failed rows for another format.
func (f Flags) checkFailed(format rows.Format) error {
	is, err := rows.FormatOf(f.Failed)
	if err != nil || is == format {
		return nil // without such a name, a run goes by how the file begins
	}
	name := strings.TrimSuffix(f.Failed, filepath.Ext(f.Failed)) + "." + string(format)
	return command.Usagef("--failed %s would hold %s rows, as --file does, but its name says %s. Call it %s.", f.Failed, format, is, name)
}

// checkSame refuses files that would be written over each other.
func (f Flags) checkSame(results string) error {
	type file struct{ flag, path string }
	files := []file{{"--file", f.File}, {"--failed", f.Failed}}
	if results != "" {
		files = append(files, file{"--results", results}, file{"the journal of --results", results + ".journal"})
	}
	for i, a := range files {
		for _, b := range files[:i] {
			if a.path != "" && b.path != "" && b.path != stdin && isSameFile(a.path, b.path) {
				return command.Usagef("%s and %s are the same file, %s: one would be written over the other.", b.flag, a.flag, a.path)
			}
		}
	}
	return nil
}

func isSameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
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
