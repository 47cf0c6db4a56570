//go:build !unix

package sqlite

import (
	"errors"
	"os"
)

// lockOut refuses: how others hold a database is not known here.
func (f file) lockOut() (locked *os.File, err error) {
	return nil, errors.New("on this system put the backup in place by hand, while no server runs, and remove the old database's -wal and -shm")
}

func (f file) restoreAlone() (end func(), err error) { return func() {}, nil }

func giveTo(string, os.FileInfo) error { return nil }
