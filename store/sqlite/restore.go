package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrInUse means that a server, or another program, has the database open.
var ErrInUse = errors.New("a program is using it")

// Restore puts a copy of a backup where the database at path is, or is to be. The backup is looked through first, whole,
// and stays as it is. What was there is kept with all that belongs to it, under the name that is returned, "" if nothing
// was. While anyone has the database open the error is ErrInUse. After an error the database is as it was.
func Restore(ctx context.Context, backup, path string, at time.Time) (former string, err error) {
	target, err := newFile(path)
	if err != nil {
		return "", err
	}
	if target.isAlso(backup) { // to close it after reading would let go of the lock
		return "", fmt.Errorf("restore from %s: it is the database %s itself, and not a copy", backup, path)
	}
	end, err := target.restoreAlone()
	if err != nil {
		return "", fmt.Errorf("restore %s: %w", path, err)
	}
	defer end()
	release, err := target.lockOut()
	if err != nil {
		return "", fmt.Errorf("restore %s: %w", path, err)
	}
	defer release()
	copied := file{path: target.path + ".restoring"}
	defer copied.remove()
	if err := copied.copyFrom(ctx, backup); err != nil {
		return "", fmt.Errorf("restore from %s: %w", backup, inWords(err))
	}
	if former, err = target.replaceBy(copied, at); err != nil {
		return "", fmt.Errorf("restore %s: %w", path, inWords(err))
	}
	return former, nil
}

func (f file) isAlso(path string) bool {
	is, err := os.Stat(f.path)
	other, otherErr := os.Stat(path)
	return err == nil && otherErr == nil && os.SameFile(is, other)
}

// copyFrom makes the file a copy of a backup that is whole.
func (f file) copyFrom(ctx context.Context, backup string) error {
	if log, err := os.Stat(backup + logSuffix); err == nil && log.Size() > 0 {
		return fmt.Errorf("it is not a backup but a database at work, whose last changes are in %s; copy it with 'perksd backup'", backup+logSuffix)
	}
	f.remove() // what an earlier attempt left
	if err := copyFile(backup, f.path); err != nil {
		return err
	}
	return f.lookThrough(ctx)
}

func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	return target.Sync()
}

// lookThrough reads all of the database, and returns what is wrong with it.
func (f file) lookThrough(ctx context.Context) error {
	db, err := f.readers()
	if err != nil {
		return err
	}
	defer db.Close()
	migrations, err := appliedMigrations(view{ctx, db})
	if err != nil {
		return err
	}
	if migrations[0].AppliedAt.IsZero() {
		return errors.New("it is a database, but not one of perksd")
	}
	for _, check := range []string{`SELECT integrity_check FROM pragma_integrity_check`, `SELECT "table" || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check`} {
		findings, err := all(view{ctx, db}, scanValue[string], check)
		if err != nil {
			return err
		}
		if text := strings.Join(findings, "; "); text != "" && text != "ok" {
			return fmt.Errorf("it is damaged: %s", text)
		}
	}
	return nil
}

// replaceBy puts another file in the place of this one, and keeps this one with its log. Nobody may have either open. For
// an instant there is the old file without its log: who is interrupted then has both under the other name, and restores
// again.
func (f file) replaceBy(other file, at time.Time) (former string, err error) {
	put := os.Rename
	was, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		put = os.Link // which leaves alone what somebody makes meanwhile: there was nothing to lock
	case err != nil:
		return "", err
	default:
		former = f.path + ".before-" + at.UTC().Format("20060102T150405Z")
		if err := os.Link(f.path, former); errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("a former one is kept as %s already, from this very second; restore again", former)
		} else if err != nil {
			return "", err
		}
		if err := os.Link(f.path+logSuffix, former+logSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := giveTo(other.path, was); err != nil {
			return "", err
		}
	}
	for _, suffix := range []string{logSuffix, memorySuffix} {
		if err := os.Remove(f.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if err := put(other.path, f.path); errors.Is(err, fs.ErrExist) {
		return "", ErrInUse
	} else if err != nil {
		return "", err
	}
	return former, syncFolder(filepath.Dir(f.path))
}

// remove removes the file and what SQLite put beside it. What cannot be removed is in nobody's way.
func (f file) remove() {
	for _, suffix := range []string{"", logSuffix, memorySuffix} {
		_ = os.Remove(f.path + suffix)
	}
}
