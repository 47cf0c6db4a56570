package bulk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"example.com/perks/cli/command"
)

// journal is the file that exists while a run is at work. It says which rows may have been sent, before they are: what is
// left of a run that was killed is enough to know what has to be found out. Only one run holds it at a time.
//
// The zero journal is that of a run whose results no later run can take up: it keeps nothing.
type journal struct {
	path string
	lock *flock.Flock
	file *os.File
	sync func() error // makes what is written last

	leftover bool      // an earlier run was killed
	batch    batch     // of that run
	sent     int       // rows up to this one may have been sent by it
	rows     int64     // of its input, 0 if that is not known
	sum      uint64    // of them
	opened   time.Time // by this run

	marking     sync.Mutex // a row may still be read when the run has ended
	upTo        int        // rows up to this one may be sent by this run
	pending     chan error // how the writing of the next mark ends; nil if none is being written
	pendingUpTo int
	keys        atomic.Bool
	broken      error // of a write
	mu          sync.Mutex
}

type entry struct {
	Batch string `json:"batch,omitempty"` // a run begins, or goes on
	UpTo  int    `json:"up_to,omitempty"` // rows up to this one may be sent from now on
	Keys  bool   `json:"keys,omitempty"`  // the server honours idempotency keys
	Rows  int64  `json:"rows,omitempty"`  // with a batch: how many rows the input had, if that was known
	Sum   uint64 `json:"sum,omitempty"`   // of them
}

// ahead is how many rows a mark covers, so that the disk is waited for once for all of them.
const ahead = 512

// openJournal takes the journal beside the results, or refuses because another run has it.
func openJournal(resultsPath string) (*journal, error) {
	path := resultsPath + ".journal"
	for {
		lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
		locked, err := lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("take the journal of the results: %w", err)
		}
		if !locked {
			return nil, &command.Busy{Message: fmt.Sprintf("Another run is at work on %s. Wait until it has ended, or name another file: --results FILE", resultsPath)}
		}
		file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
		if errors.Is(err, os.ErrNotExist) { // the run that had it ended between the two steps
			_ = lock.Close()
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the journal of the results: %w", err), lock.Close())
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

// isCurrent tells whether the locked file still is the one of that name: the run that had it may have removed it.
func (j *journal) isCurrent() (bool, error) {
	locked, err := j.lock.Stat()
	if err != nil {
		return false, fmt.Errorf("take the journal of the results: %w", err)
	}
	named, err := os.Stat(j.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	opened, openErr := j.file.Stat()
	if err := errors.Join(err, openErr); err != nil {
		return false, fmt.Errorf("take the journal of the results: %w", err)
	}
	return os.SameFile(locked, named) && os.SameFile(opened, named), nil
}

// read takes in what a run that was killed left. A last line that was written half is cut off: nothing that it allows can
// have been sent.
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
			return fmt.Errorf("read the journal of the results: %w", err)
		}
		whole += int64(len(line))
		var e entry
		if json.Unmarshal(line, &e) != nil {
			return fmt.Errorf("%s cannot be read, so that nobody knows which rows were sent. Find out by hand, or move it away", j.path)
		}
		if e.Batch != "" {
			id, err := uuid.Parse(e.Batch)
			if err != nil {
				return fmt.Errorf("%s is no journal of perksctl", j.path)
			}
			j.leftover, j.batch, j.rows, j.sum = true, batch(id), e.Rows, e.Sum
		}
		j.sent = max(j.sent, e.UpTo)
		j.keys.Store(j.keys.Load() || e.Keys)
	}
}

// begin notes that a run of the batch is at work. What was left stays: it is true until a run comes to the end of the rows.
func (j *journal) begin(b batch, rows int64, sum uint64) error {
	if err := j.write(entry{Batch: b.String(), Rows: rows, Sum: sum}); err != nil || j.file == nil {
		return err
	}
	return syncFolder(j.path)
}

// allow notes, before a row is sent, that it and those behind it may have been. The next mark is written while the rows of
// the last one are sent, so that no row waits for the disk unless that is slower than the service.
func (j *journal) allow(row int) error {
	j.marking.Lock()
	defer j.marking.Unlock()
	if row > j.upTo {
		if err := j.awaitMark(); err != nil {
			return err
		}
	}
	if row > j.upTo {
		j.startMark(row + ahead - 1)
		if err := j.awaitMark(); err != nil {
			return err
		}
	}
	if j.pending == nil && row > j.upTo-ahead/2 {
		j.startMark(j.upTo + ahead)
	}
	return nil
}

// mark begins to write that rows up to this one may be sent.
func (j *journal) startMark(upTo int) {
	pending := make(chan error, 1)
	j.pending, j.pendingUpTo = pending, upTo
	go func() { pending <- j.write(entry{UpTo: upTo}) }()
}

// arrive waits until the mark that is being written lasts.
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
	if j.broken == nil { // behind half a line no other may come
		if _, j.broken = j.file.Write(append(line, '\n')); j.broken == nil {
			j.broken = j.sync()
		}
	}
	if j.broken != nil {
		return fmt.Errorf("write the journal of the results: %w", j.broken)
	}
	return nil
}

// close gives the journal back: as it is, or removed where the results say everything now.
func (j *journal) close(remove bool) (err error) {
	if j.file == nil {
		return nil
	}
	j.marking.Lock()
	_ = j.awaitMark() // whatever becomes of a mark that is being written, no row has relied on it
	j.marking.Unlock()
	if remove {
		if err := os.Remove(j.path); err != nil {
			return fmt.Errorf("remove the journal of the results: %w", err)
		}
		err = syncFolder(j.path)
	}
	return errors.Join(err, j.file.Close(), j.lock.Close())
}
