package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// listOf returns the list below a screen that has its record under the cursor; nil if there is none.
func (a *App) listOf(s screen.Screen) screen.List {
	record, isOf := s.(screen.OfList)
	list, isList := a.below(s).(screen.List)
	if !isOf || !isList || !list.HasRows() {
		return nil
	}
	of, id := record.Selected()
	if kind, under := list.Selected(); kind != of || under != id {
		return nil
	}
	return list
}

// besideWidth is the width of the list that is beside a screen; 0 if none is.
func (a *App) besideWidth(s screen.Screen) int {
	if list := a.listOf(s); list == nil || !s.(screen.OfList).IsBeside() {
		return 0
	}
	return widget.LeftOfTwo(a.width)
}

// beside returns a list as it is drawn beside a record, without the keyboard.
func beside(list screen.List, width, height int) string {
	list.Resize(width, height)
	if resting, is := list.(interface{ Focus(has bool) }); is {
		resting.Focus(false)
		defer resting.Focus(true)
	}
	return list.View()
}

// neighbours offers the next and the previous record of the list below a record.
func (a *App) neighbours() (offers []actions.Offer) {
	if a.listOf(a.Top()) == nil || !a.Top().(screen.OfList).IsRead() {
		return nil
	}
	return []actions.Offer{
		{ID: actions.NextRecord, Do: func() tea.Cmd { return a.step(actions.Down) }},
		{ID: actions.PreviousRecord, Do: func() tea.Cmd { return a.step(actions.Up) }},
	}
}

// step opens the record above or below in the list in place of the one on top. It asks first if that would lose
// something.
func (a *App) step(move actions.ID) tea.Cmd {
	return a.overList(func(list screen.List) tea.Cmd {
		_, before := list.Selected()
		moved := offered(list, move)
		switch _, now := list.Selected(); {
		case now != before:
			return tea.Batch(moved, a.drop(1), offered(list, actions.Open))
		case isBusy(list):
			a.awaiting = a.Top()
			return moved
		}
		end := "last"
		if move == actions.Up {
			end = "first"
		}
		return tea.Batch(moved, screen.Tell(screen.Note, "This is the %s row of the list.", end))
	})
}

// openAwaited opens the row that a step waits for, once it is loaded, unless something else is done meanwhile.
func (a *App) openAwaited() tea.Cmd {
	record, is := a.awaiting.(screen.OfList)
	if !is {
		return nil
	}
	list, isList := a.below(a.awaiting).(screen.List)
	if !isList || a.awaiting != a.Top() || a.Overlay() != nil || !record.IsRead() {
		a.awaiting = nil
		return nil
	}
	_, of := record.Selected()
	if _, now := list.Selected(); now == of || now == "" {
		if !isBusy(list) {
			a.awaiting = nil
		}
		return nil
	}
	a.awaiting = nil
	return tea.Batch(a.drop(1), offered(list, actions.Open), a.Deliver())
}

func isBusy(list screen.List) bool {
	loading, is := list.(interface{ IsBusy() bool })
	return is && loading.IsBusy()
}

// mouseBeside handles the mouse on the list beside the record on top. The wheel opens the next or the previous record. A
// click closes the record, and opens what is chosen.
func (a *App) mouseBeside(at screen.Mouse) tea.Cmd {
	switch {
	case at.Wheel != "" && (at.ByLine || !a.Top().(screen.OfList).IsRead()):
		return nil
	case at.Wheel != "":
		return a.step(at.Wheel)
	}
	return a.overList(func(list screen.List) tea.Cmd {
		_, before := list.Selected()
		cmd := tea.Batch(a.drop(1), list.Update(at))
		if _, now := list.Selected(); now != "" && now != before {
			cmd = tea.Batch(cmd, offered(list, actions.Open))
		}
		a.resize()
		return cmd
	})
}

// overList does something with the list of the record on top. It asks first if closing that would lose something.
func (a *App) overList(do func(list screen.List) tea.Cmd) tea.Cmd {
	top := a.Top()
	return a.leave([]screen.Screen{top}, "Leave?", "leave", func() tea.Cmd {
		if list := a.listOf(top); list != nil && top == a.Top() {
			return do(list)
		}
		return nil
	})
}

// offered does what a screen offers, if it can be done.
func offered(s screen.Screen, id actions.ID) tea.Cmd {
	for _, offer := range s.Offers() {
		if offer.ID == id && offer.Enabled() {
			return offer.Do()
		}
	}
	return nil
}
