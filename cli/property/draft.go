package property

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"example.com/perks/cli/command"
)

// MaxText bounds what is read back from an editor.
const MaxText = 1 << 20

const folderPrefix = "perksctl-edit-"

// Draft is a text that a person edits, in a file that only they can read. It stays until it is discarded.
type draftFile struct{ Path string }

// NewDraft makes a private folder with a file of that name in it.
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
	if err != nil {
		return "", fmt.Errorf("read the edited text: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxText+1))
	if err != nil {
		return "", fmt.Errorf("read the edited text: %w", err)
	}
	if len(text) > MaxText {
		return "", fmt.Errorf("the edited text is longer than %d bytes", MaxText)
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

// Discard removes the draft with its folder. A file that NewDraft did not make belongs to somebody and stays.
func (d *draftFile) Discard() {
	if folder := filepath.Dir(d.Path); isOurs(folder) {
		_ = os.RemoveAll(folder) // what is left lies among other temporary files
	}
}

func isOurs(folder string) bool {
	number, ours := strings.CutPrefix(filepath.Base(folder), folderPrefix)
	return ours && strings.Trim(number, "0123456789") == "" && filepath.Dir(folder) == filepath.Clean(os.TempDir())
}
