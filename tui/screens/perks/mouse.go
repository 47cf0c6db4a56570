package perks

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
)

// wheelRows is how many rows one notch of the wheel moves.
const wheelRows = 3

// point takes the mouse: the wheel moves the cursor, or scrolls the preview where it points at that. A click puts the cursor on a
// row, and opens the row that has it already.
func (s *Screen) point(msg tea.MouseMsg) tea.Cmd {
	if msg.Action != tea.MouseActionPress {
		return nil
	}
	atPreview := s.showsPreview() && msg.X >= s.tableWidth
	switch {
	case msg.Button == tea.MouseButtonLeft:
		return s.click(msg.X, msg.Y)
	case atPreview && msg.Button == tea.MouseButtonWheelUp:
		s.scrollPreview(-1)
	case atPreview && msg.Button == tea.MouseButtonWheelDown:
		s.scrollPreview(1)
	case msg.Button == tea.MouseButtonWheelUp:
		return s.roll(actions.Up)
	case msg.Button == tea.MouseButtonWheelDown:
		return s.roll(actions.Down)
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
