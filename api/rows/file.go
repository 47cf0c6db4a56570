package rows

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile makes a file that only its owner can read of what write writes: all of it, or nothing if that fails. A file
// that is there already is replaced, or else the error is fs.ErrExist.
func WriteFile(path string, replace bool, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	switch info, err := os.Lstat(path); {
	case err == nil && !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case err == nil && !replace:
		return fs.ErrExist
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return withoutPath(err)
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	out := bufio.NewWriter(file)
	if err = write(out); err == nil {
		err = errors.Join(out.Flush(), file.Sync())
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return withoutPath(err)
	}
	if replace {
		return withoutPath(os.Rename(file.Name(), path))
	}
	// A file that was made meanwhile stays: unlike a rename, a link replaces none.
	err = os.Link(file.Name(), path)
	if _, failure := os.Lstat(path); err != nil && errors.Is(failure, fs.ErrNotExist) { // a file system without links
		return withoutPath(os.Rename(file.Name(), path))
	}
	if err != nil {
		return fmt.Errorf("%w meanwhile", fs.ErrExist)
	}
	_ = os.Remove(file.Name()) // another name of the file
	return nil
}

// withoutPath leaves out the name of a temporary file.
func withoutPath(err error) error {
	if failed, is := errors.AsType[*fs.PathError](err); is {
		return failed.Err
	}
	if failed, is := errors.AsType[*os.LinkError](err); is {
		return failed.Err
	}
	return err
}
