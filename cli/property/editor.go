package property

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"example.com/perks/cli/command"
)

// maxText bounds what is read back from an editor.
const maxText = 1 << 20

const folderPrefix = "perksctl-edit-"

// draftFile is a text that a person edits, in a file that only they can read. It stays until it is discarded.
type draftFile struct{ Path string }

// newDraftFile makes a private folder with a file of that name in it.
func newDraftFile(name, text string) (*draftFile, error) {
	folder, err := os.MkdirTemp("", folderPrefix) // made with mode 0700
	if err != nil {
		return nil, fmt.Errorf("make a folder for the editor: %w", err)
	}
	d := &draftFile{filepath.Join(folder, name)}
	if err := d.Write(text); err != nil {
		d.Discard()
		return nil, err
	}
	return d, nil
}

// Read returns the text as it is now, with line ends as Unix has them and no byte order mark. A file that is gone is
// empty.
func (d *draftFile) Read() (string, error) {
	file, err := os.Open(d.Path)
	if os.IsNotExist(err) {
		return "", nil
	}
	var text []byte
	if err == nil {
		defer file.Close()
		text, err = io.ReadAll(io.LimitReader(file, maxText+1))
	}
	if err != nil {
		return "", fmt.Errorf("read the edited text: %w", err)
	}
	if len(text) > maxText {
		return "", fmt.Errorf("the edited text is longer than %d bytes", maxText)
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n"), nil
}

// Write replaces the text as a whole or not at all.
func (d *draftFile) Write(text string) error {
	if err := command.WritePrivate(d.Path, []byte(text)); err != nil {
		return fmt.Errorf("write the text to edit: %w", err)
	}
	return nil
}

// Beside names a file that belongs to the draft and goes with it.
func (d *draftFile) Beside(suffix string) string {
	return strings.TrimSuffix(d.Path, filepath.Ext(d.Path)) + suffix
}

// Discard removes the draft with its folder. A file that newDraftFile did not make belongs to somebody and stays.
func (d *draftFile) Discard() {
	folder := filepath.Dir(d.Path)
	number, ours := strings.CutPrefix(filepath.Base(folder), folderPrefix)
	if ours && strings.Trim(number, "0123456789") == "" && filepath.Dir(folder) == filepath.Clean(os.TempDir()) {
		_ = os.RemoveAll(folder) // what is left lies among other temporary files
	}
}

// textEditor is the program and its arguments, to which the name of the file is added.
type textEditor []string

// findEditor reads the environment, VISUAL before EDITOR, and without a choice there takes what the platform has. An editor that cannot be run is
// refused here, before anybody has typed anything.
func findEditor(env func(string) string) (textEditor, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		line := env(name)
		if strings.TrimSpace(line) == "" {
			continue
		}
		words, err := split(line)
		if err != nil || len(words) == 0 {
			return nil, command.Usagef("%s=%q is no command line: check its quotes.", name, line)
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, command.Usagef("The editor that %s names cannot be run: %s. Set %s to one that can, with quotes around blanks in its path.", name, err, name)
		}
		return words, nil
	}
	for _, name := range usual {
		if _, err := exec.LookPath(name); err == nil {
			return textEditor{name}, nil
		}
	}
	return nil, command.Usagef("There is no editor: set EDITOR to the one that you use.")
}

// patience is how long an editor has to save what it can after it was told to end.
const patience = 5 * time.Second

// exitInterrupted is what a shell ends with when an interrupt ended what it ran.
const exitInterrupted = 130

// Open runs the editor on a file until it ends. It has the terminal. Its failure, however it came about, says nothing about
// whether the file was changed. An editor that an interrupt ended is context.Canceled.
func (e textEditor) Open(ctx context.Context, s *command.Streams, i *Interrupts, path string) error {
	cmd := exec.CommandContext(ctx, e[0], append(slices.Clone(e[1:]), path)...) // #nosec G204 -- the person's own editor
	cmd.Stdout, cmd.Stderr = s.Err, s.Err                                       // the editor never draws among data
	if s.OutTTY && !s.ErrTTY {
		cmd.Stdout = s.Out
	}
	keyboard, isFile := s.In.(*os.File)
	if isFile { // a reader that is no file would be drained by copying, along with the answers that are meant for perksctl
		cmd.Stdin = keyboard
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	var before *term.State
	if isFile && s.InTTY {
		before, _ = term.GetState(int(keyboard.Fd()))
	}
	takeBack := i.lend()
	err := cmd.Run()
	takeBack()
	if err == nil {
		return nil
	}
	if before != nil {
		_ = term.Restore(int(keyboard.Fd()), before) // an editor that crashed leaves things behind, such as echo that is off
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		status, known := ended.Sys().(syscall.WaitStatus)
		if ended.ExitCode() == exitInterrupted || known && status.Signaled() && status.Signal() == syscall.SIGINT {
			return context.Canceled
		}
	}
	return fmt.Errorf("the editor %s failed: %w", strings.Join(e, " "), err)
}

// Interrupts decides whose a Ctrl-C is. The terminal sends it to perksctl and to the editor alike; while the editor is
// open, it is the editor's alone.
type Interrupts struct {
	cancel context.CancelFunc
	ours   chan os.Signal
}

// heedInterrupts returns a context that an interrupt ends unless an editor is open, and SIGTERM always. A second one ends the
// process. It takes the place of ctx, whose end by an earlier listener could not be undone.
func heedInterrupts(ctx context.Context) (context.Context, *Interrupts, context.CancelFunc) {
	terminated, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	context.AfterFunc(terminated, stop)
	heeded, cancel := context.WithCancel(terminated)
	i := &Interrupts{cancel: cancel}
	i.listen()
	return heeded, i, func() {
		signal.Stop(i.ours)
		close(i.ours)
		cancel()
		stop()
	}
}

func (i *Interrupts) listen() {
	ours := make(chan os.Signal, 1)
	signal.Notify(ours, os.Interrupt)
	i.ours = ours
	go func() {
		if _, came := <-ours; came {
			i.cancel()
			signal.Stop(ours)
		}
	}()
}

// lend leaves interrupts, and the key for SIGQUIT, to the editor until they are taken back. They are caught all the same
// and not ignored, because a process that is started inherits what is ignored.
func (i *Interrupts) lend() (takeBack func()) {
	theirs := make(chan os.Signal, 1)
	signal.Notify(theirs, os.Interrupt, syscall.SIGQUIT)
	signal.Stop(i.ours)
	close(i.ours)
	return func() {
		none := make(chan os.Signal, 1) // signal.Stop returns when every signal that has come so far has been handed out
		signal.Notify(none, os.Interrupt)
		signal.Stop(none)
		i.listen()
		signal.Stop(theirs)
	}
}
