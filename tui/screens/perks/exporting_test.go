package perks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/api/display"
	"example.com/perks/tui/tuitest"
)

// startInDir starts the terminal UI with 1,000 perks. In scenarios, DIR is an empty directory, and "files: a b" says
// what is in it then.
func startInDir(t *testing.T) (d *tuitest.Driver, dir string) {
	t.Helper()
	dir = t.TempDir()
	perks := numbered(1000)
	d = perks.start(t)
	d.Commands["last query"] = func(want string) {
		if queries := perks.queries(); !strings.Contains(queries[len(queries)-1], want) {
			t.Errorf("asked for %s, want %s", queries[len(queries)-1], want)
		}
	}
	d.Commands["files"] = func(want string) {
		entries, err := os.ReadDir(dir)
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("the directory has %q, want %q (%v)", got, want, err)
		}
	}
	d.Commands["fits"] = func(string) { d.Says("cancel export") }
	d.Commands["write"] = func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.Commands["has"] = func(nameAndText string) {
		name, want, _ := strings.Cut(nameAndText, " ")
		if got, err := os.ReadFile(filepath.Join(dir, name)); !strings.Contains(string(got), want) || err != nil {
			t.Errorf("%s has %.200q, want %q (%v)", name, got, want, err)
		}
	}
	d.Commands["lines"] = func(nameAndCount string) {
		name, want, _ := strings.Cut(nameAndCount, " ")
		text, _ := os.ReadFile(filepath.Join(dir, name))
		if got := strings.Count(string(text), "\n"); want != display.Count(got) {
			t.Errorf("%s has %d lines, want %s", name, got, want)
		}
	}
	d.See("row 1 of 1,000")
	d.Settle()
	return d, dir
}

// exports are sessions that export a list of 1,000 perks to a directory that is empty at first.
var exports = map[string]string{
	"the extension decides": `
		E                => Export 1,000 perks | All pages, in this order | > File perks-2026-03-10.csv
		ctrl+u "DIR/a.csv\n" => Done: Exported 1,000 perks to | 001/a.csv.
		E ctrl+u "DIR/b.jsonl\n" settle E ctrl+u "DIR/c.JSON\n" settle
		files: a.csv b.jsonl c.JSON
		lines: a.csv 1,001
		has: a.csv id,title,description,category,
		has: a.csv perk-0001000
		lines: b.jsonl 1,000
		has: b.jsonl {"id":"perk-0000001",
		has: c.JSON [
		has: c.JSON     "id": "perk-0001000",`,

	"other names are refused": `
		E ctrl+u enter   => Enter the name of a file.
		"DIR/a.xlsx\n"   => must end in .csv, .json or .jsonl
		backspace backspace backspace backspace backspace "\n" => must end in .csv, .json or .jsonl
		esc settle
		E ctrl+u "DIR/none/a.csv\n" => Error: Not exported to a.csv: no such file or directory.
		files:`,

	"nothing is overwritten without a question": `
		write: a.csv
		E ctrl+u "DIR/a.csv\n" => Replace a.csv? | The file exists already: | y replace it
		n settle
		has: a.csv mine
		files: a.csv
		E ctrl+u "DIR/a.csv\n" => Replace
		wait: 2s
		y                => Done: Exported 1,000 perks
		lines: a.csv 1,001
		files: a.csv`,

	"what is shown is exported": `
		/ "nothing\n"    => No perk matches nothing
		E                => Export to a file…: not possible now. There is no perk here.
		F settle S settle
		E ctrl+u "DIR/a.jsonl\n" => Exported 1,000 perks
		last query: sort=created_at`,

	"esc cancels, and leaves nothing": `
		service: holds page 4
		E ctrl+u "DIR/a.csv\n" => exporting 300 of 1,000 | esc cancel export
		unsaved: The export to a.csv is not finished. Nothing of it would stay.
		E                => Export to a file…: not possible now. An export is under way.
		fits:
		j j              => row 3 of 1,000
		esc              => Cancelled. a.csv was not written. | ≠ exporting
		settle
		files:
		unsaved:
		service: works
		E ctrl+u "DIR/a.csv\n" => Exported 1,000 perks`,

	"a failure leaves nothing": `
		service: holds page 4
		E ctrl+u "DIR/a.csv\n" => exporting 300 of 1,000
		service: fails
		                 => Error: Not exported to a.csv: The server failed. | ≠ exporting
		settle
		files:`,

	"quitting asks, and leaves nothing": `
		service: holds page 4
		E ctrl+u "DIR/a.csv\n" => exporting 300 of 1,000
		q                => Quit? | The export to a.csv is not finished. | y quit
		y
		ends:
		files:`,

	"a file that appears meanwhile stays": `
		service: holds page 4
		E ctrl+u "DIR/a.csv\n" => exporting 300 of 1,000
		write: a.csv
		service: works   => Replace a.csv?
		has: a.csv mine
		wait: 2s
		n settle
		files: a.csv`,
}

func TestExports(t *testing.T) {
	t.Parallel()
	for name, flow := range exports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, dir := startInDir(t)
			d.Commands["ends"] = func(string) { d.App.SaveDrafts() }
			d.Play(flow, "DIR", dir)
		})
	}
}
