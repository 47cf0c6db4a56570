package record

import (
	"errors"
	"os"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/editor"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

func whyNoEditor() string {
	words, _, err := editor.FromEnv(os.Getenv)
	return actions.WhyIf(err != nil || words == nil, "Set EDITOR or VISUAL to your editor first.")
}

// editedText says that an editor is done with a field.
type editedText struct {
	edit  any // a pointer to it
	field string
	text  string       // what it saved, without an error
	file  *editor.File // nil if that has nothing that the field has not
	err   error
}

// openEditor opens the text of the focused field in the person's own editor. The draft is saved first: the program can
// be ended meanwhile.
func (s *Editor[I, R, P]) openEditor() tea.Cmd {
	field := s.edit.form.Focus()
	done := editedText{edit: s.edit, field: field, text: s.edit.form.Value(field)}
	save, run := s.saveDraft(), s.Shell.RunInTerminal
	return func() tea.Msg {
		saved := save()
		ended := func(err error) tea.Msg {
			done.err = err
			return done
		}
		task := screen.TerminalTask(func() error { return done.run(run) })
		return tea.BatchMsg{screen.Send(saved), tea.Exec(task, ended)}
	}
}

// run writes the text to a private file, runs the editor on it, and reads it back. Editors end the last line, so that
// the file has a line feed more than the text.
func (t *editedText) run(program func(name string, args ...string) error) error {
	words, _, err := editor.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	if t.file, err = editor.NewFile(t.field+".txt", t.text+"\n"); err != nil {
		return err
	}
	err = program(words[0], append(words[1:], t.file.Path)...)
	edited, unread := t.file.Read()
	edited = strings.TrimSuffix(edited, "\n")
	switch err = errors.Join(err, unread); {
	case err == nil:
		t.text = edited
	case unread == nil && edited == t.text:
		t.file.Discard()
		t.file = nil
	}
	return err
}

// handleEditor puts what the editor saved into the form. If that is not possible, its file stays.
func (s *Editor[I, R, P]) handleEditor(done editedText) tea.Cmd {
	switch {
	case done.err != nil && done.file == nil:
		return screen.Tell(screen.Failure, "%s Your text is kept.", screen.Sentence("The editor failed: ", done.err))
	case done.err != nil:
		return screen.Tell(screen.Failure, "%s Its text is in %s", screen.Sentence("The editor failed: ", done.err),
			done.file.Path)
	case s.Form() == nil || done.edit != any(s.edit):
		return screen.Tell(screen.Warning, "The form is closed. The text of the editor is in %s", done.file.Path)
	}
	s.edit.form.Set(done.field, done.text)
	s.typed()
	save := s.saveDraft()
	return func() tea.Msg {
		defer done.file.Discard()
		return save()
	}
}
