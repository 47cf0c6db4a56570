package screen

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// Prompt asks for one line of text.
type PromptDialog struct {
	ask  Prompt
	form *widget.Form
}

// NewPrompt makes the question.
func NewPrompt(ask Prompt, look *widget.Theme) *PromptDialog {
	return &PromptDialog{ask: ask, form: widget.NewForm(look, ask.Field)}
}

// Title says what is asked for.
func (p *PromptDialog) Title() string { return display.Line(p.ask.Title) }

// Linear says what has been typed.
func (p *PromptDialog) Linear() string { return p.form.Linear() }

// View draws the line.
func (p *PromptDialog) View(look *widget.Theme, width, height int) string {
	p.form.SetTheme(look)
	return strings.TrimRight(p.form.View(width, min(height, 4)), "\n ")
}

// Hints is to send and to leave.
func (p *PromptDialog) Hints() []Hint {
	return []Hint{{actions.Submit, "go on"}, {actions.Cancel, "leave"}}
}

// Offers is to send and to leave.
func (p *PromptDialog) Offers() []actions.Offer { return actions.Able(actions.Submit, actions.Cancel) }

// Form returns the line.
func (p *PromptDialog) Form() *widget.Form { return p.form }

func leave(then func() tea.Cmd) tea.Cmd {
	if then == nil {
		return nil
	}
	return then()
}

// Edited does nothing: the form checks itself.
func (p *PromptDialog) Edited() {}

// Do sends the line if it breaks no rule.
func (p *PromptDialog) Do(id actions.ID) (tea.Cmd, bool) {
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
