package widget

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
)

// Kind is how a field is filled in.
type Kind int

// The kinds of fields.
const (
	Line   Kind = iota // one line of text
	Secret             // one line that is never shown
	Text               // several lines; Enter begins a new one
	Switch             // "yes" or "no"; the blank changes it
	Choice             // one of Options; the blank goes on to the next
)

// Yes and No are the values of a Switch.
const (
	Yes = "yes"
	No  = "no"
)

// Field is one thing that a form asks for.
type Field struct {
	Name    string // as the service names it, so that its errors find their place
	Label   string // as people read it
	Kind    Kind
	Value   string                    // at first
	Options []string                  // of a Choice
	Hint    string                    // shown while the field is empty, or beside a Switch: what belongs here, such as "such as 120.50"
	Check   func(value string) string // what is wrong with a value, "" for nothing; nil takes all

	// Eager says that the rule speaks up with the first key already: for a value that is there and gets corrected. Otherwise it
	// does once the field was left, because half of a new text breaks most rules.
	Eager bool
}

// Form is fields that are being filled in. One of them has the keyboard.
type Form struct {
	theme   *Theme
	entries []*entry
	focus   int

	anywhere bool  // Enter sends from every field
	drawn    []int // the place of the field on each line of the last View
}

type entry struct {
	Field
	editor  editor
	first   string   // the value that counts as unchanged
	touched bool     // its own rule speaks up
	refused []string // what the service said of the value said
	said    string
}

// NewForm makes a form. The first field has the keyboard.
func NewForm(look *Theme, fields ...Field) *Form {
	f := &Form{theme: look}
	for _, field := range fields {
		f.Add(field)
	}
	f.FocusOn(0)
	return f
}

// Add appends a field.
func (f *Form) Add(field Field) {
	e := &entry{Field: field}
	e.editor = editor{several: field.Kind == Text, blind: field.Kind == Secret}
	e.set(field.Value)
	e.first = e.value()
	if field.Kind == Secret {
		e.Value = ""
	}
	f.entries = append(f.entries, e)
}

func (e *entry) set(value string) {
	if e.turns() {
		e.Value = value
	} else {
		e.editor.set(value)
	}
}

func (e *entry) value() string {
	if e.turns() {
		return e.Value
	}
	return e.editor.value()
}

// turns tells whether a field has a value of several instead of text.
func (e *entry) turns() bool { return e.Kind == Switch || e.Kind == Choice }

func (f *Form) SetTheme(look *Theme) { f.theme = look }

// Names returns the fields in their order.
func (f *Form) Names() []string {
	names := make([]string, len(f.entries))
	for i, e := range f.entries {
		names[i] = e.Name
	}
	return names
}

// entry returns a field; one that belongs to no form if there is none of that name.
func (f *Form) entry(name string) *entry {
	if place := f.place(name); place >= 0 {
		return f.entries[place]
	}
	return &entry{}
}

// Field returns a field as it was declared.
func (f *Form) Field(name string) Field  { return f.entry(name).Field }
func (f *Form) Value(name string) string { return f.entry(name).value() }

// Set fills in a field, as if a person had.
func (f *Form) Set(name, value string) { f.entry(name).set(value) }

// Problems returns what is shown to be wrong with a field now.
func (f *Form) Problems(name string) []string { return f.entry(name).problems() }

// Values returns what all fields hold, secrets excepted.
func (f *Form) Values() map[string]string {
	values := map[string]string{}
	for _, e := range f.entries {
		if e.Kind != Secret {
			values[e.Name] = e.value()
		}
	}
	return values
}

// Changed returns the fields that hold something else than at first.
func (f *Form) Changed() []string {
	var changed []string
	for _, e := range f.entries {
		if e.value() != e.first {
			changed = append(changed, e.Name)
		}
	}
	return changed
}

// Focus returns the field that has the keyboard.
func (f *Form) Focus() string {
	if len(f.entries) == 0 {
		return ""
	}
	return f.entries[f.focus].Name
}

// FocusOn gives the keyboard to a field by its place.
func (f *Form) FocusOn(place int) { f.focus = max(0, min(place, len(f.entries)-1)) }

// Do goes to the next or previous field, and tells whether the action was that.
func (f *Form) Do(id actions.ID) bool {
	all := len(f.entries)
	step, moves := map[actions.ID]int{actions.NextField: 1, actions.PreviousField: all - 1}[id]
	if moves && all > 0 {
		f.entries[f.focus].touched = true
		f.FocusOn((f.focus + step) % all)
	}
	return moves
}

// EnterSends tells whether Enter sends the form: it does in the last field, unless that has several lines.
func (f *Form) EnterSends() bool {
	return len(f.entries) > 0 && (f.anywhere || f.focus == len(f.entries)-1) && f.entries[f.focus].Kind != Text
}

// Takes tells whether the field that has the keyboard needs the key itself: Enter within several lines, and the arrows as
// long as there is a line to go to.
func (f *Form) Takes(key string) bool {
	e := f.entry(f.Focus())
	if e.Kind != Text {
		return false
	}
	return key == "enter" || key == "up" && e.editor.climbs(-1) || key == "down" && e.editor.climbs(1)
}

// Update takes a key, and tells whether the text has changed. What is pasted into a single line becomes one line. The command
// is nil as long as no kind of field has something to wait for.
func (f *Form) Update(msg tea.Msg) (cmd tea.Cmd, edited bool) {
	key, ok := msg.(tea.KeyMsg)
	if !ok || len(f.entries) == 0 {
		return nil, false
	}
	e := f.entries[f.focus]
	if e.turns() {
		edited = e.turn(key.String())
	} else {
		edited = e.editor.press(key)
	}
	if edited && (e.turns() || e.Eager) {
		e.touched = true
	}
	return nil, edited
}

// turn takes the blank and the arrows; other keys do nothing in such a field.
func (e *entry) turn(key string) (edited bool) {
	options := e.options()
	if len(options) == 0 || key != " " && key != "right" && key != "left" {
		return false
	}
	before, at := e.Value, e.option()+1 // the first where the value is none of them
	if key == "left" && at > 0 {
		at += len(options) - 2
	}
	e.Value = options[at%len(options)]
	return e.Value != before
}

func (e *entry) options() []string {
	if e.Kind == Switch {
		return []string{No, Yes}
	}
	return e.Options
}

// option is the place of the value among the options, -1 if it is none of them.
func (e *entry) option() int { return slices.Index(e.options(), e.Value) }

// Insert puts a field behind the one of that name, at the end if there is none. What has the keyboard keeps it.
func (f *Form) Insert(behind string, field Field) {
	focus := f.Focus()
	f.Add(field)
	last := len(f.entries) - 1
	if place := f.place(behind); place >= 0 {
		f.entries = slices.Insert(f.entries[:last:last], place+1, f.entries[last])
	}
	f.FocusOn(f.place(focus))
}

// Remove takes a field away, with what it holds. If it has the keyboard, the one behind it gets that.
func (f *Form) Remove(name string) {
	place := f.place(name)
	if place < 0 {
		return
	}
	f.entries = slices.Delete(f.entries, place, place+1)
	if f.focus > place {
		f.focus--
	}
	f.FocusOn(f.focus)
}

// FocusOnName gives the keyboard to a field by its name, if there is one.
func (f *Form) FocusOnName(name string) {
	if place := f.place(name); place >= 0 {
		f.FocusOn(place)
	}
}

func (f *Form) place(name string) int {
	return slices.IndexFunc(f.entries, func(e *entry) bool { return e.Name == name })
}

// Refuse shows what the service said of fields, beside each of them until its value is changed, and goes to the first. It
// returns what it said of fields that the form does not have.
func (f *Form) Refuse(errors api.FieldErrors) (others api.FieldErrors) {
	others = api.FieldErrors{}
	for name, problems := range errors {
		if e := f.entry(name); e.Name != "" {
			e.refused, e.said = problems, e.value()
		} else {
			others[name] = problems
		}
	}
	if first := slices.IndexFunc(f.entries, func(e *entry) bool { return len(e.refused) > 0 && e.said == e.value() }); first >= 0 {
		f.FocusOn(first)
	}
	return others
}

// Check makes every field's rule speak up, goes to the first that is wrong, and tells whether none is.
func (f *Form) Check() bool {
	right := true
	for i, e := range f.entries {
		e.touched = true
		if right && len(e.problems()) > 0 {
			f.FocusOn(i)
			right = false
		}
	}
	return right
}

func (e *entry) problems() []string {
	var problems []string
	if e.touched && e.Check != nil {
		if problem := e.Check(e.value()); problem != "" {
			problems = append(problems, problem)
		}
	}
	if e.said == e.value() {
		problems = append(problems, e.refused...)
	}
	return problems
}

// Input draws what one field holds in a single line, without its label and without what is wrong with it: for screens that
// lay out their fields by themselves.
func (f *Form) Input(name string, width int) string {
	if width <= 0 {
		return ""
	}
	return display.Pad(f.draw(f.entry(name), width, 1, name == f.Focus())[0], width)
}

// SendFromAnywhere makes Enter send the form from every field of one line: for forms that are followed while they are
// typed, where there is nothing left to fill in.
func (f *Form) SendFromAnywhere() { f.anywhere = true }
