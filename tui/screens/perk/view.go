package perk

import (
	"strings"

	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/widget"
)

// From this width on the image stands beside the facts.
const widthForBeside = 90

// View draws the facts, scrolled, with what went wrong above them and how old they are below.
func (s *Screen) View() string {
	if s.perk() == nil {
		mood, title, advice := s.nothing()
		return widget.Notice(s.shell.Theme, mood, title, advice, s.width, s.height)
	}
	p := s.lay()
	lines := append([]string{}, p.banner...)
	body := strings.Split(s.scroll.View(), "\n")
	if p.beside {
		for i, line := range p.image {
			body[i] = widget.Pad(body[i], p.width) + "  " + line
		}
		lines = append(lines, body...)
	} else {
		lines = append(append(lines, body...), p.image...)
	}
	if p.status {
		lines = append(lines, s.statusLine())
	}
	return widget.Crop(strings.Join(lines, "\n"), s.width, s.height)
}

// parts is how the room is shared out.
type parts struct {
	banner []string // what went wrong, at the top
	image  []string
	beside bool // the image stands to the right of the facts
	width  int  // of the facts
	status bool // there is a line at the bottom
}

// lay shares out the room, of which the image gets half of the height at most, and fills in the facts.
func (s *Screen) lay() parts {
	perk := s.perk()
	if perk == nil {
		return parts{}
	}
	p := parts{banner: s.banner(), width: s.width, status: s.height >= 4, beside: s.width >= widthForBeside}
	height := max(1, s.height-len(p.banner))
	if p.status {
		height--
	}
	roomForImage := min(s.height, height) / 2
	if p.beside {
		p.image = s.image.view(s.shell.Theme, s.width*2/5, roomForImage)
		if len(p.image) > 0 {
			p.width = s.width - s.width*2/5 - 2
		}
	} else {
		p.image = s.image.view(s.shell.Theme, s.width, roomForImage)
		height -= len(p.image)
	}
	s.scroll.Resize(p.width, height)
	s.scroll.Set(s.facts(perk, p.width))
	return p
}

// facts is what was drawn of the facts last. Long texts take milliseconds to wrap, which is too much for every frame.
type facts struct {
	of    factsOf
	lines []string
}

// factsOf is all that facts depend on.
type factsOf struct {
	known    *api.Perk
	reads    int
	validity string // as time goes by it changes without the perk
	width    int
	look     *widget.Theme
}

func (s *Screen) facts(perk *api.Perk, width int) []string {
	of := factsOf{s.known, s.reads, validity(perk, s.shell.Now()), width, s.shell.Theme}
	if s.drawn.of != of {
		s.drawn = facts{of, s.drawFacts(perk, of)}
	}
	return s.drawn.lines
}

// drawFacts draws everything about the perk: first what it is and whether it can be used, then the small print.
func (s *Screen) drawFacts(perk *api.Perk, of factsOf) []string {
	look, width := of.look, of.width
	lines := styled(look.Strong, display.Line(perk.Title), width)
	if perk.DiscountText != nil {
		lines = append(lines, styled(look.Accent, display.Line(*perk.DiscountText), width)...)
	}
	lines = append(lines, styled(s.validityStyle(perk), of.validity, width)...)
	lines = append(lines, "")
	lines = append(lines, widget.Pairs(look, width, s.who(perk))...)
	lines = append(lines, "")
	lines = append(lines, styled(look.Text, display.Text(perk.Description), width)...)
	lines = append(lines, "", look.Heading.Render(widget.Cut("Terms", width)))
	lines = append(lines, styled(look.Text, display.Text(given(perk.Terms)), width)...)
	lines = append(lines, "")
	return append(lines, widget.Pairs(look, width, s.details(perk))...)
}

func styled(style lipgloss.Style, text string, width int) []string {
	lines := widget.Wrap(text, width)
	for i := range lines {
		lines[i] = style.Render(lines[i])
	}
	return lines
}

func (s *Screen) validityStyle(perk *api.Perk) lipgloss.Style {
	switch phaseOf(perk, s.shell.Now()) {
	case ended:
		return s.shell.Theme.Bad
	case notStarted:
		return s.shell.Theme.Warn
	}
	return s.shell.Theme.Good
}

// statusLine says how old the facts are, and how much of them is out of sight.
func (s *Screen) statusLine() string {
	look := s.shell.Theme
	more := hidden(s.scroll.More())
	room := s.width - widget.Width(more) - 2
	if more == "" {
		return look.Muted.Render(widget.Cut(s.age(), s.width))
	}
	if room < 8 {
		return look.Muted.Render(widget.Cut(more, s.width))
	}
	return look.Muted.Render(widget.Pad(s.age(), room) + "  " + more)
}
