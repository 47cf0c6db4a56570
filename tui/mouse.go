package tui

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// captureMouse asks the terminal for mouse events, unless the mouse is off.
func (a *App) captureMouse() tea.Cmd {
	if a.mouse {
		return tea.EnableMouseCellMotion
	}
	return nil
}

// shellMouse handles a mouse event on the footer, or while a dialog is open. Of a dialog that asks, only keys confirm.
func (a *App) shellMouse(msg tea.MouseMsg) (cmd tea.Cmd, handled bool) {
	o, clicked := a.Overlay(), msg.Action == tea.MouseActionPress && msg.Button == tea.MouseButtonLeft
	pick, isPick := o.(*screen.PickDialog)
	switch {
	case a.height >= heightForFooter && msg.Y == a.height-1:
		if clicked {
			cmd = a.clickFooter(msg.X)
		}
	case o == nil:
		return nil, false
	case msg.Action == tea.MouseActionPress && msg.Button == tea.MouseButtonWheelDown:
		cmd = scrollDialog(o, actions.Down)
	case msg.Action == tea.MouseActionPress && msg.Button == tea.MouseButtonWheelUp:
		cmd = scrollDialog(o, actions.Up)
	case isPick && clicked && msg.X >= a.dialogX && msg.X < a.width-a.dialogX && pick.PointAt(msg.Y-a.dialogY):
		cmd = a.doOffered(actions.Submit)
	}
	return cmd, true
}

func scrollDialog(o screen.Overlay, id actions.ID) tea.Cmd {
	return screen.ScrollWheel(func(id actions.ID) tea.Cmd {
		cmd, _ := o.Do(id)
		return cmd
	}, id)
}

// clickFooter does the action of the hint at a column of the footer. Two blanks are between hints, and none are within one.
func (a *App) clickFooter(column int) tea.Cmd {
	for hint := range strings.SplitSeq(ansi.Strip(a.footer()), "  ") {
		width := display.Width(hint)
		if hint != "" && column >= 0 && column < width {
			offers := a.Offers()
			i := slices.IndexFunc(offers, func(offer actions.Offer) bool {
				return hint == a.keyNow(offer.ID)+" "+cmp.Or(offer.Hint, a.shell.Keys.Action(offer.ID).Hint)
			})
			if i >= 0 {
				return a.attempt(offers[i])
			}
		}
		column -= width + 2
	}
	return nil
}
