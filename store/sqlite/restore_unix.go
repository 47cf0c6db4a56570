//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// What SQLite locks of a file (https://www.sqlite.org/src/file/src/os.h): whoever has the database open with a log holds a
// lock on the bytes from pendingByte on.
const (
	pendingByte = 0x40000000
	lockedBytes = 2 + 510
)

// restoreAlone keeps other restores away until end is called, or returns ErrInUse: where there is no database yet there is
// none to lock. It is the folder that is locked.
func (f file) restoreAlone() (end func(), err error) {
	folder, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, errors.Join(err, folder.Close())
	}
	return func() { _ = folder.Close() }, nil
}

// lockOut keeps all others from opening the database until the handle is closed, or returns ErrInUse. It does
// not read the file, which may be damaged. Without a file there is nothing to lock, and the handle is nil.
func (f file) lockOut() (locked *os.File, err error) {
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

// giveTo makes a file belong to whom another one belongs to: root may restore what a server runs on as somebody else.
func giveTo(path string, like os.FileInfo) error {
	owner, ok := like.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return errors.Join(os.Chmod(path, like.Mode().Perm()), os.Chown(path, int(owner.Uid), int(owner.Gid)))
}
