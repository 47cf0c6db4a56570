//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The bytes that SQLite locks (https://www.sqlite.org/src/file/src/os.h): everyone who has the database open holds a
// lock on some of them.
const (
	pendingByte = 0x40000000
	lockedBytes = 2 + 510
)

// lockDirectory keeps other restores out until end is called, or returns ErrInUse. It locks the directory because the
// database may not exist yet.
func (f file) lockDirectory() (end func(), err error) {
	directory, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(directory.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, errors.Join(err, directory.Close())
	}
	return func() { _ = directory.Close() }, nil
}

// lockServing locks the file of a server, unless another process has.
func lockServing(handle *os.File) (isLocked bool, err error) {
	err = syscall.Flock(int(handle.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// lockFile keeps everyone from opening the database until the handle is closed, or returns ErrInUse. It does not read
// the file, which may be damaged. If there is no file, the handle is nil.
func (f file) lockFile() (locked *os.File, err error) {
	handle, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: pendingByte, Len: lockedBytes}
	if err := syscall.FcntlFlock(handle.Fd(), syscall.F_SETLK, &lock); err != nil {
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			err = ErrInUse
		}
		return nil, errors.Join(err, handle.Close())
	}
	return handle, nil
}

// copyOwner gives a file the mode and owner of another, if root restores the database of another user's server.
func copyOwner(path string, like os.FileInfo) error {
	owner, ok := like.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return errors.Join(os.Chmod(path, like.Mode().Perm()), os.Chown(path, int(owner.Uid), int(owner.Gid)))
}
