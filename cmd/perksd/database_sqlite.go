package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"example.com/perks/store"
	"example.com/perks/store/sqlite"
)

// sqliteFile is a SQLite database by the path of its file.
type sqliteFile string

func (f sqliteFile) name() string { return string(f) }

func (f sqliteFile) open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	db, err := sqlite.Open(ctx, string(f), sqlite.Options{Logger: log})
	if err != nil {
		return nil, err
	}
	return db, nil
}

func (f sqliteFile) migrations(ctx context.Context) ([]migration, error) {
	known, err := sqlite.Status(ctx, string(f))
	list := make([]migration, len(known))
	for i, m := range known {
		list[i] = newMigration(m.Version, m.Name, m.AppliedAt)
	}
	return list, err
}

func (f sqliteFile) is(_ context.Context, other database) (bool, error) {
	otherFile, isFile := other.(sqliteFile)
	if !isFile {
		return false, nil
	}
	a, errA := os.Stat(string(f))
	b, errB := os.Stat(string(otherFile))
	return os.SameFile(a, b), errors.Join(errA, errB)
}

func (f sqliteFile) liveRecords(ctx context.Context) (store.LiveRecords, error) {
	return sqlite.LiveRecordsAt(ctx, string(f))
}

func (f sqliteFile) backup(ctx context.Context, path string) error {
	if err := requireMigrated(ctx, f); err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, string(f), sqlite.Options{})
	if err != nil {
		return err
	}
	return errors.Join(db.Backup(ctx, path), db.Close())
}
