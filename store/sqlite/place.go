package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// place remembers which files the writing connection works on. What is written to a file that was removed, or replaced by
// another one, is gone when the process ends, although every commit succeeds. The writer's goroutine alone uses it.
type place struct {
	path      string
	given     string      // another name of it, or the same
	main, log os.FileInfo // log is nil until the connection has written
}

// errMoved says that the database is not where it was opened.
var errMoved = errors.New("the file was removed or replaced while the server uses it")

// settle takes the log that the connection has just written to for the right one.
func (p *place) settle() (err error) {
	if p.log == nil {
		p.log, err = os.Stat(p.path + logSuffix)
	}
	return err
}

// closed forgets the log: without a connection it may be cleared away. The database itself stays the same.
func (p *place) closed() { p.log = nil }

// check returns errMoved unless others who open the database now open the files that this process works on.
func (p *place) check() error {
	for _, path := range []string{p.given, p.path} {
		if err := isStill(path, p.main); err != nil {
			return err
		}
	}
	return isStill(p.path+logSuffix, p.log)
}

// isStill compares what is at the path with what was there, if that is known.
func isStill(path string, was os.FileInfo) error {
	if was == nil {
		return nil
	}
	is, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(is, was) {
		return fmt.Errorf("%s: %w", path, errMoved)
	}
	return err
}
