package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/perks/store/storetest"
)

// cache is a directory of databases filled with sample perks, because a million take minutes. What is in it is copied
// before it is used, and never changes.
type cache struct{ dir string }

// staleAfter is when sample perks are made again: their dates are around the day on which they were made.
const staleAfter = 30 * 24 * time.Hour

// content is the files that decide what is in a filled database: the schema, the import and the sample data.
func content(driver string) []string {
	return []string{"store/*.go", "store/" + driver + "/migrations/*.sql", "store/" + driver + "/import*.go",
		"cmd/perksd/sample/*.go"}
}

// get returns the path of what fill makes at a new path in the cache, filling it unless that was done before.
func (c cache) get(driver string, perks int64, fill func(path string) error) (string, error) {
	print, err := fingerprint(content(driver))
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-%d-", driver, perks)
	path, err := filepath.Abs(filepath.Join(c.dir, name+print)) // the programs work in another directory
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) < staleAfter {
		return path, nil
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return "", err
	}
	// Of other schemas, of another month, or not filled to the end.
	old, err := filepath.Glob(filepath.Join(c.dir, name+"*"))
	if err != nil {
		return "", err
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return "", err
		}
	}
	filling := path + "-filling"
	if err := fill(filling); err != nil {
		return "", errors.Join(err, os.RemoveAll(filling))
	}
	now := time.Now()
	return path, errors.Join(os.Chtimes(filling, now, now), os.Rename(filling, path))
}

// fingerprint is of the files that match the patterns, their names and what is in them.
func fingerprint(patterns []string) (string, error) {
	sum := sha256.New()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		if len(files) == 0 {
			return "", fmt.Errorf("there is no %s: run this at the top of the checkout", pattern)
		}
		for _, file := range slices.Sorted(slices.Values(files)) {
			text, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(sum, "%q %q\n", file, text)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}

// databaseWith makes a database with that many sample perks, until the section ends, and returns its address.
func (l *harness) databaseWith(ctx context.Context, kind string, perks int64) (string, error) {
	if perks == 0 {
		return l.newDatabase(ctx, kind, "empty")
	}
	if kind == "SQLite" {
		return l.sqliteWith(ctx, perks)
	}
	c, err := l.postgresWith(ctx, perks)
	if err != nil {
		return "", err
	}
	return address(c), nil
}

// postgresWith starts a server with that many sample perks, until the section ends.
func (l *harness) postgresWith(ctx context.Context, perks int64) (*storetest.PostgresServer, error) {
	saved, err := l.cache.get("postgres", perks, func(path string) (err error) {
		c, err := startPostgres(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Stop()) }()
		if err := l.fill(ctx, address(c), perks); err != nil {
			return err
		}
		return c.Save(ctx, path)
	})
	if err != nil {
		return nil, err
	}
	c, err := storetest.StartPostgresFrom(ctx, saved, serverOptions)
	if err == nil {
		l.cleanups = append(l.cleanups, c.Stop)
	}
	return c, err
}

// sqliteWith makes a file with that many sample perks and returns its address.
func (l *harness) sqliteWith(ctx context.Context, perks int64) (string, error) {
	saved, err := l.cache.get("sqlite", perks, func(path string) error { return l.fill(ctx, "sqlite:"+path, perks) })
	if err != nil {
		return "", err
	}
	source, err := os.Open(saved)
	if err != nil {
		return "", err
	}
	defer source.Close()
	copied, err := os.CreateTemp(l.Dir, "list-*.db")
	if err != nil {
		return "", err
	}
	_, err = copied.ReadFrom(source)
	return l.file(copied.Name()), errors.Join(err, copied.Close())
}

// file is the address of a file of SQLite, which the end of the section removes.
func (l *harness) file(path string) (database string) {
	database = "sqlite:" + path
	l.cleanups = append(l.cleanups, func() error { return remove(database) })
	return database
}

// remove removes a file of SQLite and what belongs to it.
func remove(database string) error {
	files, err := filepath.Glob(strings.TrimPrefix(database, "sqlite:") + "*")
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// fill makes a database with that many sample perks.
func (l *harness) fill(ctx context.Context, database string, perks int64) error {
	begun := time.Now()
	if _, err := l.runPerksd(ctx, database, nil, "demo-data", "--perks", fmt.Sprint(perks), "--users",
		"0"); err != nil {
		return err
	}
	kind, _, _ := strings.Cut(database, ":")
	l.logf("filled a new %s database with %s perks in %s", kind, grouped(perks), time.Since(begun).Round(time.Second))
	return nil
}
