package property

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// edit is a change on its way: from the form to the comparison to the service, and round again as often as it takes.
type edit struct {
	base    version           // what it began from, and is held against
	form    *widget.Form      // nil for an undo
	initial map[string]string // what the form's fields hold without a change
	patch   api.PropertyPatch // what the comparison shows, and is sent
	merge   *merge
	notes   []string // what has to be said above it all
	lost    bool     // it was sent, and nobody knows whether it was saved
	undoing bool
	profile screen.Profile // in which its draft is kept

	compared compared
	drawn    drawn
}

// drawn caches the comparison, because wrapping long texts takes too long to do for every frame. Whatever changes the edit clears
// it.
type drawn struct {
	width int
	lines []line
}

// parts draws the comparison.
func (e *edit) parts(width int) []line {
	if e.drawn.width != width {
		lines, _, _ := partLines(e.comparison(), width)
		e.drawn = drawn{width, lines}
	}
	return e.drawn.lines
}

// newEdit lays out the form with a change already made.
func newEdit(shell *screen.Shell, base version, patch api.PropertyPatch) *edit {
	e := &edit{base: base, profile: shell.Account.Profile, compared: compared{}}
	e.layOut(shell, patch)
	return e
}

func (e *edit) layOut(shell *screen.Shell, patch api.PropertyPatch) {
	e.form = widget.NewForm(shell.Theme)
	e.initial = map[string]string{}
	for _, f := range fields() {
		e.form.Add(widget.Field{
			Name: f.name, Label: f.label, Kind: f.kind(), Hint: f.hint,
			Value: typeable(f, textOf(e.base.Property, f.name)),
			Check: func(value string) string { return e.problem(f, value) },
			Eager: true,
		})
		e.initial[f.name] = e.form.Value(f.name)
	}
	after := e.base.with(patch)
	for _, name := range patch.Fields() {
		e.form.Set(name, typeable(fieldNamed(name), textOf(after, name)))
	}
	e.form.FocusOn(0)
}

// problem is what is wrong with what a field of the form holds. What was not changed is never wrong.
func (e *edit) problem(f field, value string) string {
	if value == e.initial[f.name] {
		return ""
	}
	return problemWith(f, e.meant(f, value))
}

// meant is the text that a field of the form stands for.
func (e *edit) meant(f field, value string) string {
	was := textOf(e.base.Property, f.name)
	if value == e.initial[f.name] {
		return was
	}
	return restored(f, value, was)
}

// typed returns the fields whose text was changed, whatever it is worth.
func (e *edit) typed() map[string]string {
	typed := map[string]string{}
	for _, f := range fields() {
		if value := e.form.Value(f.name); value != e.initial[f.name] {
			typed[f.name] = value
		}
	}
	return typed
}

// changes returns what the form changes, and the fields that hold nothing that could be sent.
func (e *edit) changes() (patch api.PropertyPatch, wrong []string) {
	var members []api.Member
	typed := e.typed()
	for _, f := range fields() {
		value, changed := typed[f.name]
		switch {
		case !changed:
		case e.problem(f, value) != "":
			wrong = append(wrong, f.name)
		default:
			members = append(members, member(f, e.meant(f, value)))
		}
	}
	patch, _ = api.ParsePropertyPatch(members) // each of them was checked
	return api.PropertyChanges(e.base.Property, e.base.with(patch)), wrong
}

// rebase makes the edit one of another version. Text that cannot be read yet stays as it was typed.
func (e *edit) rebase(shell *screen.Shell, base version, patch api.PropertyPatch) {
	e.drawn = drawn{}
	if e.form == nil {
		e.base, e.patch, e.merge = base, patch, nil
		return
	}
	_, wrong := e.changes()
	typed, focus := e.typed(), slices.Index(e.form.Names(), e.form.Focus())
	e.base, e.patch, e.merge = base, patch, nil
	e.layOut(shell, patch)
	for _, name := range wrong {
		e.form.Set(name, typed[name])
	}
	e.form.FocusOn(focus)
}

func (e *edit) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *edit) only(format string, args ...any) {
	e.notes = nil
	e.note(format, args...)
}

// compare leaves the form for the comparison, if there is something to send and nothing wrong with it.
func (s *Screen) compare() tea.Cmd {
	e := s.edit
	e.notes, e.lost = nil, false
	e.form.Check()
	patch, wrong := e.changes()
	if len(wrong) > 0 {
		e.form.FocusOn(slices.Index(e.form.Names(), wrong[0]))
		e.note("Fix first: %s.", words(wrong))
		return nil
	}
	if patch.IsEmpty() {
		return screen.Tell(screen.Note, "Nothing was changed, so there is nothing to send.")
	}
	e.patch = patch
	s.show(comparing)
	return nil
}

// discard asks before a form with changes is left.
func (s *Screen) discard() tea.Cmd {
	typed := s.edit.typed()
	if len(typed) == 0 {
		return s.leaveEdit()
	}
	return s.shell.Post(screen.Confirm{
		Title: "Discard your changes to " + words(typedNames(typed)) + "?",
		Text:  fmt.Sprintf("Property %d stays as it was.", s.id),
		Yes:   "discard",
		Then: func() tea.Cmd {
			if s.edit == nil || s.sender.Busy() {
				return nil
			}
			return s.leaveEdit()
		},
	})
}

func typedNames(typed map[string]string) []string {
	var names []string
	for _, f := range fields() {
		if _, ok := typed[f.name]; ok {
			names = append(names, f.name)
		}
	}
	return names
}

// leaveEdit goes back to the property, and forgets the text.
func (s *Screen) leaveEdit() tea.Cmd {
	e := s.edit
	s.edit = nil
	s.show(reading)
	var cmds []tea.Cmd
	if e.lost {
		cmds = append(cmds, s.record.Again())
	}
	if e.form != nil {
		cmds = append(cmds, s.drafts.drop(e.profile))
	}
	return tea.Batch(cmds...)
}

// field is how people meet one field of a property.
type field struct {
	name  string // on the wire
	label string
	word  string // within a sentence
	hint  string
	lines bool // it has several lines
	trim  bool // blanks around it do not count
	none  string
}

// fields are those that can be changed, in the order of the form.
func fields() []field {
	const empty, none = "(empty)", "(none)"
	return []field{
		{name: "title", label: "Title", word: "title", hint: "what guests read first", none: empty},
		{name: "description", label: "Description", word: "description", lines: true, none: empty},
		{name: "address", label: "Address", word: "address", hint: "street and number", none: empty},
		{name: "city", label: "City", word: "city", none: empty},
		{name: "postcode", label: "Postcode", word: "postcode", none: empty},
		{name: "images", label: "Images, one per line", word: "images", hint: "addresses such as https://example.com/1.jpg", lines: true, trim: true, none: none},
		{name: "price_pw", label: "Price per week", word: "price per week", hint: "such as 120.50", trim: true, none: none},
		{name: "bedrooms", label: "Bedrooms", word: "bedrooms", hint: "such as 2", trim: true, none: none},
		{name: "bathrooms", label: "Bathrooms", word: "bathrooms", hint: "such as 1", trim: true, none: none},
		{name: "lat", label: "Latitude", word: "latitude", hint: "degrees, such as 53.8; empty for none", trim: true, none: none},
		{name: "lng", label: "Longitude", word: "longitude", hint: "degrees, such as -1.55; empty for none", trim: true, none: none},
		{name: "deposit", label: "Deposit", word: "deposit", hint: "such as 500", trim: true, none: none},
	}
}

func fieldNamed(name string) field {
	for _, f := range fields() {
		if f.name == name {
			return f
		}
	}
	return field{name: name, label: name, word: name}
}

// kind is the kind of the field in a form.
func (f field) kind() widget.Kind {
	if f.lines {
		return widget.Text
	}
	return widget.Line
}

// caption is the label where the field is not being filled in.
func (f field) caption() string {
	if f.name == "images" {
		return "Images"
	}
	return f.label
}

// textOf writes a field of a property as a person edits it. Nothing is lost on the way: digits stay as they are, numbers are
// as short as they can be, no position is the empty text, and each image has a line.
func textOf(p api.Property, name string) string {
	switch name {
	case "title":
		return p.Title
	case "description":
		return p.Description
	case "address":
		return p.Address
	case "city":
		return p.City
	case "postcode":
		return p.Postcode
	case "images":
		return strings.Join(p.Images, "\n")
	case "price_pw":
		return p.PricePW.String()
	case "bedrooms":
		return number(p.Bedrooms)
	case "bathrooms":
		return number(p.Bathrooms)
	case "lat":
		return position(p.Lat)
	case "lng":
		return position(p.Lng)
	case "deposit":
		return number(p.Deposit)
	}
	return ""
}

// number writes a number as JSON does: with the fewest digits that mean the same.
func number[T int | float64](n T) string {
	text, _ := json.Marshal(n) // an infinite number has no text, and cannot have come
	return string(text)
}

func position(degrees *float64) string {
	if degrees == nil {
		return ""
	}
	return number(*degrees)
}

// member is what a text of textOf's kind is to the contract.
func member(f field, text string) api.Member {
	if f.name == "images" {
		images := []string{}
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				images = append(images, line)
			}
		}
		array, _ := json.Marshal(images) // strings always marshal
		return api.Member{Name: f.name, Value: api.TextValue(string(array))}
	}
	if f.trim {
		text = strings.TrimSpace(text)
	}
	return api.Member{Name: f.name, Value: api.TextValue(text)}
}

// problemWith says what the contract has against a text, "" for nothing.
func problemWith(f field, text string) string {
	_, err := api.ParsePropertyPatch([]api.Member{member(f, text)})
	var invalid *api.Error
	if errors.As(err, &invalid) {
		return strings.Join(invalid.Fields[f.name], ", ")
	}
	return ""
}

// words lists fields for a sentence.
func words(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fieldNamed(name).word
	}
	return strings.Join(list, ", ")
}

// undo is how the last saved edit is taken back.
type undo struct {
	after version // what saving has made
	back  api.PropertyPatch
}

// undoOf keeps what an edit has changed. Where it is not known which version the save has made, the next one that is read
// is held against what the save must have made.
func undoOf(e *edit, done saved) *undo {
	after := e.base.with(e.patch)
	u := &undo{version{Property: after}, api.PropertyChanges(after, e.base.Property)}
	if done.known && api.PropertyChanges(after, done.now.Property).IsEmpty() {
		u.after = done.now
	}
	return u
}

// whyNoUndo says why nothing can be undone, "" if something can.
func (s *Screen) whyNoUndo() string {
	switch {
	case s.undo == nil:
		return "Nothing was saved here yet."
	case s.undo.back.IsHeldBy(s.record.Value.Property):
		return fmt.Sprintf("The property already has its old values: %s.", words(s.undo.back.Fields()))
	}
	return ""
}

// takeBack shows what undoing does. What somebody else has done since is merged into it first.
func (s *Screen) takeBack() tea.Cmd {
	u := s.undo
	s.edit = &edit{base: u.after, patch: u.back, undoing: true, profile: s.shell.Account.Profile, compared: compared{}}
	if u.after.ETag != "" && u.after.same(s.record.Value) {
		s.edit.base = s.record.Value
		s.show(comparing)
		return nil
	}
	return s.meet(s.record.Value, thenCompare)
}
