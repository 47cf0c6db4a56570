package property

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/shlex"

	"example.com/perks/tui/screen"
)

// editorCommand is the person's editor, as VISUAL or EDITOR names it; nil if neither does.
func editorCommand() []string {
	words, _ := shlex.Split(cmp.Or(strings.TrimSpace(os.Getenv("VISUAL")), os.Getenv("EDITOR")))
	return words
}

func whyNoEditor() string {
	if len(editorCommand()) == 0 {
		return "Set EDITOR or VISUAL to your editor first."
	}
	return ""
}

// textEditor edits a text in the person's own editor.
type textEditor struct {
	shell   *screen.Shell
	command []string
	text    string
	path    string // of its file; "" once that is removed
}

// editedText says that an editor is done with a field.
type editedText struct {
	edit  *edit
	field string
	run   *textEditor
	err   error
}

// maxEdited is the size of the longest text that is read back from an editor.
const maxEdited = 1 << 20

// openEditor opens the text of the focused field in the editor. The draft is saved first: the program can be ended
// meanwhile.
func (s *Screen) openEditor() tea.Cmd {
	e, field := s.edit, s.edit.form.Focus()
	run := &textEditor{shell: s.shell, command: editorCommand(), text: e.form.Value(field)}
	save := s.saveDraft()
	return func() tea.Msg {
		saved := save()
		ended := func(err error) tea.Msg { return editedText{e, field, run, err} }
		return tea.BatchMsg{screen.Send(saved), screen.LeaveTerminal(run.edit, ended)}
	}
}

// edit writes the text to a private file, runs the editor on it, and reads it back. Editors end the last line, so that
// the file has a line feed more than the text.
func (t *textEditor) edit() error {
	file, err := os.CreateTemp("", "perksctl-*.txt") // made with mode 0600
	if err != nil {
		return err
	}
	t.path = file.Name()
	_, err = file.WriteString(t.text + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	err = t.shell.RunInTerminal(t.command[0], append(t.command[1:], t.path)...)
	edited, unread := readEdited(t.path)
	switch err = errors.Join(err, unread); {
	case err == nil:
		t.text = edited
	case unread == nil && edited == t.text:
		t.discard()
	}
	return err
}

// discard removes the file. It stays if the text could not be taken over.
func (t *textEditor) discard() {
	_ = os.Remove(t.path)
	t.path = ""
}

func readEdited(path string) (string, error) {
	file, err := os.Open(path) // #nosec G304 -- the file that edit has made
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxEdited+1))
	if err == nil && len(text) > maxEdited {
		err = fmt.Errorf("the text is longer than %d bytes", maxEdited)
	}
	return strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), err
}

// handleEditor puts what the editor saved into the form. If that is not possible, its file stays.
func (s *Screen) handleEditor(done editedText) tea.Cmd {
	switch path := done.run.path; {
	case done.err != nil && path == "":
		return screen.Tell(screen.Failure, "%s Your text is kept.", screen.Sentence("The editor failed: ", done.err))
	case done.err != nil:
		return screen.Tell(screen.Failure, "%s Its text is in %s", screen.Sentence("The editor failed: ", done.err), path)
	case s.Form() == nil || s.edit != done.edit:
		return screen.Tell(screen.Warning, "The form is closed. The text of the editor is in %s", path)
	}
	s.edit.form.Set(done.field, done.run.text)
	s.edit.typed()
	s.refused = s.fixFirst() != ""
	save := s.saveDraft()
	return func() tea.Msg {
		defer done.run.discard()
		return save()
	}
}
