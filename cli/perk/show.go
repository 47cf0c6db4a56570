package perk

import (
	"context"
	"iter"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

// Show writes the items of the pages as far as the flags say, and tells on Err what was left out.
func ShowList[T any](ctx context.Context, s *command.Streams, printer *output.Printer[T], flags ListFlags, pages iter.Seq2[api.Page[T], error]) error {
	walk := &walk[T]{flags: flags, pages: pages}
	if err := printer.List(ctx, walk.items); err != nil {
		return err
	}
	walk.tell(s)
	return nil
}

type walk[T any] struct {
	flags ListFlags
	pages iter.Seq2[api.Page[T], error]

	shown int
	cut   bool // there were more items than --limit lets through
	meta  api.PageMeta
}

func (w *walk[T]) items(yield func(T, error) bool) {
	for page, err := range w.pages {
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		w.meta = page.Meta
		for _, item := range page.Data {
			if w.flags.Limit > 0 && w.shown == w.flags.Limit {
				w.cut = true
				return
			}
			w.shown++
			if !yield(item, nil) {
				return
			}
		}
		if w.enough() {
			return
		}
	}
}

// enough tells whether to ask for no further page. A limit that is met exactly at the end of a page is a cut unless that is
// known to be the last page.
func (w *walk[T]) enough() bool {
	if w.flags.Limit > 0 && w.shown == w.flags.Limit {
		w.cut = w.meta.TotalPages == 0 || w.meta.Page < w.meta.TotalPages
		return true
	}
	return w.flags.onePage()
}

func (w *walk[T]) tell(s *command.Streams) {
	switch {
	case w.cut && w.meta.Total > 0:
		s.Warn("--limit cut the list: %d of %d are shown.", w.shown, w.meta.Total)
	case w.cut:
		s.Warn("--limit cut the list after %d; there may be more.", w.shown)
	case w.flags.onePage() && w.meta.Page > w.meta.TotalPages && w.meta.TotalPages > 0:
		s.Note("There is no page %d; the last one is %d.", w.meta.Page, w.meta.TotalPages)
	case w.flags.onePage() && w.meta.TotalPages > 1:
		s.Note("Page %d of %d, %d in all. See more with --page, or everything with --all.", w.meta.Page, w.meta.TotalPages, w.meta.Total)
	case w.shown == 0:
		s.Note("Nothing was found.")
	}
}
