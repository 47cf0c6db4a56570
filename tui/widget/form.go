package widget

import (
	"slices"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
)

// Kind is how a field is filled in.
type Kind int

// The kinds of fields.
const (
	Line   Kind = iota // one line of text
	Secret             // one line that is never shown
	Text               // several lines; Enter begins a new one
	Switch             // "yes" or "no"; the space bar toggles it
)

// Yes and No are the values of a Switch.
const (
	Yes = "yes"
	No  = "no"
)

// Field is one field of a form.
type Field struct {
	Name  string // as the service names it, so that its errors appear at it
	Label string // as people read it
	Kind  Kind
	Value string // at first
	Limit int    // how many characters it takes; 0 for any number
	Width int    // how wide a line is drawn; 0 for all the space
	// Beside puts the field beside the one before, where there is space for both.
	Beside bool
	// shown while the field is empty, or beside a Switch: what belongs here, such as "such as 120.50"
	Hint  string
	Check func(value string) string // what is wrong with a value, "" for nothing; nil takes all
	// Complete returns the likely rest of a value, which is shown behind the cursor; nil without any.
	Complete func(value string) string

	// Eager checks a value with the first key: for values to correct. Otherwise the check waits until the field is
	// left, because half a new value breaks most rules.
	Eager bool
}

// Form is fields to fill in. One of them has the focus.
type Form struct {
	theme   *theme.Theme
	entries []*entry
	focus   int

	marksChanges bool     // fields that are not as at first are marked
	isReadOnly   bool     // values are shown as text
	lines        [][]cell // the fields on each line of the last View
}

type entry struct {
	Field
	editor       editor
	rows         int      // how many rows the last View had for the text
	first        string   // the value that counts as unchanged
	touched      bool     // its own rule speaks up
	refused      []string // the errors of the service for refusedValue
	refusedValue string
	note         string // below the field, while it has no problem
	saysWas      bool   // the last View says beside a changed value what it was
}

// NewForm makes a form, with the focus on the first field.
func NewForm(theme *theme.Theme, fields ...Field) *Form {
	f := &Form{theme: theme}
	for _, field := range fields {
		f.Add(field)
	}
	f.FocusIndex(0)
	return f
}

func (f *Form) Add(field Field) {
	e := &entry{Field: field}
	e.editor = editor{multiline: field.Kind == Text, masked: field.Kind == Secret}
	e.set(field.Value)
	e.first = e.value()
	if field.Kind == Secret {
		e.Value = ""
	}
	f.entries = append(f.entries, e)
}

func (e *entry) set(value string) {
	if e.Kind == Switch {
		e.Value = value
	} else {
		e.editor.set(value)
	}
}

func (e *entry) value() string {
	if e.Kind == Switch {
		return e.Value
	}
	return e.editor.value()
}

func (f *Form) SetTheme(theme *theme.Theme) { f.theme = theme }

// Names returns the names of the fields in order.
func (f *Form) Names() []string {
	names := make([]string, len(f.entries))
	for i, e := range f.entries {
		names[i] = e.Name
	}
	return names
}

// entry returns a field; an empty one if there is none of that name.
func (f *Form) entry(name string) *entry {
	if index := f.index(name); index >= 0 {
		return f.entries[index]
	}
	return &entry{}
}

// Field returns a field as it was declared.
func (f *Form) Field(name string) Field  { return f.entry(name).Field }
func (f *Form) Value(name string) string { return f.entry(name).value() }

func (f *Form) Set(name, value string) { f.entry(name).set(value) }

// SetNote shows styled lines below a field, unless the field has problems; "" shows none.
func (f *Form) SetNote(name, note string) { f.entry(name).note = note }

// Problems returns the errors shown for a field.
func (f *Form) Problems(name string) []string { return f.entry(name).problems() }

// Values returns the values of all fields but secrets.
func (f *Form) Values() map[string]string {
	values := map[string]string{}
	for _, e := range f.entries {
		if e.Kind != Secret {
			values[e.Name] = e.value()
		}
	}
	return values
}

// Completion returns the likely rest of the focused value; "" if there is none, or the cursor is not at its end.
func (f *Form) Completion() string {
	e := f.entry(f.Focus())
	if e.Complete == nil || e.editor.cursor < len(e.editor.characters) {
		return ""
	}
	return e.Complete(e.value())
}

// Changed returns the fields whose value is not the first one.
func (f *Form) Changed() []string {
	var changed []string
	for _, e := range f.entries {
		if e.isChanged() {
			changed = append(changed, e.Name)
		}
	}
	return changed
}

func (e *entry) isChanged() bool { return e.value() != e.first }

// MarkChanges marks the fields that are not as at first, and shows beside a line what it was.
func (f *Form) MarkChanges() { f.marksChanges = true }

// ReadOnly shows the values as text where the form has them to type in. Scroll moves the focus.
func (f *Form) ReadOnly() { f.isReadOnly = true }

// Focus returns the field with the focus.
func (f *Form) Focus() string {
	if len(f.entries) == 0 {
		return ""
	}
	return f.entries[f.focus].Name
}

// FocusIndex moves the focus to a field by its index. Nothing is selected any more.
func (f *Form) FocusIndex(index int) {
	f.focus = max(0, min(index, len(f.entries)-1))
	for _, e := range f.entries {
		e.editor.selected = false
	}
}

// Select selects the text of the focused field, if that is a line that is seen: what is typed replaces it.
func (f *Form) Select() {
	if len(f.entries) > 0 {
		f.entries[f.focus].editor.selectAll()
	}
}

// Do moves to the next or previous field, and tells whether the action was that.
func (f *Form) Do(id actions.ID) bool {
	all := len(f.entries)
	step, moves := map[actions.ID]int{actions.NextField: 1, actions.PreviousField: all - 1}[id]
	if all < 2 { // the screen may have a meaning for these keys
		return false
	}
	if moves {
		f.entries[f.focus].touched = true
		f.FocusIndex((f.focus + step) % all)
	}
	return moves
}

// pageOfFields is how many fields a page moves by in a form to read.
const pageOfFields = 5

// Scroll moves the focus of a form to read up or down, within a long text first.
func (f *Form) Scroll(id actions.ID) {
	if len(f.entries) == 0 {
		return
	}
	e := f.entries[f.focus]
	switch id {
	case actions.Up, actions.PageUp:
		if e.Kind == Text && e.editor.top > 0 {
			e.editor.top -= map[actions.ID]int{actions.Up: 1, actions.PageUp: e.rows}[id]
			return
		}
		f.FocusIndex(f.focus - map[actions.ID]int{actions.Up: 1, actions.PageUp: pageOfFields}[id])
	case actions.Down, actions.PageDown:
		if e.below() > 0 {
			e.editor.top += map[actions.ID]int{actions.Down: 1, actions.PageDown: e.rows - 1}[id]
			return
		}
		f.FocusIndex(f.focus + map[actions.ID]int{actions.Down: 1, actions.PageDown: pageOfFields}[id])
	case actions.Top:
		f.FocusIndex(0)
	case actions.Bottom:
		f.FocusIndex(len(f.entries) - 1)
	}
}

// below returns how many rows of a text are below those of the last View.
func (e *entry) below() int {
	if e.Kind != Text || len(e.editor.rows) <= e.rows {
		return 0
	}
	return len(e.editor.rows) - (e.editor.top + e.rows - 1) // the last row says that there are more
}

// NextToTypeIn moves to the next field that text is typed in, or to the last field. Switches have a value already.
func (f *Form) NextToTypeIn() {
	for f.Do(actions.NextField); f.Switches() && f.focus < len(f.entries)-1; {
		f.Do(actions.NextField)
	}
}

// Switches tells whether the focused field is a Switch.
func (f *Form) Switches() bool { return f.entry(f.Focus()).Kind == Switch }

// EnterSubmits tells whether Enter submits the form: in the last field, unless that has several lines.
func (f *Form) EnterSubmits() bool {
	return len(f.entries) > 0 && f.focus == len(f.entries)-1 && f.entries[f.focus].Kind != Text
}

// Takes tells whether the focused field needs the key itself: Enter in a multi-line field, and the up and down keys
// while there is a line in that direction.
func (f *Form) Takes(key string) bool {
	e := f.entry(f.Focus())
	if e.Kind != Text {
		return false
	}
	return key == "enter" || key == "up" && e.editor.canMoveRows(-1) || key == "down" && e.editor.canMoveRows(1)
}

// Update handles a key, and tells whether the text changed. The command is nil: no field waits for anything.
func (f *Form) Update(msg tea.Msg) (cmd tea.Cmd, edited bool) {
	key, ok := msg.(tea.KeyMsg)
	if !ok || len(f.entries) == 0 {
		return nil, false
	}
	e := f.entries[f.focus]
	if e.Kind == Switch {
		edited = e.toggle(key.String())
	} else {
		edited = e.editor.press(key)
	}
	if edited && (e.Kind == Switch || e.Eager) {
		e.touched = true
	}
	return nil, edited
}

// toggle handles the space bar and the left and right keys; other keys do nothing in a switch.
func (e *entry) toggle(key string) (edited bool) {
	if key != " " && key != "right" && key != "left" {
		return false
	}
	was := e.Value
	if e.Value = Yes; was == Yes {
		e.Value = No
	}
	return true
}

// Insert adds a field behind another, or at the end. The focus stays.
func (f *Form) Insert(behind string, field Field) {
	focus := f.Focus()
	f.Add(field)
	last := len(f.entries) - 1
	if index := f.index(behind); index >= 0 {
		f.entries = slices.Insert(f.entries[:last:last], index+1, f.entries[last])
	}
	f.FocusIndex(f.index(focus))
}

// Remove removes a field. Its focus goes to the field behind it.
func (f *Form) Remove(name string) {
	index := f.index(name)
	if index < 0 {
		return
	}
	f.entries = slices.Delete(f.entries, index, index+1)
	if f.focus > index {
		f.focus--
	}
	f.FocusIndex(f.focus)
}

// FocusOnName moves the focus to a field by its name, if there is one.
func (f *Form) FocusOnName(name string) {
	if index := f.index(name); index >= 0 {
		f.FocusIndex(index)
	}
}

func (f *Form) index(name string) int {
	return slices.IndexFunc(f.entries, func(e *entry) bool { return e.Name == name })
}

// Refuse shows the errors of the service beside their fields until those change, and focuses the first. It returns
// those of other fields.
func (f *Form) Refuse(errors api.FieldErrors) (others api.FieldErrors) {
	others = api.FieldErrors{}
	for name, problems := range errors {
		if e := f.entry(name); e.Name != "" {
			e.refused, e.refusedValue = problems, e.value()
		} else {
			others[name] = problems
		}
	}
	for i, e := range f.entries {
		if len(e.refused) > 0 && e.refusedValue == e.value() {
			f.FocusIndex(i)
			break
		}
	}
	return others
}

// Check checks every field, focuses the first that is wrong, and tells whether none is.
func (f *Form) Check() bool {
	right := true
	for i, e := range f.entries {
		e.touched = true
		if right && len(e.problems()) > 0 {
			f.FocusIndex(i)
			right = false
		}
	}
	return right
}

func (e *entry) problems() []string {
	var problems []string
	if count := e.count(); e.Limit > 0 && count > e.Limit {
		problems = append(problems, e.counter(count))
	} else if e.touched && e.Check != nil {
		if problem := e.Check(e.value()); problem != "" {
			problems = append(problems, problem)
		}
	}
	if e.refusedValue == e.value() {
		problems = append(problems, e.refused...)
	}
	return problems
}

// count returns how many characters the value has.
func (e *entry) count() int { return utf8.RuneCountInString(e.value()) }

func (e *entry) counter(count int) string {
	return display.Count(count) + " of " + display.Plural(e.Limit, "character", "characters")
}

// Input draws the value of a field in a single line, for screens with a layout of their own.
func (f *Form) Input(name string, width int) string {
	if width <= 0 {
		return ""
	}
	return display.Pad(f.draw(f.entry(name), width, 1, name == f.Focus())[0], width)
}
