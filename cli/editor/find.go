// Package editor lets a person edit a text in the editor of their choice: it finds the editor, lends it the terminal, and
// keeps the text in a private file until nobody needs it any more.
//
// It knows nothing of what is edited.
package editor

import (
	"os/exec"
	"strings"

	"example.com/perks/cli/exit"
)

// The environment that chooses an editor, in this order.
const (
	EnvVisual = "VISUAL"
	EnvEditor = "EDITOR"
)

// Editor is the program and its arguments, to which the name of the file is added.
type Editor []string

// Find reads the environment, and without a choice there takes what the platform has. An editor that cannot be run is
// refused here, before anybody has typed anything.
func Find(env func(string) string) (Editor, error) {
	for _, name := range []string{EnvVisual, EnvEditor} {
		line := env(name)
		if strings.TrimSpace(line) == "" {
			continue
		}
		words, err := split(line)
		if err != nil || len(words) == 0 {
			return nil, exit.Usagef("%s=%q is no command line: check its quotes.", name, line)
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, exit.Usagef("The editor that %s names cannot be run: %s. Set %s to one that can, with quotes around blanks in its path.", name, err, name)
		}
		return words, nil
	}
	for _, name := range usual {
		if _, err := exec.LookPath(name); err == nil {
			return Editor{name}, nil
		}
	}
	return nil, exit.Usagef("There is no editor: set %s to the one that you use.", EnvEditor)
}

// String is the command line as it was understood, for messages.
func (e Editor) String() string { return strings.Join(e, " ") }
