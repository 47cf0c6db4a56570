//go:build !unix

package sqlite

import (
	"errors"
	"os"
)

// lockFile fails: SQLite locks files differently on this system, so a restore could not see whether the database is in
// use.
func (f file) lockFile() (locked *os.File, err error) {
	return nil, errors.New("on this system, stop the server, copy the backup to the database's path, and delete the " +
		"old database's -wal and -shm files")
}

func (f file) lockDirectory() (end func(), err error) { return func() {}, nil }

func copyOwner(string, os.FileInfo) error { return nil }

// lockServing locks nothing on this system.
func lockServing(*os.File) (isLocked bool, err error) { return true, nil }
