package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"example.com/perks/store"
)

// database is where an address leads: one of the kinds of database that there are. Until a method is called nothing is
// connected to, and an error never holds the address, in which there may be a password.
type database interface {
	// name is how messages call it.
	name() string
	// open connects to it, makes it where that is possible, and applies migrations that are pending.
	open(ctx context.Context, log *slog.Logger) (store.Store, error)
	// migrations reads which steps of the schema it has and lacks, and changes nothing.
	migrations(ctx context.Context) ([]migration, error)
	// is tells whether the other leads to the same tables, however either is spelt. Both have been opened before.
	is(ctx context.Context, other database) (bool, error)
	// liveRecords counts what only a live database has, and changes nothing. The database must be set up.
	liveRecords(ctx context.Context) (store.LiveRecords, error)
	// backup copies it, as of one moment, to a new file.
	backup(ctx context.Context, path string) error
	// restore puts a backup in its place, with the clients and signing keys of r, and returns where what was there is now.
	restore(ctx context.Context, backup string, r *restoration) (former string, err error)
}

// migration is one step of a database's schema; AppliedAt is null while it is pending.
type migration struct {
	Version   int        `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"`
}

func newMigration(version int, name string, appliedAt time.Time) migration {
	m := migration{Version: version, Name: name}
	if !appliedAt.IsZero() {
		m.AppliedAt = &appliedAt
	}
	return m
}

func (m migration) isPending() bool { return m.AppliedAt == nil }

// parseDatabase reads an address such as sqlite:perks.db or postgres://perks@localhost/perks.
func parseDatabase(address string) (database, error) {
	kind, rest, _ := strings.Cut(address, ":")
	switch {
	case kind == "sqlite" && rest != "":
		return sqliteFile(rest), nil
	case (kind == "postgres" || kind == "postgresql") && strings.HasPrefix(rest, "//"):
		return newPostgresDatabase(address)
	}
	return nil, usageError{errors.New("a database must be of the form sqlite:PATH or postgres://USER@HOST:PORT/DATABASE")}
}

// requireMigrated fails unless the database is there and of this program's version. Commands that only look or change what
// is there ask it first: to make an empty database out of a misspelt name and to report that nothing is in it would mislead,
// and to bring a database that servers work on to another version is not what who lists its clients asks for.
func requireMigrated(ctx context.Context, db database) error {
	migrations, err := db.migrations(ctx)
	if err != nil {
		return err
	}
	first := slices.IndexFunc(migrations, migration.isPending)
	switch {
	case first < 0:
		return nil
	case !slices.ContainsFunc(migrations, isApplied):
		return fmt.Errorf("perksd was never set up in the database %s; name another with %s, or set this one up with 'perksd migrate%s'",
			db.name(), flagOf(db), optionFor(db))
	}
	return fmt.Errorf("the database %s lacks migration %s; apply it with 'perksd migrate%s'", db.name(), migrations[first].Name, optionFor(db))
}

// isSetUp tells whether perksd ever prepared the database. It changes nothing.
func isSetUp(ctx context.Context, db database) (bool, error) {
	migrations, err := db.migrations(ctx)
	return slices.ContainsFunc(migrations, isApplied), err
}

func isApplied(m migration) bool { return !m.isPending() }

// withStore opens the database that the command works on, making or migrating it if need be, for as long as do runs.
func (p *program) withStore(ctx context.Context, do func(store.Store) error) error {
	db, err := p.target(ctx)
	if err != nil {
		return err
	}
	// A migration may have to wait for a transaction as long as a dump; the log says so on stderr.
	return withOpen(ctx, db, slog.New(slog.NewTextHandler(p.stderr, nil)), do)
}

// withExistingStore is withStore for a database that is there, and migrated, already.
func (p *program) withExistingStore(ctx context.Context, do func(store.Store) error) error {
	db, err := p.target(ctx)
	if err != nil {
		return err
	}
	if err := requireMigrated(ctx, db); err != nil {
		return err
	}
	return withOpen(ctx, db, slog.New(slog.DiscardHandler), do)
}

func withOpen(ctx context.Context, db database, log *slog.Logger, do func(store.Store) error) error {
	opened, err := db.open(ctx, log)
	if err != nil {
		return err
	}
	return errors.Join(do(opened), opened.Close())
}
