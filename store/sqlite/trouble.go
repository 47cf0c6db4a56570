package sqlite

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	codes "modernc.org/sqlite/lib"
)

// trouble is what keeps the database from taking writes. The log says it once, and again now and then, however many writes
// fail; and once when it is over.
type trouble struct {
	log  *slog.Logger
	path string

	mu     sync.Mutex
	said   string // "" while there is none
	saidAt time.Time
	failed int       // writes that failed since it began
	noRoom time.Time // when a write was last refused for lack of room; zero once one has succeeded
}

const (
	// repeatTrouble is how often the log repeats what has not changed.
	repeatTrouble = time.Minute
	// staysFull is how long the disk is taken for full after a write found no room. The few bytes that Ready writes may fit
	// where a redemption does not.
	staysFull = 10 * time.Second
)

// met notes that so many writes failed together.
func (t *trouble) met(cause error, writes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if resultCode(cause) == codes.SQLITE_FULL {
		t.noRoom = time.Now()
	}
	t.failed += writes
	sentence := sentenceFor(cause)
	if sentence == t.said && time.Since(t.saidAt) < repeatTrouble {
		return
	}
	t.said, t.saidAt = sentence, time.Now()
	t.log.Error(sentence, "database", t.path, "failed_writes", t.failed, "error", cause)
}

// passed notes that a write was committed that may have been as large as any.
func (t *trouble) passed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == "" {
		return
	}
	t.log.Info("the database takes writes again", "database", t.path, "failed_writes", t.failed)
	t.said, t.failed, t.noRoom = "", 0, time.Time{}
}

// isFull tells whether a write found no room just now.
func (t *trouble) isFull() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.noRoom.IsZero() && time.Since(t.noRoom) < staysFull
}

// sentenceFor tells an operator what to do.
func sentenceFor(cause error) string {
	if errors.Is(cause, errMoved) {
		return "the database was removed or replaced while the server uses it, so changes are refused: " +
			"put the same file back, or stop the server, see that the right file is there, and start it again"
	}
	switch resultCode(cause) {
	case codes.SQLITE_FULL:
		return "the disk of the database is full, so changes are refused: make room on it, and the server goes on by itself"
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return "the database is damaged: stop the server and bring a backup back with 'perksd restore'"
	case codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY:
		return "the disk or the folder of the database does not take writes, so changes are refused: see to it, and the server goes on by itself"
	}
	return "a write transaction failed"
}
