package overlay

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/sahilm/fuzzy"

	"example.com/perks/api/plain"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/components"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

// Pick lets a person choose one of several things. What is typed narrows them down.
type Pick struct {
	ask    screen.Pick
	form   *components.Form
	found  []int // into the options, the best first
	cursor int   // into found
}

const narrowing = "find"

// NewPick makes the choice.
func NewPick(ask screen.Pick, look *theme.Theme) *Pick {
	p := &Pick{ask: ask, form: components.NewForm(look, components.Field{Name: narrowing, Label: "Find"})}
	p.Edited()
	p.cursor = max(0, min(ask.Current, len(p.found)-1))
	return p
}

// Title says what is chosen.
func (p *Pick) Title() string { return plain.Line(p.ask.Title) }

// Options returns what can be chosen, all of it.
func (p *Pick) Options() []string { return p.ask.Options }

// Choose answers with an option by its index.
func (p *Pick) Choose(index int) tea.Cmd { return p.ask.Then(index) }

// Linear says what can be chosen, numbered from 1.
func (p *Pick) Linear() string {
	lines := make([]string, len(p.ask.Options))
	for i, option := range p.ask.Options {
		lines[i] = fmt.Sprintf("%d: %s", i+1, plain.Line(option))
	}
	return strings.Join(lines, "\n")
}

// View draws the line to type in, and the options that fit, the one under the cursor among them.
func (p *Pick) View(look *theme.Theme, width, height int) string {
	p.form.SetTheme(look)
	lines := []string{components.Cut(look.Heading.Render("Find: ")+look.Text.Render(p.form.Value(narrowing)+"▏"), width)}
	room := max(1, height-1)
	top := max(0, min(p.cursor-room/2, len(p.found)-room))
	for at := top; at < min(len(p.found), top+room); at++ {
		line, style := "  "+plain.Line(p.ask.Options[p.found[at]]), look.Text
		if at == p.cursor {
			line, style = "> "+line[2:], look.Selected
		}
		lines = append(lines, style.Render(components.Pad(line, width)))
	}
	if len(p.found) == 0 {
		lines = append(lines, look.Muted.Render(components.Cut("  Nothing is called so.", width)))
	}
	return components.Crop(strings.Join(lines, "\n"), width, min(height, len(lines)))
}

// Hints is to choose, to move and to leave.
func (p *Pick) Hints() []Hint {
	return []Hint{{actions.Submit, "choose"}, {actions.NextField, "next"}, {actions.Cancel, "leave"}}
}

// Offers is to choose, to leave and to move. Moving goes by the keys of forms, because those of lists print letters.
func (p *Pick) Offers() []actions.Offer {
	return actions.Able(actions.Submit, actions.Cancel, actions.NextField, actions.PreviousField)
}

// Form returns the line to type in.
func (p *Pick) Form() *components.Form { return p.form }

// Edited finds what fits what was typed.
func (p *Pick) Edited() {
	text := strings.TrimSpace(p.form.Value(narrowing))
	p.found, p.cursor = p.found[:0], 0
	if text == "" {
		for i := range p.ask.Options {
			p.found = append(p.found, i)
		}
		return
	}
	for _, match := range fuzzy.Find(text, p.ask.Options) {
		p.found = append(p.found, match.Index)
	}
}

// Do chooses or moves.
func (p *Pick) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Cancel:
		return nil, true
	case actions.NextField:
		p.move(1)
	case actions.PreviousField:
		p.move(-1)
	case actions.Submit:
		if len(p.found) > 0 {
			return p.ask.Then(p.found[p.cursor]), true
		}
	}
	return nil, false
}

func (p *Pick) move(by int) {
	if n := len(p.found); n > 0 {
		p.cursor = (p.cursor + by + n) % n
	}
}
