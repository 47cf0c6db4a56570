package record

import (
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/screen"
)

// draftPause is how long text stays unsaved. It counts from the first key, so that typing without a pause loses no more
// than that.
const draftPause = 2 * time.Second

// drafts keeps the unsaved text of one record.
type drafts struct {
	shell *screen.Shell
	name  string

	values operation.Draft // saved or about to be; nil for nothing
	known  bool            // values was read

	number int     // of the last save
	dirty  bool    // something was typed since
	last   tea.Cmd // the last save; nil if there was none
	warned bool

	writing sync.Mutex // guards written, and is held while a file is written
	written int        // the number of the last save that was written
}

// draftDue says that unsaved text has to be saved now.
type draftDue struct {
	drafts *drafts
	number int
}

type draftSaved struct {
	drafts *drafts
	err    error
}

// Failed tells whether the draft could not be saved.
func (k draftSaved) Failed() bool { return k.err != nil }

func newDrafts(shell *screen.Shell, kind, id string) *drafts {
	return &drafts{shell: shell, name: kind + "-" + id}
}

// edited starts the pause after which the text is saved. Further keys do not start it again.
func (d *drafts) edited() tea.Cmd {
	if d.dirty {
		return nil
	}
	d.dirty = true
	return d.shell.After(draftPause, draftDue{d, d.number})
}

// save returns the command that writes the text; nil deletes the draft. Commands run in any order, so it does nothing
// after a later save. The last one runs again when the program ends, in case it had failed.
func (d *drafts) save(profile screen.Profile, values operation.Draft) tea.Cmd {
	d.number++
	d.values, d.known, d.dirty = values, true, false
	number, memory := d.number, d.shell.Memory
	d.last = func() tea.Msg {
		d.writing.Lock()
		defer d.writing.Unlock()
		if number <= d.written {
			return nil
		}
		err := memory.SaveDraft(profile, d.name, values)
		if err == nil {
			d.written = number
		}
		return draftSaved{d, err}
	}
	return d.last
}

func (d *drafts) handleSaved(err error) tea.Cmd {
	if err == nil || d.warned {
		return nil
	}
	d.warned = true
	return screen.Tell(screen.Warning, "The draft was not saved: %s", err)
}

// draftLoaded is the draft of an earlier edit; nil if there is none.
type draftLoaded struct {
	drafts *drafts
	values operation.Draft
}

// StartEdit opens the form at a field, or lets a person resume a draft.
func (s *Editor[I, R, P]) StartEdit(field string) tea.Cmd {
	typed := s.Kind.Typed(s.drafts.values)
	if len(typed) == 0 {
		s.openForm(s.Kind.NewEdit(s.ID, s.Record.Value), field)
		return nil
	}
	age := ""
	if at, known := s.drafts.values.TypedAt(); known {
		age = ", " + display.Age(s.Shell.Now().Sub(at))
	}
	return s.Shell.Post(screen.Pick{
		Title:   "Unsaved draft: " + s.Kind.Labels(typed) + age,
		Options: []string{"Resume", "Discard"},
		Then: func(index int) tea.Cmd {
			switch {
			case s.edit != nil || !s.Record.Has || s.isDeleting():
				return nil
			case index == 0: // saved again, to learn whether that works
				s.openForm(s.Kind.Resume(s.ID, s.drafts.values, s.Record.Value), field)
				return s.saveDraft()
			}
			s.openForm(s.Kind.NewEdit(s.ID, s.Record.Value), field)
			return s.drafts.save(s.Shell.Account.Profile, nil)
		},
	})
}
