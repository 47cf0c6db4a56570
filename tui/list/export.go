package list

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/rows"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Whole writes a list to its end, and after each page tells how many records are written, and how many there are.
type Whole func(out io.Writer, format rows.Format, after func(written int64, of api.PageMeta)) error

// WholeOf writes the pages of a list, a page at a time, with the columns that perksctl writes.
func WholeOf[T any](pages client.Pages[T]) Whole {
	return func(out io.Writer, format rows.Format, after func(int64, api.PageMeta)) error {
		w, err := rows.NewListWriter[T](out, format)
		if err != nil {
			return err
		}
		written := int64(0)
		for page, err := range pages {
			if err != nil {
				return err
			}
			for _, record := range page.Data {
				if err := w.Write(record); err != nil {
					return err
				}
			}
			written += int64(len(page.Data))
			after(written, page.Meta)
		}
		return w.End(true)
	}
}

// export writes all pages of a list to a file.
type export struct {
	loader   *screen.Loader[exported]
	progress *screen.Reports[string]
	path     string // as it was typed
	begin    func(replace bool) tea.Cmd
}

// name names the file in a sentence.
func (e *export) name() string { return display.Line(filepath.Base(e.path)) }

// exported is what an export has written.
type exported struct {
	records int64
	path    string
}

// exportable are the formats of an export. The extension of the file decides.
const exportable = "must end in .csv, .json or .jsonl"

// formatOf returns the format of a file, and what is wrong with its name; "" if nothing is.
func formatOf(path string) (format rows.Format, problem string) {
	path = strings.TrimSpace(path)
	if path == "" {
		return "", "Enter the name of a file."
	}
	format, err := rows.FormatOf(path)
	if err != nil || format == rows.TSV {
		return "", exportable
	}
	return format, ""
}

// offerExport offers to write the list to a file, and while it is written, to cancel that.
func (l *List[F, T]) offerExport(why string) (offers []actions.Offer) {
	if l.isExporting() {
		why = "An export is under way."
		offers = append(offers, actions.Offer{ID: actions.Back, Hint: "cancel export", Do: func() tea.Cmd {
			l.cancelExport()
			return screen.Tell(screen.Note, "Cancelled. %s was not written.", l.export.name())
		}})
	}
	return append(offers, actions.Offer{ID: actions.Export, Why: why, Do: l.askExport})
}

func (l *List[F, T]) isExporting() bool { return l.export != nil && l.export.loader.Busy() }

// cancelExport leaves nothing of the file.
func (l *List[F, T]) cancelExport() {
	if l.isExporting() {
		l.export.loader.Cancel()
		l.endExport()
	}
}

func (l *List[F, T]) endExport() {
	l.export.progress.Stop()
	l.shell.Progress = ""
}

// askExport asks for the file.
func (l *List[F, T]) askExport() tea.Cmd {
	query, count := l.want, total(l.loader.Value.meta())
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			return r
		}
		return '-'
	}, cmp.Or(l.File, l.Many))
	return l.shell.Post(screen.Prompt{
		Title: "Export " + count + " " + l.Many,
		Text:  "All pages, in this order, for a spreadsheet (.csv) or a program (.json, .jsonl).",
		Field: widget.Field{
			Name: "file", Label: "File", Value: name + "-" + l.shell.Now().Format(time.DateOnly) + ".csv",
			Hint: exportable, Check: func(path string) string { _, problem := formatOf(path); return problem },
		},
		Yes:  "export",
		Then: func(path string) tea.Cmd { return l.startExport(query, strings.TrimSpace(path)) },
	})
}

// startExport exports a query to a file, unless that is there already.
func (l *List[F, T]) startExport(q query[F], path string) tea.Cmd {
	if l.isExporting() {
		return nil
	}
	options := client.ListOptions{PerPage: api.MaxPerPage, Sort: api.FormatSort([]api.SortKey{l.effective(q)})}
	format, _ := formatOf(path)
	whole, writing, desktop := l.Whole, &l.shell.Writing, l.shell.Desktop
	e := &export{path: path, loader: screen.NewLoader[exported](l.shell)}
	e.begin = func(replace bool) tea.Cmd {
		progress := screen.NewReports[string]()
		e.progress = progress
		var done exported
		after := func(n int64, of api.PageMeta) {
			done.records = n
			text := "exporting " + display.Count(n)
			if of.Total > 0 {
				text += " of " + display.Count(of.Total)
			}
			progress.Tell(text)
		}
		l.shell.Progress = "exporting"
		return tea.Batch(progress.Wait, e.loader.Load(func(ctx context.Context, c *client.Client) (exported, error) {
			writing.RLock()
			defer writing.RUnlock()
			if ctx.Err() != nil {
				return done, ctx.Err()
			}
			path, err := desktop.Save(path, replace, func(out io.Writer) error {
				return whole(c, ctx, q.filter, options)(out, format, after)
			})
			done.path = path
			return done, err
		}))
	}
	l.export = e
	return e.begin(false)
}

// handleExport handles what an export tells.
func (l *List[F, T]) handleExport(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if l.export == nil {
		return nil, false
	}
	if text, next, mine := l.export.progress.Handle(msg); mine && l.isExporting() {
		if text != nil {
			l.shell.Progress = *text
		}
		return next, true
	}
	if _, ended := l.export.loader.Handle(msg); !ended {
		return nil, false
	}
	l.endExport()
	e, file := l.export, l.export.name()
	switch err := e.loader.Err; {
	case errors.Is(err, fs.ErrExist) && l.shell.IsCovered():
		return screen.Tell(screen.Warning, "Not exported: %s exists already.", file), true
	case errors.Is(err, fs.ErrExist):
		return l.shell.Post(screen.Confirm{
			Title: "Replace " + file + "?", Text: "The file exists already: " + display.Line(e.path), Yes: "replace it",
			Local: true, Then: func() tea.Cmd { return e.begin(true) },
		}), true
	case err != nil:
		return screen.Tell(screen.Failure, "%s", screen.Sentence("Not exported to "+file+": ", err)), true
	}
	done := e.loader.Value
	text := fmt.Sprintf("Exported %s to %s.", display.Plural(done.records, l.One, l.Many), display.Line(done.path))
	if l.mismatch != "" {
		return screen.Tell(screen.Warning, "%s", text+" "+l.mismatch), true
	}
	return screen.Tell(screen.Done, "%s", text), true
}
