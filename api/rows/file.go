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
	if err = PlaceFile(file.Name(), path); errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w meanwhile", fs.ErrExist)
	}
	return withoutPath(err)
}

// PlaceFile gives a finished file its name, at once and as a whole. It never replaces one that is there: the error is
// then fs.ErrExist, and the file keeps its temporary name.
func PlaceFile(temporary, path string) error {
	err := os.Link(temporary, path) // unlike a rename, a link replaces none
	switch {
	case err == nil:
		_ = os.Remove(temporary) // another name of the file
	case errors.Is(err, fs.ErrExist):
		err = fs.ErrExist
	default: // not all file systems have links
		if _, failure := os.Lstat(path); failure == nil {
			return fs.ErrExist
		}
		err = os.Rename(temporary, path)
	}
	return err
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
