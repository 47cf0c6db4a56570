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
	d := newFixture(t)
	d.logIn()
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
	w.enter("EDITOR='" + editor + "' perksctl tui; echo exited\\ with $?")
	w.see("find: words")
	w.press("3")
	w.see("price:")
	w.write("1")
	w.press("Enter")
	w.see("> Title", "enter edit", "/ field")

	// the price, with as few keys as there are
	w.press("/")
	w.see("Edit which field?")
	w.write("price")
	w.press("Enter")
	w.see("Edit property 1", "> Price per week")
	w.press("C-u")
	w.write("12,5")
	w.press("C-s")
	w.see("! Fix first: price per week.", ">*Price per week")
	w.press("C-u")
	w.write("999.99")
	w.gone("Fix first")
	w.see("1 changed: price per week")
	w.press("C-s")
	w.see("1 field changes: Price per week", "+ 999.99")
	w.press("C-s")
	w.see("Saved property 1: price per week.", "> Price per week")

	// the description, in an editor
	w.press("g", "j", "Enter")
	w.see("> Description", "ctrl+e editor")
	w.press("End")
	w.write(" Typed.")
	w.press("C-e")
	w.see("press Enter in the editor")
	w.press("Enter")
	w.see(">*Description", "Line 40 of the description.")
	if got := w.read("mode") + w.read("stdin"); got != "600terminal" {
		t.Errorf("the editor saw %s", got)
	}
	if _, err := os.Stat(w.read("path")); !os.IsNotExist(err) {
		t.Errorf("the file of the editor is still there: %v", err)
	}

	// nothing is saved unseen
	w.press("Tab", "Tab", "C-u")
	w.write("Utrecht")
	w.do(w.terminal.Resize(w.ctx, 100, 14))
	w.see("(lines 1 to 2 of 40)") // drawn anew: the review must not have been laid out for the larger window
	w.press("C-s")
	w.see("2 fields change: Description, City", "↓", "more lines", "pgdn more")
	w.press("C-s")
	w.see("See all of it first:")
	w.press("G")
	w.see("+ Utrecht", "ctrl+s save")
	w.press("C-s")
	w.see("Saved property 1: description, city.")
	w.do(w.terminal.Resize(w.ctx, 100, 26))
	if text := d.must("perksctl", "property", "get", "1", "-o", "json"); !strings.Contains(text,
		"Line 40 of the description.") || !strings.Contains(text, "Utrecht") {
		t.Errorf("saved %s", text)
	}

	// deleting needs a word
	w.press("C-x")
	w.see("╔═ Delete property 1?", "It goes offline now. Only an operator can restore it.", "Type 1 or delete:")
	w.press("y", "Enter")
	w.see("╔═ Delete property 1?")
	w.press("BSpace")
	w.write("delete")
	w.press("Enter")
	w.see("Deleted property 1")

	w.press("q")
	w.see("exited with 0", prompt)
}

// TestAnEditorThatIsInterrupted presses ctrl+c in the editor, which must end neither perksctl nor lose the text.
func TestAnEditorThatIsInterrupted(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.logIn()
	w := d.window(t, 100, 26)
	w.do(os.WriteFile(filepath.Join(w.dir, "editor"), []byte("#!/bin/sh\necho in the editor\nsleep 60\n"), 0o700))
	w.enter("EDITOR=./editor perksctl tui; echo exited\\ with $?")
	w.see("find: words")
	w.press("3")
	w.see("price:")
	w.write("1")
	w.press("Enter")
	w.see("> Title")
	w.press("j", "Enter")
	w.see("ctrl+e editor")
	w.write(" Typed.")
	w.press("C-e")
	w.see("in the editor")
	w.press("C-c")
	w.see("The editor failed: signal: interrupt. Your text is kept.", "Typed.")
	w.press("Escape")
	w.see("Discard your changes to description?")
	w.press("y")
	w.see("> Description", "enter edit")
	w.press("q")
	w.see("exited with 0", prompt)
}
