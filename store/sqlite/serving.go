package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"
)

// servingSuffix is of the file that a server of the database keeps locked. Two would each read what they have kept in
// memory, and limit clients each for itself.
const servingSuffix = "-server"

// successionTime is how long a server waits for its predecessor, which finishes its requests first.
const successionTime = 30 * time.Second

const endingMark = " (ending)"

// Serve marks the database at path as served by this process, which is named to people, until end is called. If ctx
// ends before that, the process is about to leave, and a successor waits for it. Any other is refused.
func Serve(ctx context.Context, path, process string, log *slog.Logger) (end func(), err error) {
	f, err := newFile(path)
	if err != nil {
		return nil, err
	}
	handle, err := os.OpenFile(f.path+servingSuffix, os.O_CREATE|os.O_RDWR, 0o600)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() {}, nil // the database cannot be opened there either, which tells more
	case err != nil:
		log.Warn("a second server of this database would not be noticed: mend the file, and start again",
			"database", f.given, "cause", err)
		return func() {}, nil
	}
	if err := f.succeed(ctx, handle, log); err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	say := func(text string) { // on a full disk, another process is refused without a name
		_ = handle.Truncate(0)
		_, _ = handle.WriteAt([]byte(text), 0)
	}
	say(process)
	stop := context.AfterFunc(ctx, func() { say(process + endingMark) })
	return func() {
		stop()
		_ = handle.Close() // which unlocks it
	}, nil
}

// succeed locks the handle once no other process serves the database.
func (f file) succeed(ctx context.Context, handle *os.File, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, successionTime)
	defer cancel()
	again := time.NewTicker(busyTime / 500)
	defer again.Stop()
	for isLogged := false; ; {
		isLocked, err := lockServing(handle)
		if err != nil || isLocked {
			return err
		}
		content, err := os.ReadFile(handle.Name())
		name, isEnding := strings.CutSuffix(string(content), endingMark)
		other := cmp.Or(name, "another process")
		if err != nil || !isEnding {
			return errors.Join(err, fmt.Errorf("%s serves the database %s already: stop it first, or name another "+
				"database with --database; several servers need PostgreSQL", other, f.given))
		}
		if isEnding && !isLogged {
			log.Info("waiting for the former server of the database, which is ending",
				"database", f.given, "former", other)
			isLogged = true
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%s still serves the database %s: it has not ended within %s",
				other, f.given, successionTime)
		}
	}
}
