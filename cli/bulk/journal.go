package bulk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"example.com/perks/cli/command"
)

// journal is a file that exists while a run is active. It says which rows may be sent before they are, so that the run
// after a killed one knows which outcomes to look up. Only one run at a time has it.
//
// The zero journal writes nothing. It is for results on standard output, from where no run can resume.
type journal struct {
	path string
	lock *flock.Flock
	file *os.File
	sync func() error // flushes to disk

	isRepeatable bool // rows can be sent twice

	leftover bool      // an earlier run was killed
	batch    batch     // of that run
	sent     int       // it may have sent rows up to this one
	rows     int64     // of its input, 0 if unknown
	sum      uint64    // of them
	opened   time.Time // by this run

	marking     sync.Mutex // a row may still be read after the run is done
	upTo        int        // rows up to this one may be sent by this run
	pending     chan error // the outcome of the write of the next mark; nil if there is none
	pendingUpTo int
	keys        atomic.Bool
	broken      error // of a write
	mu          sync.Mutex
}

type entry struct {
	Batch string `json:"batch,omitempty"` // a run begins or resumes
	UpTo  int    `json:"up_to,omitempty"` // rows up to this one may be sent from now on
	Keys  bool   `json:"keys,omitempty"`  // the server honours idempotency keys
	Rows  int64  `json:"rows,omitempty"`  // with a batch: the rows of the input, if known
	Sum   uint64 `json:"sum,omitempty"`   // of them
}

// maxAhead is how many rows a mark covers, so that they share one flush to disk.
const maxAhead = 512

// ahead is how many rows a mark covers now. Rows that are marked and were not sent are unknown after a kill, unless the
// service honours keys.
func (j *journal) ahead() int {
	if j.keys.Load() || j.isRepeatable {
		return maxAhead
	}
	return 1
}

// openJournal locks the journal of the results, or fails if another run has it.
func openJournal(resultsPath string) (*journal, error) {
	path := resultsPath + ".journal"
	for {
		lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
		locked, err := tryLock(lock)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, command.Usagef("--results: the directory %s does not exist.", filepath.Dir(path))
		}
		if err != nil {
			return nil, fmt.Errorf("the journal of the results cannot be locked: %w", err)
		}
		if !locked {
			return nil, command.Busy(fmt.Sprintf("Another run is using %s. Wait until it ends. %s", resultsPath,
				otherName))
		}
		file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
		if errors.Is(err, os.ErrNotExist) { // the other run finished in between
			_ = lock.Close()
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the journal of the results cannot be opened: %w", err), lock.Close())
		}
		j := &journal{path: path, lock: lock, file: file, sync: file.Sync}
		if same, err := j.isCurrent(); err != nil || !same {
			_ = errors.Join(file.Close(), lock.Close())
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := j.read(); err != nil {
			return nil, errors.Join(err, file.Close(), lock.Close())
		}
		return j, nil
	}
}

// tryLock waits a little, because bulk status has the lock for a moment.
func tryLock(lock *flock.Flock) (locked bool, err error) {
	waiting, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	locked, err = lock.TryLockContext(waiting, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return locked, err
}

// isCurrent tells whether the locked file still has that name: the run that had it may have removed it.
func (j *journal) isCurrent() (bool, error) {
	locked, err := j.lock.Stat()
	if err != nil {
		return false, fmt.Errorf("the journal of the results cannot be locked: %w", err)
	}
	named, err := os.Stat(j.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	opened, openErr := j.file.Stat()
	if err := errors.Join(err, openErr); err != nil {
		return false, fmt.Errorf("the journal of the results cannot be locked: %w", err)
	}
	return os.SameFile(locked, named) && os.SameFile(opened, named), nil
}

// read reads what a killed run left. It cuts off a half-written last line: no row that this allows can have been sent.
func (j *journal) read() error {
	j.opened = time.Now()
	in := bufio.NewReader(j.file)
	whole := int64(0)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return j.file.Truncate(whole)
		}
		if err != nil {
			return fmt.Errorf("the journal of the results cannot be read: %w", err)
		}
		whole += int64(len(line))
		if err := j.take(line); err != nil {
			return err
		}
	}
}

// take reads one line of a journal.
func (j *journal) take(line []byte) error {
	var e entry
	if json.Unmarshal(line, &e) != nil {
		return fmt.Errorf("%s cannot be read, so it is unknown which rows were sent. Check them by hand, or rename the file", j.path)
	}
	if e.Batch != "" {
		id, err := uuid.Parse(e.Batch)
		if err != nil {
			return fmt.Errorf("%s is not a journal of perksctl", j.path)
		}
		j.leftover, j.batch, j.rows, j.sum = true, batch(id), e.Rows, e.Sum
	}
	j.sent = max(j.sent, e.UpTo)
	j.keys.Store(j.keys.Load() || e.Keys)
	return nil
}

// peekJournal reads the journal of the results without changing it, and whether a run has it. If there is none, it is
// empty.
func peekJournal(resultsPath string) (j *journal, running bool, err error) {
	j = &journal{path: resultsPath + ".journal"}
	lock := flock.New(j.path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if errors.Is(err, os.ErrNotExist) {
		return j, false, nil
	}
	if err := errors.Join(err, lock.Close()); err != nil {
		return nil, false, fmt.Errorf("the journal of the results cannot be locked: %w", err)
	}
	text, err := os.ReadFile(j.path)
	if errors.Is(err, os.ErrNotExist) { // the run finished in between
		return j, false, nil
	}
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) { // else it is still being written, or never was
			err = errors.Join(err, j.take(line))
		}
	}
	return j, !free, err
}

// begin records the start of a run. Earlier entries stay: they are true until a run reaches the last row.
func (j *journal) begin(b batch, rows int64, sum uint64) error {
	if err := j.write(entry{Batch: b.String(), Rows: rows, Sum: sum}); err != nil || j.file == nil {
		return err
	}
	return command.SyncDir(j.path)
}

// allow records that a row may be sent, before it is. The next mark is written while the rows of the last one are sent,
// so that rows wait for the disk only if it is slower than the service.
func (j *journal) allow(row int) error {
	j.marking.Lock()
	defer j.marking.Unlock()
	if row > j.upTo {
		if err := j.awaitMark(); err != nil {
			return err
		}
	}
	if row > j.upTo {
		j.startMark(row + j.ahead() - 1)
		if err := j.awaitMark(); err != nil {
			return err
		}
	}
	if ahead := j.ahead(); j.pending == nil && ahead > 1 && row > j.upTo-ahead/2 {
		j.startMark(j.upTo + ahead)
	}
	return nil
}

// startMark starts to write that rows up to this one may be sent.
func (j *journal) startMark(upTo int) {
	pending := make(chan error, 1)
	j.pending, j.pendingUpTo = pending, upTo
	go func() { pending <- j.write(entry{UpTo: upTo}) }()
}

// awaitMark waits until the pending mark is on disk.
func (j *journal) awaitMark() error {
	if j.pending == nil {
		return nil
	}
	err := <-j.pending
	if j.pending = nil; err == nil {
		j.upTo = j.pendingUpTo
	}
	return err
}

func (j *journal) noteKeys() error {
	if j.keys.Swap(true) {
		return nil
	}
	return j.write(entry{Keys: true})
}

func (j *journal) write(e entry) error {
	if j.file == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil { // no line may follow half a line
		if _, j.broken = j.file.Write(append(line, '\n')); j.broken == nil {
			j.broken = j.sync()
		}
	}
	if j.broken != nil {
		return fmt.Errorf("the journal of the results cannot be written: %w", j.broken)
	}
	return nil
}

// release closes the journal as it is, and removes an empty one.
func (j *journal) release() error {
	info, err := os.Stat(j.path)
	return j.close(err == nil && info.Size() == 0)
}

// close releases the journal. It removes it where the results say everything.
func (j *journal) close(remove bool) (err error) {
	if j.file == nil {
		return nil
	}
	j.marking.Lock()
	_ = j.awaitMark() // no row relies on a pending mark
	j.marking.Unlock()
	if remove {
		if err := os.Remove(j.path); err != nil {
			return fmt.Errorf("the journal of the results cannot be removed: %w", err)
		}
		err = command.SyncDir(j.path)
	}
	return errors.Join(err, j.file.Close(), j.lock.Close())
}
