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

// ErrInUse means that another program has the database open.
var ErrInUse = errors.New("a program is using it")

// CarryOver copies records that a restore must not lose from the former database to the restored one.
type CarryOver struct {
	// Former is called first, with a temporary copy of the former database, or with the reason why it cannot be read.
	Former func(former *DB, err error)
	// Restored is called with the restored database before it replaces the former one. An error cancels the restore.
	Restored func(restored *DB) error
}

// Restore replaces the database at path with a copy of a backup, migrated, with records carried over. It verifies the
// backup first, and does not change it. The former database and its log are kept under the returned name, "" if there
// was none. The error is ErrInUse while anyone has the database open. After an error the database is unchanged.
func Restore(ctx context.Context, backup, path string, at time.Time, carry CarryOver) (former string, err error) {
	target, err := newFile(path)
	if err != nil {
		return "", err
	}
	if target.isSameAs(backup) { // closing it after reading would release the lock
		return "", fmt.Errorf("restore from %s: it is the database %s itself, not a copy", backup, path)
	}
	end, err := target.lockDirectory()
	if err != nil {
		return "", fmt.Errorf("restore %s: %w", path, err)
	}
	defer end()
	locked, err := target.lockFile()
	if err != nil {
		return "", fmt.Errorf("restore %s: %w", path, err)
	}
	if locked != nil {
		defer locked.Close()
	}
	if err := target.rollBack(); err != nil {
		return "", fmt.Errorf("undo an interrupted restore of %s: %w", path, err)
	}
	if err := target.showFormer(ctx, carry.Former, locked); err != nil {
		return "", fmt.Errorf("restore %s: %w", path, err)
	}
	copied := file{path: target.path + ".restoring"}
	defer copied.remove()
	if err := copied.copyFrom(ctx, backup); err != nil {
		return "", fmt.Errorf("restore from %s: %w", backup, explainCode(err))
	}
	if err := copied.prepare(ctx, carry.Restored); err != nil {
		return "", err
	}
	if former, err = target.replaceBy(copied, at); err != nil {
		return "", fmt.Errorf("restore %s: %w", path, explainCode(err))
	}
	return former, nil
}

// showFormer calls show with a copy of the database, or with the reason why there is none: closing another handle of
// the file itself would release this process's lock. It returns only errors of closing the copy.
func (f file) showFormer(ctx context.Context, show func(*DB, error), locked *os.File) error {
	copied := file{path: f.path + ".replaced"}
	copied.remove() // left by an interrupted attempt
	defer copied.remove()
	db, err := f.openCopy(ctx, copied, locked)
	show(db, explainCode(err))
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
	if err := copied.verify(ctx); err != nil {
		return nil, err
	}
	return open(ctx, copied.path, slog.New(slog.DiscardHandler))
}

// prepare migrates the file and applies change to it. Its log is empty afterwards.
func (f file) prepare(ctx context.Context, change func(*DB) error) error {
	db, err := open(ctx, f.path, slog.New(slog.DiscardHandler))
	if err != nil {
		return explainCode(err)
	}
	// The program whose import the backup caught does not go on in the copy.
	if err := errors.Join(db.finishImports(ctx, anyToken), change(db), db.Close()); err != nil {
		return explainCode(err)
	}
	if log, err := os.Stat(f.path + logSuffix); err == nil && log.Size() > 0 {
		return fmt.Errorf("%s still has changes in its log", f.path)
	}
	return nil
}

func (f file) isSameAs(path string) bool {
	is, err := os.Stat(f.path)
	other, otherErr := os.Stat(path)
	return err == nil && otherErr == nil && os.SameFile(is, other)
}

// copyFrom copies a backup to the file, and verifies it.
func (f file) copyFrom(ctx context.Context, backup string) error {
	if log, err := os.Stat(backup + logSuffix); err == nil && log.Size() > 0 {
		return fmt.Errorf("it is not a backup but a database in use, whose last changes are in %s; copy it with "+
			"'perksd backup'", backup+logSuffix)
	}
	f.remove() // left by an interrupted attempt
	source, err := os.Open(backup)
	if err != nil {
		return err
	}
	if err := errors.Join(copyFile(source, f.path), source.Close()); err != nil {
		return err
	}
	return f.verify(ctx)
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

// verify reads the whole database, and returns an error if it is damaged.
func (f file) verify(ctx context.Context) error {
	db := f.readers(nil)
	defer db.Close()
	migrations, err := appliedMigrations(view{ctx, db}, knownMigrations())
	if err != nil {
		return err
	}
	if migrations[0].AppliedAt.IsZero() {
		return errors.New("it is a database, but not of perksd")
	}
	for _, check := range []string{
		`SELECT integrity_check FROM pragma_integrity_check`,
		// A stock that an import was building may refer to a perk that it had not published.
		`SELECT "table" || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check
			WHERE "table" NOT GLOB '` + beingBuilt + `*'`,
	} {
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

// errHalfRestored means that the log, which has the last commits, is not beside the database.
var errHalfRestored = errors.New("a restore of it was interrupted; run 'perksd restore' again")

// replaceBy replaces this file with another one, and keeps this one and its log. Nobody may have either open. Between
// the steps the old file lacks its log, which the existence of the file replacing marks. The next restore undoes one
// that was interrupted there.
func (f file) replaceBy(other file, at time.Time) (former string, err error) {
	was, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.removeLog(); err != nil {
			return "", err
		}
		// Unlike Rename, Link does not replace a file that appears meanwhile. There was none to lock.
		if err := os.Link(other.path, f.path); errors.Is(err, fs.ErrExist) {
			return "", ErrInUse
		} else if err != nil {
			return "", err
		}
		return "", syncDirectory(filepath.Dir(f.path))
	}
	if err != nil {
		return "", err
	}
	if err := copyOwner(other.path, was); err != nil {
		return "", err
	}
	if former, err = f.keepFormer(other, at); err == nil {
		err = os.Rename(f.replacing(), f.path)
	}
	if err != nil {
		return "", errors.Join(err, f.rollBack())
	}
	return former, syncDirectory(filepath.Dir(f.path))
}

// keepFormer links the file and its log under the former name, and removes the log of the current one.
func (f file) keepFormer(other file, at time.Time) (former string, err error) {
	former = f.path + ".before-" + at.UTC().Format("20060102T150405Z")
	if _, err := os.Lstat(former); err == nil {
		return "", fmt.Errorf("%s exists already, from this same second; restore again", former)
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
	if err := syncDirectory(filepath.Dir(f.path)); err != nil {
		return "", err
	}
	return former, f.removeLog()
}

// removeLog removes the log and its index, and syncs the directory: a stale log would damage another database at the
// path.
func (f file) removeLog() error {
	for _, suffix := range []string{logSuffix, memorySuffix} {
		if err := os.Remove(f.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return syncDirectory(filepath.Dir(f.path))
}

// rollBack undoes an interrupted or failed keepFormer.
func (f file) rollBack() error {
	if _, err := os.Lstat(f.replacing()); err != nil {
		return nil
	}
	formers, err := filepath.Glob(escapeGlob(f.path) + ".before-*Z")
	if err != nil {
		return err
	}
	for _, former := range formers {
		if !f.isSameAs(former) {
			continue
		}
		log := file{path: f.path + logSuffix}
		// created by a server before it saw the file replacing
		if is, err := os.Stat(log.path); err == nil && is.Size() == 0 {
			_ = os.Remove(log.path)
		}
		err := os.Link(former+logSuffix, log.path)
		if errors.Is(err, fs.ErrExist) && !log.isSameAs(former+logSuffix) {
			return fmt.Errorf("another program has written %s since; move it elsewhere and run 'perksd restore' again",
				log.path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := syncDirectory(filepath.Dir(f.path)); err != nil {
			return err
		}
		file{path: former}.remove()
	}
	return os.Remove(f.replacing())
}

// escapeGlob escapes the special characters of filepath.Glob.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// remove removes the file and its log, as far as possible.
func (f file) remove() {
	for _, suffix := range []string{"", logSuffix, memorySuffix} {
		_ = os.Remove(f.path + suffix)
	}
}

// Backup copies a snapshot of the database to a new file with mode 0600, while reads and writes continue. An existing
// file is not touched. After an error there is no file.
func (db *DB) Backup(ctx context.Context, path string) error {
	if err := db.backup(ctx, path); err != nil {
		return fmt.Errorf("back up to %s: %w", path, explainCode(err))
	}
	return nil
}

func (db *DB) backup(ctx context.Context, path string) (err error) {
	copied, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %s", filepath.Dir(path))
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
	return syncDirectory(filepath.Dir(path))
}

// copyInto writes to an empty file. SQLite needs a connection that could write, although it only reads.
func (db *DB) copyInto(ctx context.Context, path string) error {
	s, err := db.file.session(ctx)
	if err != nil {
		return err
	}
	_, err = s.conn.ExecContext(ctx, `VACUUM INTO ?`, path)
	return errors.Join(err, s.close())
}

// syncDirectory makes new names in the directory survive a power cut.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
