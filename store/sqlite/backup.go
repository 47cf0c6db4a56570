package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

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

// copyInto writes to an empty file. The connection is one that could write, because SQLite asks for that, but it only
// reads the database.
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
