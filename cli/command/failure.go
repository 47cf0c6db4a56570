package command

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// WriteFailure is that data could not be written to standard output. A reader that has gone is none: SIGPIPE ends the process
// then, as it ends any tool.
type WriteFailure struct{ Err error }

// Error says it in a sentence.
func (w *WriteFailure) Error() string {
	return "Standard output cannot be written: " + w.Err.Error() + "."
}

// Unwrap returns what the system said.
func (w *WriteFailure) Unwrap() error { return w.Err }

// Explain returns a WriteFailure if the error has one of standard output in it, and otherwise the error as it is.
func ExplainFailure(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) && failed.Op == "write" && failed.Path == os.Stdout.Name() {
		return &WriteFailure{failed.Err}
	}
	return err
}

// Watched is a writer that keeps its first failure, for those who do not look.
type Watched struct {
	To  io.Writer
	Err error
}

// Write passes the text on.
func (w *Watched) Write(text []byte) (int, error) {
	n, err := w.To.Write(text)
	if w.Err == nil {
		w.Err = err
	}
	return n, err
}
