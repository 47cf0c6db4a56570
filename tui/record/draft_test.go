package record

import (
	"errors"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"

	"example.com/perks/tui/screen"
)

// recordingMemory is a Memory that records the titles of saved drafts.
type recordingMemory struct {
	screen.Memory
	titles []string
	err    error
}

func (d *recordingMemory) SaveDraft(_ screen.Profile, _ string, values map[string]string) error {
	d.titles = append(d.titles, values["title"])
	return d.err
}

func TestOlderDraftNeverReplacesANewerOne(t *testing.T) {
	memory := &recordingMemory{}
	shell := testShell()
	shell.Memory = memory
	d := newDrafts(shell, "property", "42")
	first := d.save(screen.Profile{}, map[string]string{"title": "one"})
	second := d.save(screen.Profile{}, map[string]string{"title": "two"})
	dropped := d.save(screen.Profile{}, nil)
	for _, cmd := range []tea.Cmd{second, first, dropped, second, dropped} {
		cmd()
	}
	if diff := cmp.Diff([]string{"two", ""}, memory.titles); diff != "" {
		t.Error("saved (-want +got):", diff)
	}
}

func TestDraftIsSavedWithinTwoSeconds(t *testing.T) {
	var due []tea.Msg
	shell := testShell()
	shell.After = func(pause time.Duration, msg tea.Msg) tea.Cmd {
		if pause != 2*time.Second {
			t.Errorf("it waits %s, want 2s", pause)
		}
		due = append(due, msg)
		return nil
	}
	d := newDrafts(shell, "property", "42")
	for range 5 { // continuous typing
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

func TestFailedDraftIsReportedOnce(t *testing.T) {
	shell := testShell()
	shell.Memory = &recordingMemory{err: errors.New("the disk is full")}
	d := newDrafts(shell, "property", "42")
	reported := 0
	for range 3 {
		saved := d.save(screen.Profile{}, map[string]string{"title": "one"})().(draftSaved)
		if cmd := d.handleSaved(saved.err); cmd != nil {
			reported += toasts(cmd())
		}
	}
	if reported != 1 {
		t.Errorf("reported %d times", reported)
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
