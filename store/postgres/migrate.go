package postgres

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration is one step of the schema.
type Migration struct {
	Version   int // from 1, without gaps
	Name      string
	AppliedAt time.Time // zero while it is pending
}

// Status reads which migrations the database at the address has and which are pending. It changes nothing.
func Status(ctx context.Context, address string) ([]Migration, error) {
	config, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	migrations, err := status(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("read the migrations of %s: %w", name(config), err)
	}
	return migrations, nil
}

func status(ctx context.Context, config *pgxpool.Config) ([]Migration, error) {
	pool, err := openPool(ctx, config)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	return appliedMigrations(view{ctx, pool})
}

// migrate applies what is pending. Of several processes that open the database at once one applies it, and the others
// wait for it. A database that is up to date is only read, so it may be a standby. A new one gets all migrations in one
// transaction; an older one may be in use, and gets each by upgrade.
func migrate(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	migrations, err := appliedMigrations(view{ctx, pool})
	if err != nil || len(pending(migrations)) == 0 {
		return err
	}
	held, err := holdMigrations(ctx, pool, log)
	if err != nil {
		return err
	}
	defer closeBriefly(held)
	if migrations, err = appliedMigrations(view{ctx, pool}); err != nil {
		return err
	}
	if len(pending(migrations)) == len(migrations) {
		return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			for _, m := range migrations {
				if err := apply(ctx, tx, m); err != nil {
					return fmt.Errorf("apply migration %s: %w", m.Name, err)
				}
			}
			return nil
		})
	}
	for _, m := range pending(migrations) {
		if err := upgrade(ctx, pool, m, log); err != nil {
			return fmt.Errorf("apply migration %s: %w", m.Name, err)
		}
	}
	return nil
}

func pending(migrations []Migration) []Migration {
	var list []Migration
	for _, m := range migrations {
		if m.AppliedAt.IsZero() {
			list = append(list, m)
		}
	}
	return list
}

// apply runs a migration in a database that nobody uses yet.
func apply(ctx context.Context, tx pgx.Tx, m Migration) error {
	s, err := m.script()
	if err != nil {
		return err
	}
	if err := run(ctx, tx.Conn(), s.whole()); err != nil {
		return err
	}
	return record(ctx, tx, m)
}

func record(ctx context.Context, tx pgx.Tx, m Migration) error {
	if err := run(ctx, tx.Conn(), `CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL)`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO migrations VALUES ($1, $2, now())`, m.Version, m.Name)
	return err
}

// knownMigrations returns the embedded migrations, all as pending. A file's name starts with its version.
func knownMigrations() []Migration {
	entries, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	var migrations []Migration
	for i, entry := range entries {
		migrations = append(migrations, Migration{Version: i + 1, Name: strings.TrimSuffix(entry.Name(), ".sql")})
	}
	return migrations
}

// appliedMigrations returns the known migrations, those that the database has with their times. It refuses a database
// that has others too: its schema is not one that this program knows.
func appliedMigrations(q queryer) ([]Migration, error) {
	migrations := knownMigrations()
	// A scan of pg_class sees what was committed last. to_regclass may answer from what its connection remembers of before
	// the wait for the lock.
	begun, err := one(q, scanValue[bool], `SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'migrations' AND pg_table_is_visible(oid))`)
	if err != nil || !begun {
		return migrations, err
	}
	applied, err := all(q, func(r row) (m Migration, err error) {
		return m, r.Scan(&m.Version, &m.AppliedAt)
	}, `SELECT version, applied_at FROM migrations ORDER BY version`)
	if err != nil {
		return nil, err
	}
	for _, m := range applied {
		if m.Version > len(migrations) {
			return nil, fmt.Errorf("it is at version %d, and this program knows versions up to %d: use a newer perksd", m.Version, len(migrations))
		}
		migrations[m.Version-1].AppliedAt = m.AppliedAt.UTC()
	}
	return migrations, nil
}
