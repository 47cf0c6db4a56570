package widget

import (
	"strings"

	"example.com/perks/tui/actions"
)

// Scroll shows as much of a text as there is room for.
type Scroll struct {
	lines         []string
	top           int
	width, height int
}

// Resize sets the room.
func (s *Scroll) Resize(width, height int) {
	s.width, s.height = width, height
	s.move(0)
}

// Set replaces the lines, which must have been wrapped to the width. The place stays as far as it can.
func (s *Scroll) Set(lines []string) {
	s.lines = lines
	s.move(0)
}

// Do moves about, and tells whether the action is one of moving.
func (s *Scroll) Do(id actions.ID) bool {
	switch id {
	case actions.Up:
		s.move(-1)
	case actions.Down:
		s.move(1)
	case actions.PageUp:
		s.move(-max(1, s.height-1))
	case actions.PageDown:
		s.move(max(1, s.height-1))
	case actions.Top:
		s.move(-len(s.lines))
	case actions.Bottom:
		s.move(len(s.lines))
	default:
		return false
	}
	return true
}

func (s *Scroll) move(by int) { s.top = max(0, min(s.top+by, len(s.lines)-s.height)) }

// Reveal scrolls until the line can be seen.
func (s *Scroll) Reveal(line int) {
	switch {
	case line < s.top:
		s.top = line
	case line >= s.top+s.height:
		s.top = line - s.height + 1
	}
	s.move(0)
}

// More tells how many lines are above and below what is seen.
func (s *Scroll) More() (above, below int) {
	return s.top, max(0, len(s.lines)-s.top-s.height)
}

// View draws the lines that there is room for.
func (s *Scroll) View() string {
	end := min(len(s.lines), s.top+max(0, s.height))
	return Crop(strings.Join(s.lines[min(s.top, end):end], "\n"), s.width, s.height)
}

// Moves is the offers to move about in it. The footer has the key to where there is more.
func (s *Scroll) Moves() []actions.Offer {
	offers := Moves()
	further, word := actions.PageDown, "more"
	switch above, below := s.More(); {
	case above == 0 && below == 0:
		return offers
	case below == 0:
		further, word = actions.PageUp, "back up"
	}
	for i, offer := range offers {
		if offer.ID == further {
			offers[i] = offer.As(word)
		}
	}
	return offers
}

// Hidden says how much of a text is above and below what is seen: "↑ 3  ↓ 14 more lines".
func Hidden(above, below int) string {
	switch {
	case above > 0 && below > 0:
		return "↑ " + Count(int64(above)) + "  ↓ " + Plural(int64(below), "more line", "more lines")
	case above > 0:
		return "↑ " + Plural(int64(above), "more line", "more lines")
	case below > 0:
		return "↓ " + Plural(int64(below), "more line", "more lines")
	}
	return ""
}

// Moves is the offers of whatever can be moved about in.
func Moves() []actions.Offer {
	return actions.Able(actions.Up, actions.Down, actions.PageUp, actions.PageDown, actions.Top, actions.Bottom)
}
