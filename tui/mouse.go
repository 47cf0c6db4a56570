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
	"example.com/perks/tui/widget"
)

// captureMouse asks the terminal for mouse events, unless the mouse is off.
func (a *App) captureMouse() tea.Cmd {
	if a.mouse {
		return tea.EnableMouseCellMotion
	}
	return nil
}

// shellMouse handles a mouse event on a scrollbar or the footer, or while a dialog is open. What needs a word is
// confirmed by that alone.
func (a *App) shellMouse(msg tea.MouseMsg) (cmd tea.Cmd, handled bool) {
	o, clicked := a.Overlay(), msg.Action == tea.MouseActionPress && msg.Button == tea.MouseButtonLeft
	if clicked || msg.Action == tea.MouseActionMotion && msg.Button == tea.MouseButtonLeft {
		inFront := o == nil || msg.X >= a.dialogX && msg.X <= a.width-a.dialogX+1
		if b, ok := a.scrollbarAt(msg.X, msg.Y); ok && inFront {
			return a.scrollTowards(msg, b), true
		}
	}
	switch {
	case a.height >= heightForFooter && msg.Y == a.height-1:
		if clicked {
			cmd = a.clickFooter(msg.X)
		}
	case o == nil:
		return nil, false
	case msg.Action == tea.MouseActionPress && msg.Button == tea.MouseButtonWheelDown:
		o.Scroll(actions.Down)
	case msg.Action == tea.MouseActionPress && msg.Button == tea.MouseButtonWheelUp:
		o.Scroll(actions.Up)
	case clicked && msg.X >= a.dialogX && msg.X < a.width-a.dialogX:
		cmd = a.clickDialog(o, msg)
	}
	return cmd, true
}

// clickDialog does what a dialog shows at a cell. To confirm it must have been open for a moment: the click may be the
// second of two that opened it.
func (a *App) clickDialog(o screen.Overlay, msg tea.MouseMsg) tea.Cmd {
	id := o.Click(msg.X-a.dialogX, msg.Y-a.dialogY)
	if id == actions.Yes && a.shell.Now().Sub(a.openedAt) < readingTime {
		return nil
	}
	return a.doOffered(id)
}

// columnAt returns a column of the screen, without styles.
func (a *App) columnAt(x int) (cells []string) {
	for line := range strings.SplitSeq(ansi.Strip(a.View()), "\n") {
		cells = append(cells, ansi.Cut(line, x, x+1))
	}
	return cells
}

// bar is a scrollbar as it is drawn, in lines: the right border of a panel, and the thumb in it.
type bar struct{ top, bottom, first, last int }

// scrollbarAt finds the scrollbar at a cell.
func (a *App) scrollbarAt(x, y int) (b bar, found bool) {
	column := a.columnAt(x)
	isBar := func(y int) bool {
		return y >= 0 && y < len(column) && (column[y] == widget.Track || column[y] == widget.Thumb)
	}
	if !isBar(y) {
		return bar{}, false
	}
	for b.top = y; isBar(b.top - 1); b.top-- {
	}
	for b.bottom = y; isBar(b.bottom + 1); b.bottom++ {
	}
	for row := b.top; row <= b.bottom; row++ {
		if column[row] != widget.Thumb {
			continue
		}
		if b.last = row; !found {
			b.first, found = row, true
		}
	}
	return b, found
}

// scrollTowards scrolls what is left of a scrollbar as the wheel would, until the thumb is there, or has moved by its
// length.
func (a *App) scrollTowards(msg tea.MouseMsg, b bar) tea.Cmd {
	wheel := tea.MouseMsg{X: msg.X - 1, Y: msg.Y, Action: tea.MouseActionPress, Button: tea.MouseButtonWheelDown,
		Ctrl: true}
	if msg.Y < b.first {
		wheel.Button = tea.MouseButtonWheelUp
	}
	if msg.Y >= b.first && msg.Y <= b.last {
		return nil
	}
	var cmds []tea.Cmd
	for range 3 * (b.bottom - b.top) { // a cursor may first have to cross what is visible
		cmds = append(cmds, a.mouseEvent(wheel))
		now, found := a.scrollbarAt(msg.X, msg.Y)
		isAtEnd := now.last == now.bottom && msg.Y > b.last || now.first == now.top && msg.Y < b.first
		isThere := msg.Y >= now.first && msg.Y <= now.last || max(now.first-b.first, b.first-now.first) > b.last-b.first
		if !found || isAtEnd || isThere {
			break
		}
	}
	return tea.Batch(cmds...)
}

// clickFooter does the action of the hint at a column of the footer. Two blanks are between hints, and none are within
// one.
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
