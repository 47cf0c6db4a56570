package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the driver that perksd uses
)

// groupCommit is what perksd's redemptions over SQLite are compared with: the same rows in a copy of the same database,
// by the same driver under the same settings, from as many callers through one writer that commits what is queued. It
// checks nothing, and there is no HTTP.
type groupCommit struct {
	load           *redeemLoad
	pool           *sql.DB // of one connection
	begin, end     *sql.Stmt
	insert, update *sql.Stmt
	committed      int64 // redemptions
}

// bareRedemption is one that a caller waits for.
type bareRedemption struct {
	id, user  string
	perk      int64 // its row
	at        time.Time
	committed chan error
}

// newGroupCommit copies the database of a load that has not begun.
func (r *redeemLoad) newGroupCommit(ctx context.Context) (*groupCommit, error) {
	path := filepath.Join(r.Dir, "group-commit.db")
	if _, err := r.runPerksd(ctx, r.database, nil, "backup", path); err != nil {
		return nil, err
	}
	// As the connection of perksd that writes.
	settings := url.Values{"mode": {"rw"}, "_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_foreign_keys": {"1"},
		"_pragma": {"cache_size(-16000)", "journal_size_limit(67108864)", "secure_delete(fast)"}}
	pool, err := sql.Open("sqlite", "file:"+path+"?"+settings.Encode())
	if err != nil {
		return nil, err
	}
	r.cleanups = append(r.cleanups, pool.Close)
	pool.SetMaxOpenConns(1)
	g := &groupCommit{load: r, pool: pool}
	for text, statement := range map[string]**sql.Stmt{
		`BEGIN IMMEDIATE`: &g.begin,
		`COMMIT`:          &g.end,
		`INSERT INTO redemptions (id, perk, user_id, client_id, redeemed_at, first_status, status, metadata)
			VALUES (?, ?, ?, 'bench', ?, 'approved', 'approved', '{}')`: &g.insert,
		`UPDATE perk_stock SET held = held + 1 WHERE perk = ?`: &g.update,
	} {
		if *statement, err = pool.PrepareContext(ctx, text); err != nil {
			return nil, fmt.Errorf("preparing %s: %w", text, err)
		}
	}
	return g, nil
}

// run redeems the next perk for some time and returns how many redemptions were committed in a second.
func (g *groupCommit) run(ctx context.Context) (float64, error) {
	var perk int64
	if err := g.pool.QueryRowContext(ctx, `SELECT row FROM perks WHERE id = ?`,
		g.load.nextPerk()).Scan(&perk); err != nil {
		return 0, err
	}
	queue := make(chan *bareRedemption, manyConnections)
	var callers, writer sync.WaitGroup
	writer.Go(func() { g.write(queue) })
	counts, errs := make([]int64, manyConnections), make([]error, manyConnections)
	begun := time.Now()
	for caller := range manyConnections {
		callers.Go(func() {
			r := &bareRedemption{perk: perk, committed: make(chan error, 1)}
			for n := int64(caller); n < redeemUsers && errs[caller] == nil && ctx.Err() == nil &&
				time.Since(begun) < g.load.time; n += manyConnections {
				r.id, r.user, r.at = uuid.Must(uuid.NewV7()).String(), fmt.Sprintf("u-%06d", shuffled(n)), time.Now()
				queue <- r
				errs[caller] = <-r.committed
				counts[caller]++
			}
		})
	}
	callers.Wait()
	took := time.Since(begun)
	close(queue)
	writer.Wait()
	var total int64
	for _, count := range counts {
		total += count
	}
	g.committed += total
	return float64(total) / took.Seconds(), errors.Join(append(errs, ctx.Err())...)
}

// write commits what is queued as one transaction, again and again.
func (g *groupCommit) write(queue <-chan *bareRedemption) {
	for first := range queue {
		batch := []*bareRedemption{first}
		for len(queue) > 0 { // nobody else takes from it
			batch = append(batch, <-queue)
		}
		err := g.commit(batch)
		for _, r := range batch {
			r.committed <- err
		}
	}
}

func (g *groupCommit) commit(batch []*bareRedemption) error {
	if _, err := g.begin.Exec(); err != nil {
		return err
	}
	for _, r := range batch {
		if _, err := g.insert.Exec(r.id, r.perk, r.user, r.at.UnixMicro()); err != nil {
			return err
		}
		if _, err := g.update.Exec(r.perk); err != nil {
			return err
		}
	}
	_, err := g.end.Exec()
	return err
}

// check fails unless the copy has just as many redemptions as were committed.
func (g *groupCommit) check(ctx context.Context) error {
	var stored int64
	if err := g.pool.QueryRowContext(ctx, `SELECT count(*) FROM redemptions`).Scan(&stored); err != nil {
		return err
	}
	if stored != g.committed {
		return fmt.Errorf("the group-commit loop committed %d redemptions, and %d are stored", g.committed, stored)
	}
	return nil
}
