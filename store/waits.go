package store

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Wait is a statement of the service that waits inside the database: for a lock that another session has, or for a
// standby.
type Wait struct {
	Table     string // that is locked; "" if it is not known, or the statement waits for a standby
	IsTable   bool   // the whole table is locked, so that other requests wait too
	Statement string // the beginning of its text
	BlockedBy string // the sessions that hold the lock, or what is waited for
	Since     time.Time
}

// String is for the log, for example: the statement "INSERT ..." has waited since 2026-01-02T03:04:05Z for the table
// redemptions, locked by psql of ops, process 4711, since 2026-01-02T03:04:00Z.
func (w Wait) String() string {
	what := "for " + w.BlockedBy
	switch {
	case w.IsTable:
		what = fmt.Sprintf("for the table %s, locked by %s", w.Table, w.BlockedBy)
	case w.Table != "":
		what = fmt.Sprintf("for a row of %s, locked by %s", w.Table, w.BlockedBy)
	}
	return fmt.Sprintf("the statement %q has waited since %s %s", w.Statement, w.Since.UTC().Format(time.RFC3339), what)
}

// WaitError is an error of work that took too long because a statement waited.
type WaitError struct {
	Wait
	Cause error
}

func (e *WaitError) Error() string { return fmt.Sprintf("%v: %v", e.Cause, e.Wait) }
func (e *WaitError) Unwrap() error { return e.Cause }

// durationBounds are the upper bounds of DurationStats. The last is how long a request may take.
var durationBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 15 * time.Second,
}

// DurationBounds returns the upper bounds of DurationStats.UpTo.
func DurationBounds() []time.Duration { return slices.Clone(durationBounds[:]) }

// DurationStats counts pieces of work by how long each took.
type DurationStats struct {
	Count uint64
	Total time.Duration
	UpTo  []uint64 // those of at most DurationBounds()[i]
}

// DurationMeter counts for DurationStats. The zero value is ready to use. It is safe for concurrent use.
type DurationMeter struct {
	counts [len(durationBounds) + 1]atomic.Uint64
	total  atomic.Int64
}

// Observe counts one piece of work.
func (m *DurationMeter) Observe(took time.Duration) {
	step, _ := slices.BinarySearch(durationBounds[:], took)
	m.counts[step].Add(1)
	m.total.Add(int64(took))
}

// Stats returns the counts.
func (m *DurationMeter) Stats() DurationStats {
	s := DurationStats{Total: time.Duration(m.total.Load())}
	for i := range m.counts {
		s.Count += m.counts[i].Load()
		s.UpTo = append(s.UpTo, s.Count)
	}
	s.UpTo = s.UpTo[:len(durationBounds)]
	return s
}
