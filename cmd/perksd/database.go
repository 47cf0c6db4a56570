package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/perks/store"
	"example.com/perks/store/sqlite"
)

// openStore opens the database at an address such as sqlite:perks.db. A missing SQLite file is made, and migrations that
// are pending are applied.
func openStore(ctx context.Context, address string) (store.Store, error) {
	path, err := sqlitePath(address)
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, path, sqlite.Options{})
}

// requireDatabase fails if there is no database at the address. Commands that only look or change what is there ask it
// first: to make an empty database out of a misspelt path and to report that nothing is in it would mislead.
func requireDatabase(address string) error {
	path, err := sqlitePath(address)
	if err != nil {
		return err
	}
	_, err = os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database %s; name another with --database, or make this one with 'perksd migrate'", path)
	}
	return err
}

// withStore opens the database of --database, making it if it is missing, for as long as do runs.
func (p *program) withStore(ctx context.Context, do func(store.Store) error) error {
	db, err := openStore(ctx, p.database)
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// withExistingStore is withStore for a database that is there already.
func (p *program) withExistingStore(ctx context.Context, do func(store.Store) error) error {
	if err := requireDatabase(p.database); err != nil {
		return err
	}
	return p.withStore(ctx, do)
}

// sameDatabase tells whether two addresses lead to one database, however they are spelt.
func sameDatabase(a, b string) (bool, error) {
	pathA, errA := sqlitePath(a)
	pathB, errB := sqlitePath(b)
	if err := errors.Join(errA, errB); err != nil {
		return false, err
	}
	absoluteA, errA := filepath.Abs(pathA)
	absoluteB, errB := filepath.Abs(pathB)
	if err := errors.Join(errA, errB); err != nil {
		return false, err
	}
	fileA, errA := os.Stat(absoluteA)
	fileB, errB := os.Stat(absoluteB)
	linked := errA == nil && errB == nil && os.SameFile(fileA, fileB)
	return linked || absoluteA == absoluteB, nil
}

// migration is one step of a database's schema; AppliedAt is null while it is pending.
type migration struct {
	Version   int        `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"`
}

// migrations reads which steps the database at the address has and lacks, and changes nothing.
func migrations(ctx context.Context, address string) ([]migration, error) {
	path, err := sqlitePath(address)
	if err != nil {
		return nil, err
	}
	known, err := sqlite.Status(ctx, path)
	if err != nil {
		return nil, err
	}
	list := make([]migration, len(known))
	for i, m := range known {
		list[i] = migration{Version: m.Version, Name: m.Name}
		if !m.AppliedAt.IsZero() {
			list[i].AppliedAt = &m.AppliedAt
		}
	}
	return list, nil
}

// sqlitePath never puts the address into an error: one of another kind may hold a password.
func sqlitePath(address string) (string, error) {
	kind, path, _ := strings.Cut(address, ":")
	switch {
	case kind == "sqlite" && path != "":
		return path, nil
	case kind == "postgres" || kind == "postgresql":
		return "", errors.New("PostgreSQL is not supported by this build; use a database of the form sqlite:PATH")
	}
	return "", usageError{errors.New("a database must be of the form sqlite:PATH")}
}
