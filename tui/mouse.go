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

// mouseEvent handles what people do with the mouse: they press or drag a scrollbar, click, and turn the wheel.
func (a *App) mouseEvent(msg tea.MouseMsg) tea.Cmd {
	isLeft, isPress := msg.Button == tea.MouseButtonLeft, msg.Action == tea.MouseActionPress
	if isLeft && (isPress || msg.Action == tea.MouseActionMotion) {
		inFront := a.Overlay() == nil || msg.X >= a.dialogX && msg.X <= a.width-a.dialogX+1
		if b, ok := a.scrollbarAt(msg.X, msg.Y); ok && inFront {
			return a.scrollTowards(msg, b)
		}
	}
	wheel := map[tea.MouseButton]actions.ID{
		tea.MouseButtonWheelUp: actions.Up, tea.MouseButtonWheelDown: actions.Down,
	}[msg.Button]
	if !isPress || !isLeft && wheel == "" {
		return nil
	}
	return a.point(screen.Mouse{X: msg.X, Y: msg.Y, Wheel: wheel, ByLine: msg.Ctrl})
}

// point passes a click or a turn of the wheel on the window to the footer, the top dialog, the tabs, or the screen.
func (a *App) point(at screen.Mouse) tea.Cmd {
	o, isClick := a.Overlay(), at.Wheel == ""
	top, _ := a.body()
	switch tab, isTab := a.tabAt(at.X); {
	case a.height >= heightForFooter && at.Y == a.height-1:
		if isClick {
			return a.clickFooter(at.X)
		}
		return nil
	case o != nil && !isClick:
		o.Scroll(at.Wheel)
		return nil
	case o != nil:
		if at.X >= a.dialogX && at.X < a.width-a.dialogX {
			return a.clickDialog(o, at)
		}
		return nil
	case a.Top() == nil:
		return nil
	case isTab && at.Y < top && isClick:
		return a.selectTab(tab)
	}
	f := a.frame(a.Top())
	width, height := f.inner()
	if at.X >= 0 && at.X < a.besideWidth(a.Top()) && at.Y >= top {
		at.Y -= top
		return a.mouseBeside(at)
	}
	at.X, at.Y = at.X-f.left-f.marginX, at.Y-top-f.top-f.marginY
	if at.X < 0 || at.X >= width || at.Y < 0 || at.Y >= height {
		return nil
	}
	return a.Top().Update(at)
}

// clickDialog does what a dialog shows at a cell. To confirm it must have been open for a moment: the click may be the
// second of two that opened it.
func (a *App) clickDialog(o screen.Overlay, at screen.Mouse) tea.Cmd {
	id := o.Click(at.X-a.dialogX, at.Y-a.dialogY)
	if id == actions.Yes && a.isUnread() {
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

// scrollTowards scrolls what is left of a scrollbar: a list at once, and all else as the wheel would, until the thumb
// is there, or has moved by its length.
func (a *App) scrollTowards(msg tea.MouseMsg, b bar) tea.Cmd {
	wheel := screen.Mouse{X: msg.X - 1, Y: msg.Y, Wheel: actions.Down, ByLine: true}
	if msg.Y < b.first {
		wheel.Wheel = actions.Up
	}
	if msg.Y >= b.first && msg.Y <= b.last {
		return nil
	}
	press := wheel
	press.OnBar = true
	cmds := []tea.Cmd{a.point(press)}
	if now, _ := a.scrollbarAt(msg.X, msg.Y); msg.Y >= now.first && msg.Y <= now.last {
		return cmds[0]
	}
	for range 3 * (b.bottom - b.top) { // a cursor may first have to cross what is visible
		cmds = append(cmds, a.point(wheel))
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
