package overlay

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/plain"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/components"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

// Prompt asks for one line of text.
type Prompt struct {
	ask  screen.Prompt
	form *components.Form
}

// NewPrompt makes the question.
func NewPrompt(ask screen.Prompt, look *theme.Theme) *Prompt {
	return &Prompt{ask: ask, form: components.NewForm(look, ask.Field)}
}

// Title says what is asked for.
func (p *Prompt) Title() string { return plain.Line(p.ask.Title) }

// Linear says what has been typed.
func (p *Prompt) Linear() string { return p.form.Linear() }

// View draws the line.
func (p *Prompt) View(look *theme.Theme, width, height int) string {
	p.form.SetTheme(look)
	return strings.TrimRight(p.form.View(width, min(height, 4)), "\n ")
}

// Hints is to send and to leave.
func (p *Prompt) Hints() []Hint { return []Hint{{actions.Submit, "go on"}, {actions.Cancel, "leave"}} }

// Offers is to send and to leave.
func (p *Prompt) Offers() []actions.Offer { return actions.Able(actions.Submit, actions.Cancel) }

// Form returns the line.
func (p *Prompt) Form() *components.Form { return p.form }

func leave(then func() tea.Cmd) tea.Cmd {
	if then == nil {
		return nil
	}
	return then()
}

// Edited does nothing: the form checks itself.
func (p *Prompt) Edited() {}

// Do sends the line if it breaks no rule.
func (p *Prompt) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Cancel:
		return leave(p.ask.Left), true
	case actions.Submit:
		if p.form.Check() {
			return p.ask.Then(p.form.Value(p.ask.Field.Name)), true
		}
	}
	return nil, false
}
