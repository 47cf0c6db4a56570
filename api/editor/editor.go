// Package editor is a person's own text editor, and the private files that it edits.
package editor

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// FromEnv returns the command line of the editor that VISUAL or EDITOR names, without the file, and the name of that
// variable. It is nil if neither has one.
func FromEnv(env func(string) string) (words []string, from string, err error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		line := env(name)
		if strings.TrimSpace(line) == "" {
			continue
		}
		if words, err = Split(line); err != nil || len(words) == 0 {
			err = fmt.Errorf("%s=%q is not a command line", name, line)
		}
		return words, name, err
	}
	return nil, "", nil
}

// maxText is the size of the longest text that is read back from an editor.
const maxText = 1 << 20

const dirPrefix = "perksctl-edit-"

// File is a file with a text to edit. Only its owner can read it, and it stays until it is discarded.
type File struct{ Path string }

// NewFile makes a file of that name in a private directory.
func NewFile(name, text string) (*File, error) {
	dir, err := os.MkdirTemp("", dirPrefix) // made with mode 0700
	if err != nil {
		return nil, fmt.Errorf("no directory for the editor can be made: %w", err)
	}
	f := &File{filepath.Join(dir, name)}
	if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
		f.Discard()
		return nil, fmt.Errorf("the text to edit cannot be written: %w", err)
	}
	return f, nil
}

// Read returns the text with Unix line ends and without a byte order mark. The text of a missing file is empty.
func (f *File) Read() (string, error) {
	file, err := os.Open(f.Path)
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

// Discard removes the file with its directory. It leaves a file that NewFile did not make.
func (f *File) Discard() {
	dir := filepath.Dir(f.Path)
	number, isOurs := strings.CutPrefix(filepath.Base(dir), dirPrefix)
	isInTemp := filepath.Dir(dir) == filepath.Clean(os.TempDir())
	if isOurs && isInTemp && strings.Trim(number, "0123456789") == "" {
		_ = os.RemoveAll(dir) // the rest is among other temporary files
	}
}
