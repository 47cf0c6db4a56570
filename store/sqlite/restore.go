package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/perks/store"
)

// ErrInUse means that a server, or another program, has the database open.
var ErrInUse = errors.New("a program is using it")

// CarryOver moves what a restore must not lose from the replaced database to the restored one.
type CarryOver struct {
	// Former is called first, with a copy of the replaced database, or with the reason why it cannot be read. The copy is
	// removed afterwards.
	Former func(former *DB, err error)
	// Restored is called with the restored database before it is in place. After an error nothing is replaced.
	Restored func(restored *DB) error
}

// Restore puts a copy of a backup where the database at path is, or is to be, brings it to this program's version, and has
// carried over what the backup cannot know. The backup is looked through first, whole, and stays as it is. What was there is
// kept with all that belongs to it, under the name that is returned, "" if nothing was. While anyone has the database open
// the error is ErrInUse. After an error the database is as it was.
func Restore(ctx context.Context, backup, path string, at time.Time, carry CarryOver) (former string, err error) {
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
	locked, err := target.lockOut()
	if err != nil {
		return "", fmt.Errorf("restore %s: %w", path, err)
	}
	if locked != nil {
		defer locked.Close()
	}
	if err := target.putBack(); err != nil {
		return "", fmt.Errorf("put back what an interrupted restore of %s set aside: %w", path, err)
	}
	if err := target.showTo(ctx, carry.Former, locked); err != nil {
		return "", fmt.Errorf("restore %s: %w", path, err)
	}
	copied := file{path: target.path + ".restoring"}
	defer copied.remove()
	if err := copied.copyFrom(ctx, backup); err != nil {
		return "", fmt.Errorf("restore from %s: %w", backup, inWords(err))
	}
	if err := copied.prepare(ctx, carry.Restored); err != nil {
		return "", err
	}
	if former, err = target.replaceBy(copied, at); err != nil {
		return "", fmt.Errorf("restore %s: %w", path, inWords(err))
	}
	return former, nil
}

// showTo calls look with a copy of the database, or with the reason why there is none. It works on a copy because closing
// another handle of the file would release this process's lock. It returns only errors of closing the copy.
func (f file) showTo(ctx context.Context, look func(*DB, error), locked *os.File) error {
	copied := file{path: f.path + ".replaced"}
	copied.remove() // what an earlier attempt left
	defer copied.remove()
	db, err := f.openCopy(ctx, copied, locked)
	look(db, inWords(err))
	if err != nil {
		return nil
	}
	return db.Close()
}

func (f file) openCopy(ctx context.Context, copied file, locked *os.File) (*DB, error) {
	if locked == nil {
		return nil, fs.ErrNotExist
	}
	if err := copyFile(locked, copied.path); err != nil {
		return nil, err
	}
	log, err := os.Open(f.path + logSuffix)
	if err == nil {
		err = errors.Join(copyFile(log, copied.path+logSuffix), log.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := copied.lookThrough(ctx); err != nil {
		return nil, err
	}
	return open(ctx, copied.path, slog.New(slog.DiscardHandler))
}

// prepare migrates the file and applies change to it. Afterwards nothing is left in its log.
func (f file) prepare(ctx context.Context, change func(*DB) error) error {
	db, err := open(ctx, f.path, slog.New(slog.DiscardHandler))
	if err != nil {
		return inWords(err)
	}
	if err := errors.Join(change(db), db.Close()); err != nil {
		return inWords(err)
	}
	if log, err := os.Stat(f.path + logSuffix); err == nil && log.Size() > 0 {
		return fmt.Errorf("%s still has changes in its log", f.path)
	}
	return nil
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
	source, err := os.Open(backup)
	if err != nil {
		return err
	}
	if err := errors.Join(copyFile(source, f.path), source.Close()); err != nil {
		return err
	}
	return f.lookThrough(ctx)
}

func copyFile(source io.Reader, to string) (err error) {
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
		findings, err := store.All(view{ctx, db}, store.ScanValue[string], check)
		if err != nil {
			return err
		}
		if text := strings.Join(findings, "; "); text != "" && text != "ok" {
			return fmt.Errorf("it is damaged: %s", text)
		}
	}
	return nil
}

// replacing is the name of the new database while the old one may lack its log.
func (f file) replacing() string { return f.path + ".replacing" }

// errHalfRestored keeps servers from a database whose log was set aside: only the log has the last commits.
var errHalfRestored = errors.New("a restore of it was interrupted; run 'perksd restore' again")

// replaceBy puts another file in the place of this one, and keeps this one with its log. Nobody may have either open. For an instant the
// old file is there without its log, and a file called replacing marks that. A restore that is interrupted then is resumed by the next one.
func (f file) replaceBy(other file, at time.Time) (former string, err error) {
	was, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.removeLog(); err != nil {
			return "", err
		}
		// A link leaves alone what somebody makes meanwhile: there was nothing to lock.
		if err := os.Link(other.path, f.path); errors.Is(err, fs.ErrExist) {
			return "", ErrInUse
		} else if err != nil {
			return "", err
		}
		return "", syncFolder(filepath.Dir(f.path))
	}
	if err != nil {
		return "", err
	}
	if err := giveTo(other.path, was); err != nil {
		return "", err
	}
	if former, err = f.setAside(other, at); err == nil {
		err = os.Rename(f.replacing(), f.path)
	}
	if err != nil {
		return "", errors.Join(err, f.putBack())
	}
	return former, syncFolder(filepath.Dir(f.path))
}

// setAside links the file and its log under the former name, and removes the log from the current one.
func (f file) setAside(other file, at time.Time) (former string, err error) {
	former = f.path + ".before-" + at.UTC().Format("20060102T150405Z")
	if _, err := os.Lstat(former); err == nil {
		return "", fmt.Errorf("a former one is kept as %s already, from this very second; restore again", former)
	}
	if err := os.Rename(other.path, f.replacing()); err != nil {
		return "", err
	}
	if err := os.Link(f.path, former); err != nil {
		return "", err
	}
	if err := os.Link(f.path+logSuffix, former+logSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := syncFolder(filepath.Dir(f.path)); err != nil {
		return "", err
	}
	return former, f.removeLog()
}

// removeLog takes away what SQLite put beside the file. It returns once that is on the disk: another file that got the log
// would be damaged by it.
func (f file) removeLog() error {
	for _, suffix := range []string{logSuffix, memorySuffix} {
		if err := os.Remove(f.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return syncFolder(filepath.Dir(f.path))
}

// putBack undoes a setAside that was interrupted or failed before the new file was in place.
func (f file) putBack() error {
	if _, err := os.Lstat(f.replacing()); err != nil {
		return nil
	}
	formers, err := filepath.Glob(escapeGlob(f.path) + ".before-*Z")
	if err != nil {
		return err
	}
	for _, former := range formers {
		if !f.isAlso(former) {
			continue
		}
		log := file{path: f.path + logSuffix}
		if is, err := os.Stat(log.path); err == nil && is.Size() == 0 { // of a server that found the mark too late
			_ = os.Remove(log.path)
		}
		err := os.Link(former+logSuffix, log.path)
		if errors.Is(err, fs.ErrExist) && !log.isAlso(former+logSuffix) {
			return fmt.Errorf("another program has written %s since; move it away and run 'perksd restore' again", log.path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := syncFolder(filepath.Dir(f.path)); err != nil {
			return err
		}
		file{path: former}.remove()
	}
	return os.Remove(f.replacing())
}

// escapeGlob escapes what filepath.Glob would take for a pattern in a path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// remove removes the file and what SQLite put beside it. What cannot be removed is in nobody's way.
func (f file) remove() {
	for _, suffix := range []string{"", logSuffix, memorySuffix} {
		_ = os.Remove(f.path + suffix)
	}
}

// Backup copies the database, as of one moment, to a new file at path, readable for its owner alone. Reads and writes go
// on meanwhile. A file that is there already is not touched; after an error no file is left.
func (db *DB) Backup(ctx context.Context, path string) error {
	if err := db.backup(ctx, path); err != nil {
		return fmt.Errorf("back up to %s: %w", path, inWords(err))
	}
	return nil
}

func (db *DB) backup(ctx context.Context, path string) (err error) {
	copied, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s", filepath.Dir(path))
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w, and is not overwritten; choose another name", fs.ErrExist)
	}
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, copied.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if err := db.copyInto(ctx, path); err != nil {
		return err
	}
	if err := copied.Sync(); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// copyInto writes to an empty file. The connection is one that could write, because SQLite asks for that, but it only reads the database.
func (db *DB) copyInto(ctx context.Context, path string) error {
	s, err := db.file.session(ctx)
	if err != nil {
		return err
	}
	_, err = s.conn.ExecContext(ctx, `VACUUM INTO ?`, path)
	return errors.Join(err, s.close())
}

// syncFolder makes the name of a new file in the folder outlast a power cut.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
