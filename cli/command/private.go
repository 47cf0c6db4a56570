package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

const (
	dirMode   = 0o700
	lockRetry = 20 * time.Millisecond
)

// ReadPrivate returns a file's bytes. It refuses a file that others can read, because they may have read it.
func ReadPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s can be read by other users of this computer: run chmod 600 %s, and replace the "+
			"secret in it if others may have seen it", path, path)
	}
	return os.ReadFile(path)
}

// ReadPrivateJSON reads a value from a private file.
func ReadPrivateJSON(path string, value any) error {
	text, err := ReadPrivate(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

// WritePrivateJSON writes a value to a private file.
func WritePrivateJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return WritePrivate(path, append(text, '\n'))
}

// WritePrivate replaces a file atomically, and creates its directory.
func WritePrivate(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// SyncDir flushes a file's name to disk.
func SyncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, fs.ErrInvalid) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // some systems cannot, and need not
	}
	return errors.Join(err, dir.Close())
}

// LockFile waits for the lock of a path. The lock is a file beside it, because the file at the path is replaced.
func LockFile(ctx context.Context, path string) (unlock func(), err error) {
	return lockFile(path, func(lock *flock.Flock) (bool, error) { return lock.TryLockContext(ctx, lockRetry) })
}

// TryLockFile is LockFile for whoever does not wait. unlock is nil if another process has the lock.
func TryLockFile(path string) (unlock func(), err error) {
	return lockFile(path, (*flock.Flock).TryLock)
}

func lockFile(path string, take func(*flock.Flock) (bool, error)) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return nil, err
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	locked, err := take(lock)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	if !locked {
		return nil, nil
	}
	return func() { _ = lock.Unlock() }, nil
}
