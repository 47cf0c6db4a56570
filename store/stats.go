package store

import (
	"slices"
	"sync/atomic"
	"time"
)

// Stats is how a database's connections and its queue of writes fare at one moment, for those who watch over it.
type Stats struct {
	Pools []PoolStats // always the same ones in the same order
	Queue QueueStats
}

// PoolStats is a pool of connections.
type PoolStats struct {
	Name        string        // what it is for: "reads" or "writes"
	InUse, Idle int           // connections that are open
	Max         int           // how many there can be
	Waits       int64         // how often somebody had to wait for a connection, ever
	Waited      time.Duration // how long they waited in all
}

// QueueStats is the queue of writes that share a commit: all writes, or only redemptions where only these are queued.
type QueueStats struct {
	Waiting  int // writes that were not answered yet: in the queue, or in the transaction under way
	Capacity int // of the queue; more make their callers wait
	Batches  BatchStats
}

// BatchStats counts transactions by how many writes each answered, be it with a refusal.
type BatchStats struct {
	Ended  uint64   // transactions
	Writes uint64   // in all of them
	UpTo   []uint64 // transactions of at most BatchSizes()[i] writes
	Failed uint64   // transactions beside these that came to nothing, or whose outcome is not known
}

// batchSizes are the steps by which batches are told apart. Neither driver makes larger ones.
var batchSizes = [...]int{1, 2, 4, 8, 16, 32, 64, 128}

// BatchSizes returns the steps by which BatchStats tells batches apart.
func BatchSizes() []int { return slices.Clone(batchSizes[:]) }

// BatchMeter counts batches for BatchStats. The zero value is ready, and safe for use by many goroutines.
type BatchMeter struct {
	sizes  [len(batchSizes)]atomic.Uint64 // transactions by the step that they belong to
	writes atomic.Uint64
	failed atomic.Uint64
}

// Ended counts a transaction that answered so many writes.
func (m *BatchMeter) Ended(writes int) {
	step, _ := slices.BinarySearch(batchSizes[:], writes)
	m.sizes[min(step, len(batchSizes)-1)].Add(1)
	m.writes.Add(uint64(writes)) // #nosec G115 -- a number of writes is not negative
}

// Failed counts a transaction that came to nothing, or whose outcome is not known.
func (m *BatchMeter) Failed() { m.failed.Add(1) }

// Stats is what was counted until now.
func (m *BatchMeter) Stats() BatchStats {
	s := BatchStats{Writes: m.writes.Load(), Failed: m.failed.Load()}
	for i := range m.sizes {
		s.Ended += m.sizes[i].Load()
		s.UpTo = append(s.UpTo, s.Ended)
	}
	return s
}
