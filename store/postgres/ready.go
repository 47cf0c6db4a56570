package postgres

import (
	"context"
	"sync"

	"example.com/perks/store"
)

// readiness lets one check of the database run at a time. While a standby is gone a check does not end, and each that was
// given up would leave a connection waiting at the server.
type readiness struct {
	mu      sync.Mutex
	running *check
}

type check struct {
	ended chan struct{}
	err   error
}

// Ready returns nil only if a write is committed, where there is a synchronous standby also there, before the context ends.
// After a write that found the disk full it has to be a large one.
func (db *DB) Ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return store.NotBegun(err)
	}
	c, err := db.startCheck()
	if err != nil {
		return err
	}
	select {
	case <-c.ended:
		return c.err
	case <-ctx.Done():
		return store.Unavailable(ctx.Err())
	}
}

// startCheck returns the check that runs, or a new one.
func (db *DB) startCheck() (*check, error) {
	db.readiness.mu.Lock()
	defer db.readiness.mu.Unlock()
	if db.readiness.running != nil {
		return db.readiness.running, nil
	}
	leave, err := db.join()
	if err != nil {
		return nil, err
	}
	c := &check{ended: make(chan struct{})}
	db.readiness.running = c
	wasShort := db.room.isShort()
	go func() {
		defer leave()
		c.err = db.write(db.life, "check that the database takes writes", func(s *session) error {
			if wasShort {
				if err := db.room.prove(s); err != nil {
					return err
				}
			}
			return s.exec(`INSERT INTO readiness VALUES (1, now()) ON CONFLICT (one) DO UPDATE SET checked_at = excluded.checked_at`)
		})
		if wasShort && c.err == nil {
			db.room.isBack()
		}
		db.readiness.mu.Lock()
		db.readiness.running = nil
		db.readiness.mu.Unlock()
		close(c.ended)
	}()
	return c, nil
}
