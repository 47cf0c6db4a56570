package screen

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// Typed asks before something so grave that a single key must not do it: the person has to type one of several words.
type Typed struct {
	question
	form *widget.Form
}

const agreeing = "agree"

// roomToType is the least width of the line to type in.
const roomToType = 8

// NewTyped makes the question.
func NewTyped(ask Confirm, look *widget.Theme) *Typed {
	t := &Typed{question: question{ask: ask}}
	t.form = widget.NewForm(look, widget.Field{Name: agreeing, Label: t.Wanted()})
	return t
}

// Wanted says what has to be typed: "Type 42 or delete".
func (t *Typed) Wanted() string { return "Type " + display.Line(strings.Join(t.ask.Words, " or ")) }

// Agrees tells whether a text is one of the words.
func (t *Typed) Agrees(text string) bool {
	return slices.ContainsFunc(t.ask.Words, func(word string) bool { return strings.EqualFold(word, strings.TrimSpace(text)) })
}

func (t *Typed) agreed() bool { return t.Agrees(t.form.Value(agreeing)) }

// IsGrave gives the box a border that no other box has.
func (t *Typed) IsGrave() bool { return true }

// View draws the text, and always the line to type in below it.
func (t *Typed) View(look *widget.Theme, width, height int) string {
	t.form.SetTheme(look)
	label, said := t.Wanted()+": ", t.Linear()
	if widget.Width(label)+roomToType > width {
		label, said = "> ", t.Wanted()+".\n"+said
	}
	typed := widget.Cut(look.Bad.Render(label)+t.form.Input(agreeing, max(1, width-widget.Width(label))), width)
	return strings.Join(append(t.above(said, width, height), typed), "\n")
}

// Hints is to agree once the word is there, and to leave.
func (t *Typed) Hints() []Hint {
	hints := []Hint{{actions.Cancel, "cancel"}}
	if t.agreed() {
		hints = slices.Insert(hints, 0, Hint{actions.Submit, t.Yes()})
	}
	if t.hasMore() {
		hints = append(hints, Hint{actions.NextField, "more"})
	}
	return hints
}

// Offers is to agree, to leave, and to move about in the text by the keys of forms, because those of lists print letters.
func (t *Typed) Offers() []actions.Offer {
	why := ""
	if !t.agreed() {
		why = t.Wanted() + " first."
	}
	return append([]actions.Offer{actions.If(actions.Submit, why)}, actions.Able(actions.Cancel, actions.NextField, actions.PreviousField)...)
}

// Form returns the line to type in.
func (t *Typed) Form() *widget.Form { return t.form }

// Edited does nothing: nothing follows from a part of a word.
func (t *Typed) Edited() {}

// Do answers the question.
func (t *Typed) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Cancel:
		return nil, true
	case actions.NextField:
		t.scroll.Do(actions.Down)
	case actions.PreviousField:
		t.scroll.Do(actions.Up)
	case actions.Submit:
		if t.agreed() {
			return t.ask.Then(), true
		}
	}
	return nil, false
}
