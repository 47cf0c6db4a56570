package property

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/record"
	"example.com/perks/tui/screen"
)

// past is what was changed in the listing, newest first, below its form.
type past struct {
	*record.History[api.PropertyID, api.Property, api.PropertyPatch]
	of      *Screen
	hasKeys bool // it has the keyboard
	top     int  // the line on which it begins; -1 while it is not shown
}

// leastPast is the least height of the list.
const leastPast = 7

func newPast(of *Screen) *past {
	p := &past{History: of.NewHistory(), of: of, top: -1}
	p.take(false)
	return p
}

// read reads the list, where the client may. A listing of another client has none for it, and is shown without.
func (p *past) read() tea.Cmd {
	if c := p.of.Shell.Account.Client; c == nil || c.Lacks(api.ScopePropertiesRead) {
		return nil
	}
	return p.Reload()
}

// update handles a message. While the list does not have the keyboard, its cursor is on the newest change.
func (p *past) update(msg tea.Msg) tea.Cmd {
	cmd := p.Update(msg)
	if !p.hasKeys {
		p.Choose(1)
	}
	return cmd
}

// take gives the keyboard to the list, or takes it away.
func (p *past) take(has bool) tea.Cmd {
	p.hasKeys = has
	p.Focus(has)
	return nil
}

// tab offers to give the keyboard to the list, or back to the form.
func (p *past) tab() actions.Offer {
	hint := "changes"
	if p.hasKeys {
		hint = "listing"
	}
	return actions.Offer{ID: actions.NextTab, Hint: hint, Why: actions.WhyIf(!p.Has(), "Its history was not loaded."),
		Do: func() tea.Cmd { return p.take(!p.hasKeys) }}
}

// layOut decides where the list is, and returns the height that is left for the form: where both do not fit, one of
// them has all.
func (p *past) layOut(width, height, formLines int) (left int) {
	p.top = -1
	switch left := height - formLines; {
	case !p.Has():
	case left >= leastPast:
		p.top = formLines
	case p.hasKeys:
		p.top = 0
	}
	if p.top < 0 {
		return height
	}
	p.Resize(width, height-p.top)
	return p.top
}

// mouse scrolls the list, and gives the keyboard to what is clicked.
func (p *past) mouse(at screen.Mouse) (cmd tea.Cmd, mine bool) {
	mine = p.top >= 0 && at.Y >= p.top
	if at.Wheel == "" {
		p.take(mine)
	}
	if !mine {
		return nil, false
	}
	at.Y -= p.top
	return p.Update(at), true
}
