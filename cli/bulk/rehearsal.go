package bulk

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"example.com/perks/api/rows"
	"example.com/perks/cli/exit"
	"example.com/perks/cli/session"
)

// rehearsal checks every row, and that what it names exists, and changes nothing: neither at the service nor in the files of
// a run.
type rehearsal struct {
	*run
	group        *errgroup.Group
	checked, bad atomic.Int64
}

func (r *run) rehearse(ctx context.Context, s *session.Session) error {
	h := &rehearsal{run: r}
	group, checking := errgroup.WithContext(ctx)
	h.group = group
	group.SetLimit(r.options.Concurrency)
	readErr := h.read(checking)
	err := group.Wait()
	if err == nil {
		err = errors.Join(ctx.Err(), readErr)
	}
	checked, bad := h.checked.Load(), h.bad.Load()
	r.streams.Note("%s checked; nothing was sent.", count(checked, "row"))
	if err == nil {
		err = print(ctx, s, Summary{Rows: checked, OK: checked - bad, Failed: bad})
	}
	if err == nil && bad > 0 {
		err = &exit.RowsFailed{Message: fmt.Sprintf("%d of %s cannot be carried out as they are.", bad, count(checked, "row"))}
	}
	return err
}

// read takes row after row until there is none, or until enough are bad.
func (h *rehearsal) read(ctx context.Context) error {
	for row, err := range rows.NewReader(h.input.from, h.input.format).Rows() {
		var broken *rows.RowError
		switch {
		case ctx.Err() != nil || h.options.MaxErrors > 0 && h.bad.Load() >= int64(h.options.MaxErrors):
			return nil
		case errors.As(err, &broken):
			h.checked.Add(1)
			h.note(broken.Line, broken.Err)
		case err != nil:
			return err
		default:
			h.checked.Add(1)
			if err := h.check(ctx, row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *rehearsal) check(ctx context.Context, row rows.Row) error {
	task, err := h.task.Parse(row)
	var usage *exit.Usage
	if errors.As(err, &usage) {
		return err // it is about the whole file
	}
	if err != nil {
		h.note(row.Line, err)
		return nil
	}
	if h.limit.Wait(ctx) != nil {
		return nil
	}
	h.group.Go(func() error {
		err := task.Check(ctx)
		if err != nil && (errors.Is(err, context.Canceled) || isAboutRun(err)) {
			return err
		}
		if err != nil {
			h.note(row.Line, err)
		}
		return nil
	})
	return nil
}

func (h *rehearsal) note(line int, err error) {
	h.bad.Add(1)
	h.streams.Warn("line %d: %s", line, failure(Failed, err).Message)
}
