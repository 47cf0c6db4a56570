package sqlite

import "example.com/perks/store"

// Stats returns how the reading connections and the queue of the writer fare now. It waits for nothing.
func (db *DB) Stats() store.Stats {
	readers := db.readers.Stats()
	return store.Stats{
		Pools: []store.PoolStats{{
			Name:  "reads",
			InUse: readers.InUse, Idle: readers.Idle, Max: readers.MaxOpenConnections,
			Waits: readers.WaitCount, Waited: readers.WaitDuration,
		}},
		Queue: store.QueueStats{Waiting: int(db.writer.waiting.Load()), Capacity: maxQueue, Batches: db.writer.batches.Stats()},
	}
}
