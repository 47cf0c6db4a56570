package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby makes a server that follows this one, and returns once every commit here waits for it. A server has one
// standby at most. The standby answers queries and refuses writes until Promote.
func (c *PostgresServer) Standby(ctx context.Context) (*PostgresServer, error) {
	options := PostgresOptions{Durable: c.options.Durable, Settings: map[string]string{
		"primary_conninfo": c.DSN(""), "primary_slot_name": "standby",
		// A standby that is back while its slot still seems taken would try again only after 5 s.
		"wal_retrieve_retry_interval": "200ms",
	}}
	maps.Copy(options.Settings, c.options.Settings)
	standby, err := startFilled(ctx, options, "make a standby", func(standby *PostgresServer) error {
		// The slot keeps what the standby has not yet read, also while it is down.
		err := execute(ctx, "make the standby's slot", c.DSN(superuser),
			`SELECT pg_create_physical_replication_slot('standby', true)`)
		if err != nil {
			return err
		}
		if err := c.backUp(ctx, standby.data()); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(standby.data(), "standby.signal"), nil, 0o600); err != nil {
			return err
		}
		return standby.ownData()
	})
	if err != nil {
		return nil, err
	}
	// After the copy: the standby must not wait for one of its own when it is promoted.
	err = execute(ctx, "wait for the standby at every commit", c.DSN(superuser),
		`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`)
	if err == nil {
		err = c.awaitSynchronous(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a standby: %w", err), standby.Stop())
	}
	return standby, nil
}

// awaitSynchronous waits until commits wait for the standby.
func (c *PostgresServer) awaitSynchronous(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.DSN(superuser))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	next := time.NewTicker(connectEvery)
	defer next.Stop()
	for synchronous := false; !synchronous; {
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_replication
			WHERE sync_state = 'sync')`).Scan(&synchronous); err != nil {
			return err
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// Commits begin to wait when the checkpointer has read the new setting, which it does before its next checkpoint.
	_, err = conn.Exec(ctx, `CHECKPOINT`)
	return err
}

// Promote makes a standby a primary, and returns once it takes writes. The old primary must be stopped by then: nothing
// else keeps it from taking writes too.
func (c *PostgresServer) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.DSN(superuser))
	if err != nil {
		return fmt.Errorf("promote the standby: %w", err)
	}
	defer conn.Close(ctx)
	var promoted bool
	if err := conn.QueryRow(ctx, `SELECT pg_promote()`).Scan(&promoted); err != nil {
		return fmt.Errorf("promote the standby: %w", err)
	}
	if !promoted {
		return errors.New("promote the standby: it did not become a primary within a minute")
	}
	return nil
}

// removePID removes what a killed server leaves behind and a crashed machine does not: postmaster.pid, and the segment
// of shared memory whose id is at the end of the seventh line of that file.
func (c *PostgresServer) removePID() error {
	path := filepath.Join(c.data(), "postmaster.pid")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if lines := strings.Split(string(text), "\n"); len(lines) >= 7 {
		if memory := strings.Fields(lines[6]); len(memory) == 2 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := c.directory.run(ctx, "ipcrm", "-m", memory[1]); err != nil {
				return err
			}
		}
	}
	return os.Remove(path)
}

// Freeze suspends the server and all its children, as a disk that hangs does: connections stay open, and nothing is
// answered until Thaw.
func (c *PostgresServer) Freeze() error { return c.freeze(true) }

// Thaw resumes a frozen server.
func (c *PostgresServer) Thaw() error { return c.freeze(false) }

func (c *PostgresServer) freeze(stop bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return errors.New("the PostgreSQL server is not running")
	}
	if err := freezeFamily(c.server.command.Process, stop); err != nil {
		return fmt.Errorf("suspend or resume the PostgreSQL server: %w", err)
	}
	return nil
}
