package tuitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditInPlace edits fields where they are shown, one of them in an editor, sees all that changes before it is
// saved, and deletes.
func TestEditInPlace(t *testing.T) {
	t.Parallel()
	d := loggedIn(t)
	w := d.window(t, 100, 26)
	editor := filepath.Join(w.dir, "editor")
	w.do(os.WriteFile(editor, []byte(`#!/bin/sh
stat -c %a "$1" >mode
echo "$1" >path
test -t 0 && test -t 1 && echo terminal >stdin
seq -f "Line %g of the description." 40 >"$1"
echo "press Enter in the editor"
read answer
`), 0o700))
	w.play(`
		run: EDITOR='EDITOR_OF_TEST' perksctl tui => find: words
		3 => price:
		"1" enter => > Title | enter edit | / field`, "EDITOR_OF_TEST", editor)

	// the price, with as few keys as there are
	w.play(`
		/ => Edit which field?
		"price" enter => Edit property 1 | > Price per week
		ctrl+u "12,5" ctrl+s => ! Fix first: price per week. | >*Price per week
		ctrl+u "999.99" => ≠ Fix first | 1 changed: price per week
		ctrl+s => 1 field changes: Price per week | + 999.99
		ctrl+s => Saved property 1: price per week. | > Price per week`)

	// the description, in an editor
	w.play(`
		G k enter => > Description | ctrl+e editor
		end " Typed." ctrl+e => press Enter in the editor
		enter => >*Description | Line 40 of the description.`)
	if got := w.read("mode") + w.read("stdin"); got != "600terminal" {
		t.Errorf("the editor saw %s", got)
	}
	path := w.read("path")
	isGone := func(string) bool { // once the draft is saved, after the text is shown
		_, err := os.Stat(path)
		return os.IsNotExist(err)
	}
	if _, err := w.terminal.Await(w.ctx, "the end of the editor's file", isGone); err != nil {
		t.Error(err)
	}

	// nothing is saved unseen
	w.play(`
		tab tab tab tab ctrl+u "Utrecht"
		size: 100x15`)
	w.see("(lines 1 to 2 of 40)") // drawn anew: the review must not have been laid out for the larger window
	w.play(`
		ctrl+s => 2 fields change: Description, City | ↓ | more lines | pgdn more
		ctrl+s => See all of it first:
		G => + Utrecht | ctrl+s save
		ctrl+s => Saved property 1: description, city.
		size: 100x26`)
	if text := d.must("perksctl", "property", "get", "1", "-o", "json"); !strings.Contains(text,
		"Line 40 of the description.") || !strings.Contains(text, "Utrecht") {
		t.Errorf("saved %s", text)
	}

	// deleting needs a word
	w.play(`
		ctrl+x => ╔═ Delete property 1? | It goes offline now. Where the service keeps no history, only an operator
		=> Type 1 or delete:
		y enter => ╔═ Delete property 1?
		backspace "delete" enter => Deleted property 1`)

	w.play(`q => exited with 0 | ready>`)
}

// TestAnEditorThatIsInterrupted presses ctrl+c in the editor, which must end neither perksctl nor lose the text.
func TestAnEditorThatIsInterrupted(t *testing.T) {
	t.Parallel()
	d := loggedIn(t)
	w := d.window(t, 100, 26)
	w.do(os.WriteFile(filepath.Join(w.dir, "editor"), []byte("#!/bin/sh\necho in the editor\nsleep 60\n"), 0o700))
	w.play(`
		run: EDITOR=./editor perksctl tui => find: words
		3 => price:
		"1" enter => > Title
		G k enter => ctrl+e editor
		" Typed." ctrl+e => in the editor
		ctrl+c => The editor failed: signal: interrupt. Your text is kept. | Typed.
		esc => Discard your changes to description?
		y => > Description | enter edit
		q => exited with 0 | ready>`)
}
