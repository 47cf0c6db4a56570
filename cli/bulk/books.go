package bulk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"example.com/perks/cli/exit"
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
	path := f.resultsPath()
	if path == "" {
		return &books{batch: newBatch(now, mark), results: streamResults(out), journal: &journal{}}, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil { // what has two names has one journal, and the link stays one
		path = real
	}
	if err := f.checkPaths(path); err != nil {
		return nil, err
	}
	j, err := openJournal(path)
	if err != nil {
		return nil, err
	}
	b := &books{journal: j}
	if err := b.takeUp(path, mark, now); err != nil {
		return nil, errors.Join(err, b.abandon())
	}
	return b, nil
}

func (b *books) takeUp(path string, mark uint32, now time.Time) error {
	results, batch, found, err := openResults(path, b.journal.left)
	if err != nil {
		return err
	}
	b.results = results
	switch {
	case b.journal.left && found && batch != b.journal.batch:
		return exit.Usagef("%s and %s are of different runs. Name another file for the results: --results FILE", path, b.journal.path)
	case b.journal.left:
		batch = b.journal.batch
	case !found:
		batch = newBatch(now, mark)
	}
	if batch.mark() != mark {
		return exit.Usagef("%s holds the results of another command, or of another server or sandbox: this job has to have a file of its own. "+
			"Name one: --results FILE", path)
	}
	b.batch = batch
	return nil
}

// begin notes that the run is at work.
func (b *books) begin(rows int64, sum uint64) error { return b.journal.begin(b.batch, rows, sum) }

// close ends a run in good order, or as good as it can.
func (b *books) close() error {
	if b.broken.Load() {
		return b.abandon()
	}
	if err := b.results.finish(); err != nil {
		return errors.Join(err, b.journal.release())
	}
	if b.partial && b.journal.left { // it alone knows of rows that a killed run sent and this one did not come to
		return b.journal.release()
	}
	return b.journal.remove()
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
	if b.journal.empty() {
		return errors.Join(err, b.journal.remove())
	}
	return errors.Join(err, b.journal.release())
}

// resultsPath is the file of the results, "" where they go to standard output and no later run can take them up.
func (f Flags) resultsPath() string {
	switch {
	case f.Results != "":
		return f.Results
	case f.File == stdin:
		return ""
	}
	return f.File + ".results.jsonl"
}

// checkPaths refuses files that would be written over each other.
func (f Flags) checkPaths(results string) error {
	if info, err := os.Stat(f.Failed); err == nil && f.Failed != "" && !info.Mode().IsRegular() {
		return exit.Usagef("--failed %s is no regular file: a file would be put in its place.", f.Failed)
	}
	paths := []struct{ flag, path string }{{"--file", f.File}, {"--results", results}, {"the journal of --results", results + ".journal"}, {"--failed", f.Failed}}
	for i, a := range paths {
		for _, b := range paths[:i] {
			if a.path != "" && b.path != stdin && isSameFile(a.path, b.path) {
				return exit.Usagef("%s and %s are the same file, %s: one would be written over the other.", b.flag, a.flag, a.path)
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
