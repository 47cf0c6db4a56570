package property

import (
	"errors"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/screen"
)

// diary is a Memory that notes what is written, in its order.
type diary struct {
	screen.Memory
	titles []string
	err    error
}

func (d *diary) KeepDraft(_ screen.Profile, _ string, values map[string]string) error {
	d.titles = append(d.titles, values["title"])
	return d.err
}

func TestDraftsAreWrittenOneAfterTheOther(t *testing.T) {
	memory := &diary{}
	shell := shellOfTest()
	shell.Memory = memory
	d := draftsOf(shell, 42)
	first := d.keep(screen.Profile{}, map[string]string{"title": "one"})
	for _, title := range []string{"two", "three"} {
		if d.keep(screen.Profile{}, map[string]string{"title": title}) != nil {
			t.Fatalf("%s is written beside the first", title)
		}
	}
	if d.drop(screen.Profile{}) != nil {
		t.Fatal("it is dropped while it is written")
	}
	first()
	next := d.kept(nil)
	if next == nil {
		t.Fatal("the last is never written")
	}
	next()
	if d.kept(nil) != nil || len(memory.titles) != 2 || memory.titles[0] != "one" || memory.titles[1] != "" {
		t.Errorf("written %q", memory.titles)
	}
}

func TestThatNoDraftCanBeKeptIsToldOnce(t *testing.T) {
	shell := shellOfTest()
	shell.Memory = &diary{err: errors.New("the disk is full")}
	d := draftsOf(shell, 42)
	told := 0
	for range 3 {
		kept := d.keep(screen.Profile{}, map[string]string{"title": "one"})().(keptDraft)
		if cmd := d.kept(kept.err); cmd != nil {
			told += toasts(cmd())
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

func toasts(msg tea.Msg) int {
	switch msg := msg.(type) {
	case screen.Toast:
		return 1
	case tea.BatchMsg:
		n := 0
		for _, cmd := range msg {
			n += toasts(cmd())
		}
		return n
	}
	return 0
}
