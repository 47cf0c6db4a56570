package bulk

import (
	"context"
	"errors"

	"example.com/perks/cli/session"
)

// Options are what a run needs beside its work.
type Options struct {
	Flags
	DryRun bool // check every row and send nothing
}

// Run works through the file. It returns nil when every row is done, and otherwise an error that says how many rows are not,
// and how to go on.
func Run(ctx context.Context, s *session.Session, o Options, w Work) error {
	return errors.New("not built yet")
}
