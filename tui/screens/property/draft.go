package property

import (
	"encoding/json"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
)

// draftPause is how long text stays unsaved. It counts from the first key, so that typing without a pause loses no more than that.
const draftPause = 2 * time.Second

// The names under which a draft has its base version, and when it was typed. No field has these names.
const (
	baseOfDraft = "(base)"
	timeOfDraft = "(time)"
)

// drafts keeps the unsaved text of one property.
type drafts struct {
	shell *screen.Shell
	name  string

	values map[string]string // what is saved or about to be; nil for nothing
	known  bool              // values was read

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

func newDrafts(shell *screen.Shell, id api.PropertyID) *drafts {
	return &drafts{shell: shell, name: "property-" + string(id)}
}

// edited starts the pause after which the text is saved. Further keys do not start it again.
func (d *drafts) edited() tea.Cmd {
	if d.dirty {
		return nil
	}
	d.dirty = true
	return d.shell.After(draftPause, draftDue{d, d.number})
}

// save returns the command that writes the text; nil deletes the draft. Commands run in any order, so it does nothing after a later save.
// The last one runs again when the program ends, in case it had failed.
func (d *drafts) save(profile screen.Profile, values map[string]string) tea.Cmd {
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
	values map[string]string
}

// draft is the changed text of an edit with its base version and the time; nil if nothing is changed.
func (e *edit) draft(now time.Time) map[string]string {
	values := e.typed()
	if len(values) == 0 {
		return nil
	}
	base, err := json.Marshal(e.base)
	if err != nil {
		return values // not reached: a property that came as JSON goes as JSON
	}
	values[baseOfDraft], values[timeOfDraft] = string(base), now.Format(time.RFC3339)
	return values
}

// startEdit opens the form at a field, or lets a person resume a draft.
func (s *Screen) startEdit(field string) tea.Cmd {
	base, typed := readDraft(s.drafts.values, s.record.Value)
	if len(typed) == 0 {
		s.openForm(newEdit(s.shell, s.record.Value), field)
		return nil
	}
	return s.shell.Post(screen.Pick{
		Title:   "Unsaved draft: " + labels(typedNames(typed)) + s.draftAge(),
		Options: []string{"Resume", "Discard"},
		Then: func(index int) tea.Cmd {
			switch {
			case s.mode != viewing || !s.record.Has || s.sender.Busy():
				return nil
			case index == 0:
				return s.resume(base, typed, field)
			}
			s.openForm(newEdit(s.shell, s.record.Value), field)
			return s.drafts.save(s.shell.Account.Profile, nil)
		},
	})
}

// draftAge says when the draft was typed: ", 2 minutes ago"; "" if it does not say.
func (s *Screen) draftAge() string {
	typed, err := time.Parse(time.RFC3339, s.drafts.values[timeOfDraft])
	if err != nil {
		return ""
	}
	return ", " + display.Age(s.shell.Now().Sub(typed))
}

// readDraft returns the text of a draft and its base, which is the present version if the draft has none.
func readDraft(values map[string]string, now client.Version) (base client.Version, typed map[string]string) {
	base, typed = now, map[string]string{}
	var saved client.Version
	err := json.Unmarshal([]byte(values[baseOfDraft]), &saved)
	if err == nil && saved.Property.PropertyID() == now.Property.PropertyID() {
		base = saved
	}
	for _, name := range typedNames(values) {
		typed[name] = values[name]
	}
	return base, typed
}

// resume opens the form with a draft, and saves it again to learn whether that works. If the property has changed since, it merges first.
func (s *Screen) resume(base client.Version, typed map[string]string, field string) tea.Cmd {
	e := newEdit(s.shell, base)
	for name, value := range typed {
		e.form.Set(name, value)
	}
	s.openForm(e, field)
	e.patch, _ = e.changes()
	save := s.saveDraft()
	if base.Same(s.record.Value) {
		return save
	}
	return tea.Batch(save, s.startMerge(s.record.Value, thenFill))
}
