package perks

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
)

// wheelRows is how many rows one notch of the wheel moves.
const wheelRows = 3

// point takes the mouse: the wheel moves the cursor, beside the list it scrolls the preview, a click puts it on a row, a click on the row under it opens that.
func (s *Screen) point(msg tea.MouseMsg) tea.Cmd {
	if msg.Action != tea.MouseActionPress {
		return nil
	}
	switch msg.Button {
	case tea.MouseButtonWheelUp, tea.MouseButtonWheelDown:
		if s.showsPreview() && msg.X >= s.tableWidth {
			s.scrollPreview(map[tea.MouseButton]int{tea.MouseButtonWheelUp: -1, tea.MouseButtonWheelDown: 1}[msg.Button])
			return nil
		}
	}
	switch msg.Button {
	case tea.MouseButtonWheelUp:
		return s.roll(actions.Up)
	case tea.MouseButtonWheelDown:
		return s.roll(actions.Down)
	case tea.MouseButtonLeft:
		return s.click(msg.X, msg.Y)
	}
	return nil
}

func (s *Screen) roll(id actions.ID) tea.Cmd {
	var cmds []tea.Cmd
	for range wheelRows {
		cmds = append(cmds, s.move(id))
	}
	return tea.Batch(cmds...)
}

func (s *Screen) click(x, y int) tea.Cmd {
	row, ok := s.table.RowAt(y - s.tableTop)
	if !ok || x >= s.tableWidth {
		return nil
	}
	if row == s.table.Cursor() && !s.typing {
		return s.open()
	}
	s.table.SetCursor(row)
	return nil
}
