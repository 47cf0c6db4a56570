package property

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
)

// draftPause is how long nothing more must be typed until a draft is kept.
const draftPause = 2 * time.Second

// baseOfDraft is where a draft holds the version that its text is a change to. No field is called so.
const baseOfDraft = "(base)"

// drafts keeps the unsaved text of one property. Files are written one after the other, so that an older text never comes
// over a newer one, nor over none.
type drafts struct {
	shell *screen.Shell
	name  string

	values map[string]string // what is kept, or is about to be; nil for nothing
	known  bool              // values was read

	number int // of the last change
	busy   bool
	next   *keeping
	warned bool
}

type keeping struct {
	profile screen.Profile
	values  map[string]string
}

// pausedDraft says that the pause after a change has passed.
type pausedDraft struct {
	drafts *drafts
	number int
}

type keptDraft struct {
	drafts *drafts
	err    error
}

func draftsOf(shell *screen.Shell, id int64) *drafts {
	return &drafts{shell: shell, name: fmt.Sprintf("property-%d", id)}
}

// rest waits until nothing more is typed.
func (d *drafts) rest() tea.Cmd {
	d.number++
	return d.shell.After(draftPause, pausedDraft{d, d.number})
}

// keep writes the text down; nil drops what was written.
func (d *drafts) keep(profile screen.Profile, values map[string]string) tea.Cmd {
	d.number++
	d.values, d.known = values, true
	d.next = &keeping{profile, values}
	return d.write()
}

func (d *drafts) drop(profile screen.Profile) tea.Cmd { return d.keep(profile, nil) }

func (d *drafts) write() tea.Cmd {
	if d.busy || d.next == nil {
		return nil
	}
	what, memory := *d.next, d.shell.Memory
	d.busy, d.next = true, nil
	return func() tea.Msg { return keptDraft{d, memory.KeepDraft(what.profile, d.name, what.values)} }
}

// kept goes on with what is to be written next. That drafts cannot be kept is said once.
func (d *drafts) kept(err error) tea.Cmd {
	d.busy = false
	next := d.write()
	if err == nil || d.warned {
		return next
	}
	d.warned = true
	return tea.Batch(next, screen.Tell(screen.Warning, "What you type cannot be kept as a draft: %s", err))
}

// foundDraft is what was kept of an earlier edit, nil if nothing was.
type foundDraft struct {
	drafts *drafts
	values map[string]string
}

// find reads what was kept, before it is asked for: an edit opens at once, so that what is typed next is text.
func (d *drafts) find() tea.Cmd {
	memory, profile := d.shell.Memory, d.shell.Account.Profile
	return func() tea.Msg { return foundDraft{d, memory.Draft(profile, d.name)} }
}

func (d *drafts) found(values map[string]string) {
	if !d.known {
		d.values, d.known = values, true
	}
}

// draft is the text of an edit with what it is a change to; nil if nothing is changed.
func (e *edit) draft() map[string]string {
	values := maps.Clone(e.typed())
	if len(values) == 0 {
		return nil
	}
	base, err := json.Marshal(e.base)
	if err != nil {
		return values // not reached: a property that came as JSON goes as JSON
	}
	values[baseOfDraft] = string(base)
	return values
}

// beginEdit opens the form, or lets a person take up a text from before.
func (s *Screen) beginEdit() tea.Cmd {
	base, typed := readDraft(s.drafts.values, s.record.Value)
	if len(typed) == 0 {
		s.fill(newEdit(s.shell, s.record.Value, api.PropertyPatch{}))
		return nil
	}
	return s.shell.Post(screen.Pick{
		Title:   "There is unsaved text from before",
		Options: []string{"take it up: " + words(typedNames(typed)), "throw it away, and begin with the property as it is"},
		Then: func(index int) tea.Cmd {
			if s.stage != reading || !s.record.Has || s.isBusy() {
				return nil
			}
			if index == 1 {
				s.fill(newEdit(s.shell, s.record.Value, api.PropertyPatch{}))
				return s.drafts.drop(s.shell.Account.Profile)
			}
			return s.takeUp(base, typed)
		},
	})
}

// readDraft returns what a draft is a change to, which is the present version if the draft does not say.
func readDraft(values map[string]string, now version) (base version, typed map[string]string) {
	base, typed = now, map[string]string{}
	var kept version
	if json.Unmarshal([]byte(values[baseOfDraft]), &kept) == nil && kept.Property.ID == now.Property.ID {
		base = kept
	}
	for _, f := range fields() {
		if value, ok := values[f.name]; ok {
			typed[f.name] = value
		}
	}
	return base, typed
}

// takeUp goes on with a draft. What became of the property since is merged into it first.
func (s *Screen) takeUp(base version, typed map[string]string) tea.Cmd {
	e := newEdit(s.shell, base, api.PropertyPatch{})
	for name, value := range typed {
		e.form.Set(name, value)
	}
	s.fill(e)
	patch, _ := e.changes()
	if base.same(s.record.Value) {
		e.patch = patch
		return nil
	}
	e.patch = patch
	return s.meet(s.record.Value, thenFill)
}
