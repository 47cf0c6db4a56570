package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/screen"
)

// Run shows the terminal UI on a terminal until the person quits or the context ends. However it ends, the terminal is as it
// was. The error is a *Crash, in its sentence where its report is kept, when the program failed; and the context's when that
// has ended.
func Run(ctx context.Context, in io.Reader, out io.Writer, options Options) error {
	return RunModel(ctx, in, out, New(options), options.Crash)
}

// RunModel is Run with any model.
func RunModel(ctx context.Context, in io.Reader, out io.Writer, model tea.Model, keep func(report string) (string, error)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if terminal, ok := in.(*os.File); ok {
		in = &watched{terminal, func() { end(errGone) }}
	}
	guarded := Guarded(model)
	program := tea.NewProgram(guarded, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithAltScreen(), tea.WithoutSignalHandler())
	_, err := program.Run()
	if keeper, ok := model.(interface{ Keep() }); ok {
		keeper.Keep()
	}
	if crash := guarded.Crash(); crash != nil {
		return reportCrash(crash, keep)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, tea.ErrProgramKilled):
		return context.Canceled
	case err != nil:
		return fmt.Errorf("show the terminal UI: %w", err)
	}
	return nil
}

// Keep keeps the unsaved text of all screens. Call it when the program ends. After a crash it may panic again, which it ignores so
// that the first one is reported.
func (a *App) Keep() {
	defer func() { _ = recover() }()
	run(keeping(a.screens))
}

// keeping returns the commands that keep the unsaved text of screens.
func keeping(screens []screen.Screen) []tea.Cmd {
	var cmds []tea.Cmd
	for _, s := range screens {
		if keeper, ok := s.(screen.Keeper); ok {
			cmds = append(cmds, keeper.Keep())
		}
	}
	return cmds
}

// run runs commands one after the other, and returns their messages as a batch.
func run(cmds []tea.Cmd) (said tea.BatchMsg) {
	for _, cmd := range cmds {
		if cmd != nil {
			msg := cmd()
			said = append(said, func() tea.Msg { return msg })
		}
	}
	return said
}

var errGone = errors.New("the terminal is gone")

// watched is a terminal that tells when it has come to its end, as it does when its window is closed. Bubbletea would wait on
// without a keyboard.
type watched struct {
	*os.File
	ended func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.File.Read(p)
	if err != nil {
		w.ended()
	}
	return n, err
}

func reportCrash(crash *Crash, keep func(string) (string, error)) error {
	advice := "What was confirmed before may have been done: look before you do it again."
	if keep == nil {
		return fmt.Errorf("%w. %s", crash, advice)
	}
	place, err := keep(crash.Panic + "\n\n" + crash.Stack)
	if err != nil {
		return fmt.Errorf("%w, and its report could not be kept (%s). %s", crash, err, advice)
	}
	return fmt.Errorf("%w. %s The report is in %s", crash, advice, place)
}
