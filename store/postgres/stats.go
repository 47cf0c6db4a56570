package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/store"
)

// Stats returns how the two pools and the queue of redemptions fare now. It waits for nothing.
func (db *DB) Stats() store.Stats {
	return store.Stats{
		Pools: []store.PoolStats{poolStats("reads", db.reads), poolStats("writes", db.writes)},
		Queue: store.QueueStats{Waiting: len(db.redeemer.room), Capacity: maxWaiting, Batches: db.redeemer.batches.Stats()},
	}
}

func poolStats(name string, pool *pgxpool.Pool) store.PoolStats {
	s := pool.Stat()
	return store.PoolStats{
		Name:  name,
		InUse: int(s.AcquiredConns()), Idle: int(s.IdleConns()), Max: int(s.MaxConns()),
		Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
	}
}
