package postgres

import (
	"log/slog"
	"sync"
	"time"
)

// room remembers that the disk of the tables was full. Readiness writes a single row, for which there may be room where
// there is none for a redemption, so it has to prove more after that. Each replica learns of it from its own writes.
type room struct {
	log *slog.Logger

	mu     sync.Mutex
	short  bool
	saidAt time.Time
}

// repeatFull is how often the log repeats that the disk is full.
const repeatFull = time.Minute

// note looks at what became of a write.
func (r *room) note(err error) {
	if sqlState(err) != stateDiskFull {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.short || time.Since(r.saidAt) >= repeatFull {
		r.saidAt = time.Now()
		r.log.Error("a disk of PostgreSQL is full, so changes are refused: make room on it, and the server goes on by itself", "error", err)
	}
	r.short = true
}

func (r *room) isShort() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.short
}

// isBack notes that there was room for as much as prove takes.
func (r *room) isBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.short {
		r.log.Info("PostgreSQL has room again")
	}
	r.short = false
}

// prove takes about a megabyte where the tables are, until the transaction ends.
func (r *room) prove(s *session) error {
	return s.exec(`CREATE TEMPORARY TABLE perksd_room ON COMMIT DROP AS SELECT repeat(md5(n::text), 30) FROM generate_series(1, 1000) AS n`)
}
