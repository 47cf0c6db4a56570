package property

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"example.com/perks/cli/command"
)

// maxText is the size of the longest text that is read back from an editor.
const maxText = 1 << 20

const draftFolderPrefix = "perksctl-edit-"

// draftFile is the file of a draft. Only its owner can read it, and it stays until it is discarded.
type draftFile struct{ Path string }

// newDraftFile makes a file of that name in a private folder.
func newDraftFile(name, text string) (*draftFile, error) {
	folder, err := os.MkdirTemp("", draftFolderPrefix) // made with mode 0700
	if err != nil {
		return nil, fmt.Errorf("no folder for the editor can be made: %w", err)
	}
	d := &draftFile{filepath.Join(folder, name)}
	if err := d.Write(text); err != nil {
		d.Discard()
		return nil, err
	}
	return d, nil
}

// Read returns the text with Unix line ends and without a byte order mark. The text of a missing file is empty.
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
		return "", fmt.Errorf("the edited text cannot be read: %w", err)
	}
	if len(text) > maxText {
		return "", fmt.Errorf("the edited text is longer than %d bytes", maxText)
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n"), nil
}

// Write replaces the text atomically.
func (d *draftFile) Write(text string) error {
	if err := command.WritePrivate(d.Path, []byte(text)); err != nil {
		return fmt.Errorf("the text to edit cannot be written: %w", err)
	}
	return nil
}

// Beside returns the path of a file that is discarded with the draft.
func (d *draftFile) Beside(suffix string) string {
	return strings.TrimSuffix(d.Path, filepath.Ext(d.Path)) + suffix
}

// Discard removes the draft with its folder. It leaves a file that newDraftFile did not make.
func (d *draftFile) Discard() {
	folder := filepath.Dir(d.Path)
	number, ours := strings.CutPrefix(filepath.Base(folder), draftFolderPrefix)
	if ours && strings.Trim(number, "0123456789") == "" && filepath.Dir(folder) == filepath.Clean(os.TempDir()) {
		_ = os.RemoveAll(folder) // the rest is among other temporary files
	}
}

// textEditor is the command line of an editor, without the file.
type textEditor []string

// findEditor takes the editor from VISUAL or EDITOR, or else the default of the platform. It refuses one that cannot
// run before anybody types anything.
func findEditor(env func(string) string) (textEditor, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		line := env(name)
		if strings.TrimSpace(line) == "" {
			continue
		}
		words, err := split(line)
		if err != nil || len(words) == 0 {
			return nil, command.Usagef("%s=%q is not a command line. Check its quotes.", name, line)
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, command.Usagef("The editor in %s cannot run: %s. Set %s to another one, with quotes around "+
				"spaces in its path.", name, command.Plain(err), name)
		}
		return words, nil
	}
	for _, name := range defaultEditors {
		if _, err := exec.LookPath(name); err == nil {
			return textEditor{name}, nil
		}
	}
	return nil, command.Usagef("No editor found. Set EDITOR to yours.")
}

// saveTime is how long an editor may take to save after SIGTERM.
const saveTime = 5 * time.Second

// exitInterrupted is the exit code of a shell whose command was interrupted.
const exitInterrupted = 130

// Open runs the editor on a file, on the terminal. If it fails, the file may have changed nevertheless. If an interrupt
// ends the editor, the error is context.Canceled.
func (e textEditor) Open(ctx context.Context, s *command.Streams, i *command.Interrupts, path string) error {
	cmd := exec.CommandContext(ctx, e[0], append(slices.Clone(e[1:]), path)...) // #nosec G204 -- the person's own editor
	cmd.Stdout, cmd.Stderr = s.Err, s.Err                                       // the editor never draws among data
	if s.OutTTY && !s.ErrTTY {
		cmd.Stdout = s.Out
	}
	keyboard, isFile := s.In.(*os.File)
	if isFile { // copying from another reader would take the answers meant for perksctl
		cmd.Stdin = keyboard
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = saveTime
	var before *term.State
	if isFile && s.InTTY {
		before, _ = term.GetState(int(keyboard.Fd()))
	}
	resume := i.Suspend()
	err := cmd.Run()
	resume()
	if err == nil {
		return nil
	}
	if before != nil {
		_ = term.Restore(int(keyboard.Fd()), before) // an editor that crashed may leave echo off
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		status, known := exited.Sys().(syscall.WaitStatus)
		if exited.ExitCode() == exitInterrupted || known && status.Signaled() && status.Signal() == syscall.SIGINT {
			return context.Canceled
		}
	}
	return fmt.Errorf("the editor %s failed: %w", strings.Join(e, " "), err)
}
