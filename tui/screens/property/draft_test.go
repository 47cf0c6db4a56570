package property

import (
	"errors"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"

	"example.com/perks/tui/screen"
)

// diary is a Memory that notes what is written, in its order.
type diary struct {
	screen.Memory
	titles []string
	err    error
}

func (d *diary) SaveDraft(_ screen.Profile, _ string, values map[string]string) error {
	d.titles = append(d.titles, values["title"])
	return d.err
}

func TestAnOlderDraftNeverReplacesANewerOne(t *testing.T) {
	memory := &diary{}
	shell := shellOfTest()
	shell.Memory = memory
	d := newDrafts(shell, 42)
	first := d.save(screen.Profile{}, map[string]string{"title": "one"})
	second := d.save(screen.Profile{}, map[string]string{"title": "two"})
	dropped := d.save(screen.Profile{}, nil)
	for _, cmd := range []tea.Cmd{second, first, dropped, second, dropped} {
		cmd()
	}
	if diff := cmp.Diff([]string{"two", ""}, memory.titles); diff != "" {
		t.Error("written (-want +got):", diff)
	}
}

func TestTextIsUnsavedForTwoSecondsAtMost(t *testing.T) {
	var due []tea.Msg
	shell := shellOfTest()
	shell.After = func(pause time.Duration, msg tea.Msg) tea.Cmd {
		if pause != 2*time.Second {
			t.Errorf("it waits %s", pause)
		}
		due = append(due, msg)
		return nil
	}
	d := newDrafts(shell, 42)
	for range 5 { // somebody who types on and on
		d.edited()
	}
	if len(due) != 1 || due[0] != (draftDue{d, d.number}) {
		t.Fatalf("after five keys %v is due", due)
	}
	d.save(screen.Profile{}, map[string]string{"title": "one"})
	d.edited()
	if len(due) != 2 || due[1] != (draftDue{d, d.number}) || due[1] == due[0] {
		t.Errorf("after the next key %v is due", due)
	}
}

func TestThatNoDraftCanBeKeptIsToldOnce(t *testing.T) {
	shell := shellOfTest()
	shell.Memory = &diary{err: errors.New("the disk is full")}
	d := newDrafts(shell, 42)
	told := 0
	for range 3 {
		handleSaved := d.save(screen.Profile{}, map[string]string{"title": "one"})().(draftSaved)
		if cmd := d.handleSaved(handleSaved.err); cmd != nil {
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
