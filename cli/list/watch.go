package list

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Watch shows what a command shows again and again, until it is interrupted.
type Watch struct {
	Interval time.Duration
	Next     func(ctx context.Context) (time.Time, error) // waits until the next round; nil waits for the interval
}

const (
	watchFlag     = "watch"
	watchDefault  = "2s"
	shortestWatch = time.Second
)

// Bind declares --watch.
func (w *Watch) Bind(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&w.Interval, watchFlag, 0,
		"refresh every `INTERVAL` until ctrl+c or --timeout and mark what changed; "+
			"with --output jsonl, print only what is new or changed")
	cmd.Flags().Lookup(watchFlag).NoOptDefVal = watchDefault
}

// Run shows once, or with --watch again and again, with --timeout for that long. Each time show makes its printer and
// client of the session: the service does not send unchanged records again. The first failure ends the command; a
// later one of the service or the network is only a warning, unless it is about the login.
func (w *Watch) Run(cmd *cobra.Command, s *session.Session, show func() error) error {
	if !cmd.Flags().Changed(watchFlag) {
		return show()
	}
	streams, streaming := s.Streams, s.Output.Format == output.JSONL
	switch {
	case w.Interval < shortestWatch:
		return command.Usagef("--watch must be at least %s, as in --watch=%s.", shortestWatch, watchDefault)
	case !streaming && !streams.OutTTY:
		return command.Usagef("--watch redraws a terminal, and there is none. Add --output jsonl for the records " +
			"that are new or changed.")
	}
	s.Watch()
	if s.Flags.Timeout > 0 {
		ctx, cancel := context.WithTimeout(cmd.Context(), s.Flags.Timeout)
		defer cancel()
		cmd.SetContext(ctx)
	}
	next := w.Next
	if next == nil {
		ticker := time.NewTicker(w.Interval)
		defer ticker.Stop()
		next = func(ctx context.Context) (time.Time, error) {
			select {
			case <-ctx.Done():
				return time.Time{}, ctx.Err()
			case at := <-ticker.C:
				return at, nil
			}
		}
	}
	defer func() { s.Streams = streams }()
	screen := &screen{streams: streams, changes: &output.Changes{}}
	s.Output.Changes = screen.changes
	if !streaming && s.Trace == nil {
		s.Trace = streams.Err
	}
	warned := ""
	for at, first := s.Output.Now(), true; ; first = false {
		var frame, notes bytes.Buffer
		inner := *streams
		if inner.Quiet = streams.Quiet || streaming && !first; !streaming {
			inner.Out, inner.Err = &frame, &notes
			inner.Width, screen.rows = streams.Size()
		}
		s.Streams = &inner
		screen.changes.Begin(at)
		err := show()
		switch {
		case err != nil && cmd.Context().Err() != nil && !first:
			return ended(cmd.Context())
		case err != nil && (first || !passes(err)):
			return err
		case err != nil && err.Error() != warned:
			warned = err.Error()
			streams.Warn("The refresh failed: %s", output.NewReport(err).Sentence())
			screen.drawn = 0 // the next frame comes below the warning
		case err == nil:
			warned = ""
			screen.changes.End()
			if !streaming {
				if err := screen.draw(frame.String()+notes.String(), inner.Width, at); err != nil {
					return err
				}
			}
		}
		if at, err = next(cmd.Context()); err != nil {
			return ended(cmd.Context())
		}
	}
}

// ended returns why the context has ended. The end of --timeout is the one that was asked for.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return ctx.Err()
}

// passes reports whether the same request may succeed later.
func passes(err error) bool {
	isOfService := errors.As(err, new(*client.Error)) || errors.As(err, new(*client.Unreachable))
	return isOfService && output.ExitCode(err) != command.ExitDenied && !errors.Is(err, context.Canceled)
}

// screen draws frames over each other on a terminal.
type screen struct {
	streams *command.Streams
	changes *output.Changes
	rows    int // of the terminal; 0 is unknown
	drawn   int // the lines of the last frame
}

// draw replaces the last frame. Lines that do not fit are cut: a terminal that wrapped or scrolled could not be drawn
// over.
func (s *screen) draw(frame string, columns int, at time.Time) error {
	lines := strings.Split(strings.TrimRight(frame, "\n"), "\n")
	status := at.Local().Format(time.TimeOnly) + cmp.Or(s.changes.Summary(), ", no change so far")
	if most := s.rows - 2; s.rows > 2 && len(lines) > most {
		status += fmt.Sprintf("; %s below the screen", display.Plural(len(lines)-most, "line is", "lines are"))
		lines = lines[:most]
	}
	var text strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&text, "\r\x1b[%dA\x1b[J", s.drawn)
	}
	for _, line := range append(lines, status) {
		if columns > 0 && display.Width(line) > columns {
			line = ansi.Truncate(line, columns, "…")
		}
		text.WriteString(line + "\n")
	}
	s.drawn = len(lines) + 1
	_, err := s.streams.Out.Write([]byte(text.String()))
	return err
}
