package components

import (
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textarea"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/plain"
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
	Hint    string                    // shown while the field is empty, or beside it: what belongs here, such as "such as 120.50"
	Check   func(value string) string // what is wrong with a value, "" for nothing; nil takes all
}

// Form is fields that are being filled in. One of them has the keyboard.
type Form struct {
	theme   *theme.Theme
	entries []*entry
	focus   int

	anywhere bool // Enter sends from every field
}

type entry struct {
	Field
	input   textinput.Model
	area    textarea.Model
	first   string   // the value that counts as unchanged
	touched bool     // its own rule speaks up
	refused []string // what the service said of refusedValue
	said    string   // the value that the service refused
}

// NewForm makes a form. The first field has the keyboard.
func NewForm(look *theme.Theme, fields ...Field) *Form {
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
	e.input = textinput.New()
	e.input.Prompt = ""
	e.input.Cursor.SetMode(cursor.CursorStatic)
	if field.Kind == Secret {
		e.input.EchoMode = textinput.EchoPassword
	}
	e.area = textarea.New()
	e.area.Prompt = ""
	e.area.ShowLineNumbers = false
	e.area.CharLimit = 0
	e.area.MaxHeight = 0
	e.area.Cursor.SetMode(cursor.CursorStatic)
	e.set(field.Value)
	e.first = e.value()
	f.entries = append(f.entries, e)
}

func (e *entry) set(value string) {
	switch e.Kind {
	case Text:
		e.area.SetValue(value)
	case Switch, Choice:
		e.Value = value
	default:
		e.input.SetValue(value)
		e.input.CursorEnd()
	}
}

func (e *entry) value() string {
	switch e.Kind {
	case Text:
		return e.area.Value()
	case Switch, Choice:
		return e.Value
	}
	return e.input.Value()
}

// SetTheme changes the look.
func (f *Form) SetTheme(look *theme.Theme) { f.theme = look }

// Names returns the fields in their order.
func (f *Form) Names() []string {
	names := make([]string, len(f.entries))
	for i, e := range f.entries {
		names[i] = e.Name
	}
	return names
}

// Field returns a field as it was declared.
func (f *Form) Field(name string) Field {
	if e := f.entry(name); e != nil {
		return e.Field
	}
	return Field{}
}

func (f *Form) entry(name string) *entry {
	for _, e := range f.entries {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Value returns what a field holds.
func (f *Form) Value(name string) string {
	if e := f.entry(name); e != nil {
		return e.value()
	}
	return ""
}

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

// Set fills in a field, as if a person had.
func (f *Form) Set(name, value string) {
	if e := f.entry(name); e != nil {
		e.set(value)
	}
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

// Refuse shows what the service said of fields, beside each of them until its value is changed, and goes to the first. It
// returns what it said of fields that the form does not have.
func (f *Form) Refuse(errors api.FieldErrors) (others api.FieldErrors) {
	others = api.FieldErrors{}
	first := -1
	for name, problems := range errors {
		e := f.entry(name)
		if e == nil {
			others[name] = problems
			continue
		}
		e.refused, e.said = problems, e.value()
	}
	for i, e := range f.entries {
		if len(e.refused) > 0 && e.said == e.value() && first < 0 {
			first = i
		}
	}
	if first >= 0 {
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

// Problems returns what is shown to be wrong with a field now.
func (f *Form) Problems(name string) []string {
	if e := f.entry(name); e != nil {
		return e.problems()
	}
	return nil
}

func (e *entry) problems() []string {
	var problems []string
	if e.touched && e.Check != nil {
		if problem := e.Check(e.value()); problem != "" {
			problems = append(problems, problem)
		}
	}
	if len(e.refused) > 0 && e.said == e.value() {
		problems = append(problems, e.refused...)
	}
	return problems
}

// Focus returns the field that has the keyboard.
func (f *Form) Focus() string {
	if len(f.entries) == 0 {
		return ""
	}
	return f.entries[f.focus].Name
}

// FocusOn gives the keyboard to a field by its place.
func (f *Form) FocusOn(place int) {
	if len(f.entries) == 0 {
		return
	}
	f.focus = max(0, min(place, len(f.entries)-1))
	for i, e := range f.entries {
		e.input.Blur()
		e.area.Blur()
		if i == f.focus {
			e.input.Focus()
			e.area.Focus()
		}
	}
}

// Do goes to the next or previous field, and tells whether the action was that.
func (f *Form) Do(id actions.ID) bool {
	switch id {
	case actions.NextField:
		f.leave()
		f.FocusOn((f.focus + 1) % max(1, len(f.entries)))
	case actions.PreviousField:
		f.leave()
		f.FocusOn((f.focus + len(f.entries) - 1) % max(1, len(f.entries)))
	default:
		return false
	}
	return true
}

func (f *Form) leave() {
	if len(f.entries) > 0 {
		f.entries[f.focus].touched = true
	}
}

// EnterSends tells whether Enter sends the form: it does in the last field, unless that has several lines.
func (f *Form) EnterSends() bool {
	return len(f.entries) > 0 && (f.anywhere || f.focus == len(f.entries)-1) && f.entries[f.focus].Kind != Text
}

// Takes tells whether the field that has the keyboard needs the key itself: the arrows and Enter within several lines.
func (f *Form) Takes(key string) bool {
	if len(f.entries) == 0 || f.entries[f.focus].Kind != Text {
		return false
	}
	return key == "up" || key == "down" || key == "enter"
}

// Update takes a key, or what a field has asked for, and tells whether the text has changed.
func (f *Form) Update(msg tea.Msg) (cmd tea.Cmd, edited bool) {
	if len(f.entries) == 0 {
		return nil, false
	}
	e := f.entries[f.focus]
	before := e.value()
	key, isKey := msg.(tea.KeyMsg)
	switch e.Kind {
	case Text:
		e.area, cmd = e.area.Update(msg)
	case Switch, Choice:
		if isKey && (key.String() == " " || key.String() == "right" || key.String() == "left") {
			e.turn(key.String() == "left")
		}
	default:
		if isKey && key.Type == tea.KeyRunes {
			key.Runes = []rune(plain.Line(string(key.Runes)))
			msg = key
		}
		e.input, cmd = e.input.Update(msg)
	}
	if edited = e.value() != before; edited {
		e.touched = true
	}
	return cmd, edited
}

func (e *entry) turn(back bool) {
	options := e.Options
	if e.Kind == Switch {
		options = []string{No, Yes}
	}
	for i, option := range options {
		if option == e.Value {
			step := 1
			if back {
				step = len(options) - 1
			}
			e.Value = options[(i+step)%len(options)]
			return
		}
	}
	if len(options) > 0 {
		e.Value = options[0]
	}
}

// View draws the fields that there is room for, the one that has the keyboard among them.
func (f *Form) View(width, height int) string {
	var lines []string
	focusLine := 0
	for i, e := range f.entries {
		label := "  " + e.Label
		style := f.theme.Heading
		if i == f.focus {
			label, style = "> "+e.Label, f.theme.Accent
			focusLine = len(lines)
		}
		lines = append(lines, style.Render(Cut(label, width)))
		for _, line := range e.draw(max(1, width-4)) {
			lines = append(lines, "  "+line)
		}
		for _, problem := range e.problems() {
			for _, line := range Wrap("! "+plain.Line(problem), max(1, width-2)) {
				lines = append(lines, "  "+f.theme.Bad.Render(line))
			}
		}
	}
	scroll := Scroll{}
	scroll.Resize(width, height)
	scroll.Set(lines)
	scroll.Reveal(min(focusLine+2, len(lines)-1))
	scroll.Reveal(focusLine)
	return scroll.View()
}

func (e *entry) draw(width int) []string {
	switch e.Kind {
	case Text:
		e.area.SetWidth(width)
		e.area.SetHeight(4)
		return strings.Split(e.area.View(), "\n")
	case Switch, Choice:
		return []string{Cut("[ "+plain.Line(e.Value)+" ]", width)}
	}
	e.input.Width = max(1, width-1)
	e.input.Placeholder = e.Hint
	return []string{Cut(e.input.View(), width)}
}

// Linear says the fields and what is wrong with them, a line each.
func (f *Form) Linear() string {
	var lines []string
	for _, e := range f.entries {
		value := plain.Line(e.value())
		if e.Kind == Secret && value != "" {
			value = "(hidden)"
		}
		lines = append(lines, e.Label+": "+value)
		for _, problem := range e.problems() {
			lines = append(lines, "  "+e.Label+" "+plain.Line(problem))
		}
	}
	return strings.Join(lines, "\n")
}
