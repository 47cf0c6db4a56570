package property

import (
	"os/exec"
	"strings"

	"example.com/perks/cli/command"
)

// The environment that chooses an editor, in this order.
const (
	EnvVisual = "VISUAL"
	EnvEditor = "EDITOR"
)

// Editor is the program and its arguments, to which the name of the file is added.
type textEditor []string

// Find reads the environment, and without a choice there takes what the platform has. An editor that cannot be run is
// refused here, before anybody has typed anything.
func findEditor(env func(string) string) (textEditor, error) {
	for _, name := range []string{EnvVisual, EnvEditor} {
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
	return nil, command.Usagef("There is no editor: set %s to the one that you use.", EnvEditor)
}

// String is the command line as it was understood, for messages.
func (e textEditor) String() string { return strings.Join(e, " ") }
