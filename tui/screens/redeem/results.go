package redeem

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// Reopens tells whether there are results to see again.
func (s *Screen) Reopens() bool { return len(s.items()) > 0 }

// chosen is the result that actions are about; nil before there are any.
func (s *Screen) chosen() *item {
	items := s.items()
	if len(items) == 0 {
		return nil
	}
	return items[min(s.cursor, len(items)-1)]
}

// marker shows which of several results is chosen, unless a form has the keyboard.
func (s *Screen) marker(n int) string {
	switch {
	case len(s.items()) < 2 || s.Form() != nil:
		return ""
	case s.items()[n] == s.chosen():
		return "> "
	}
	return "  "
}

// move goes from result to result, and line by line through one that does not fit.
func (s *Screen) move(id actions.ID) {
	if len(s.starts) == 0 {
		s.scroll.Do(id)
		return
	}
	top, below := s.scroll.More()
	last := len(s.starts) - 1
	s.cursor = min(s.cursor, last)
	switch {
	case id == actions.Down && s.cursor < last && (below == 0 || s.starts[s.cursor+1] <= top+s.height):
		s.cursor++
		s.scroll.Reveal(s.starts[s.cursor])
	case id == actions.Up && s.cursor > 0 && s.starts[s.cursor] >= top:
		s.cursor--
		s.scroll.Reveal(s.starts[s.cursor])
	case s.scroll.Do(id):
		s.follow(id)
	}
}

// follow chooses a result that is in sight, so that no action is about one that is not.
func (s *Screen) follow(id actions.ID) {
	switch id {
	case actions.Top:
		s.cursor = 0
	case actions.Bottom:
		s.cursor = len(s.starts) - 1
	}
	top, _ := s.scroll.More()
	first, last := 0, 0
	for n, start := range s.starts {
		if start <= top {
			first = n
		}
		if start < top+s.height {
			last = n
		}
	}
	s.cursor = max(first, min(s.cursor, last))
}

// copyID copies the id of the chosen result's redemption.
func (s *Screen) copyID() tea.Cmd {
	i := s.chosen()
	if i == nil || i.Redemption.ID == "" {
		return nil
	}
	desktop, id, perk := s.shell.Desktop, i.Redemption.ID, i.perk
	return func() tea.Msg {
		if err := desktop.Copy(id); err != nil {
			return screen.Toast{Kind: screen.Failure, Text: screen.Sentence("The id was not copied: ", err)}
		}
		return screen.Toast{Kind: screen.Done, Text: "Copied the redemption's id " + id + ", of " + named(perk) + "."}
	}
}

// openPerk goes to the perk of the chosen result.
func (s *Screen) openPerk() tea.Cmd {
	if i := s.chosen(); i != nil {
		return s.shell.Open(screen.ToPerk{ID: i.perk.ID, Known: &i.perk})
	}
	return nil
}
