package perks

import (
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// previewFrom is the width from which on there is room for the preview beside the list.
const previewFrom = 100

// facts is the main facts of a perk in the order in which they matter, by what they are called; the title is called nothing.
func (s *Screen) facts(p *api.Perk) [][2]string {
	now := s.shell.Now()
	valid, _ := validity(p, now)
	if p.ValidTo != nil {
		valid += ", until " + widget.Instant(*p.ValidTo, now)
	}
	facts := [][2]string{
		{"", display.Line(p.Title)},
		{"Discount", line(p.DiscountText)},
		{"Valid", valid},
		{"Merchant", line(p.MerchantName)},
		{"City", display.Line(p.City)},
		{"Category", line(p.Category)},
		{"Id", display.Line(p.ID)},
		{"About", display.Text(p.Description)},
	}
	if p.Terms != nil {
		facts = append(facts, [2]string{"Terms", display.Text(*p.Terms)})
	}
	return facts
}

// previewLines draws the perk under the cursor, from the line to which it was scrolled. If it does not fit, the last line says so.
func (s *Screen) previewLines(width, height int) []string {
	perk, ok := s.current()
	if !ok || height <= 0 {
		return nil
	}
	facts := s.facts(&perk)
	if s.previewOf != perk.ID {
		s.previewOf, s.previewTop = perk.ID, 0
	}
	lines := s.factLines(facts, width, s.previewTop+height+1)
	if len(lines) <= height {
		s.previewTop = 0
		return lines
	}
	room := height - 1
	s.previewTop = min(s.previewTop, len(lines)-room)
	below := len(lines) > s.previewTop+room
	if s.previewTop == 0 {
		lines = s.foldedFacts(facts, width, room)
	} else {
		lines = lines[s.previewTop : s.previewTop+room]
	}
	return append(lines, s.shell.Theme.Accent.Render(widget.Cut(s.previewMark(below), width)))
}

// foldedFacts draws the facts shortened to a height. The terms are always among them, below the rest.
func (s *Screen) foldedFacts(facts [][2]string, width, height int) []string {
	var terms []string
	if last := len(facts) - 1; facts[last][0] == "Terms" {
		terms = s.cutFacts(facts[last:], width, height/3)
		facts = facts[:last]
	}
	return append(s.cutFacts(facts, width, height-len(terms)), terms...)
}

// cutFacts draws as many lines of facts as fit. If some do not, the last line is an ellipsis.
func (s *Screen) cutFacts(facts [][2]string, width, height int) []string {
	lines := s.factLines(facts, width, height+1)
	if len(lines) <= height || height <= 0 {
		return lines[:min(len(lines), max(0, height))]
	}
	lines = lines[:height]
	lines[height-1] = s.shell.Theme.Muted.Render("…")
	return lines
}

// previewMark says that there is more, and how to get there.
func (s *Screen) previewMark(below bool) string {
	down, up := "↓ "+s.keyOf(actions.PreviewDown)+" more", "↑ "+s.keyOf(actions.PreviewUp)+" back"
	switch {
	case s.previewTop == 0:
		return down
	case below:
		return down + "  " + up
	}
	return up
}

// scrollPreview moves the preview. The steps are small, so that no line is skipped for which the terms left no room.
func (s *Screen) scrollPreview(by int) {
	s.previewTop = max(0, s.previewTop+by*max(1, s.height/4))
}

// whyNoPreview says why there is nothing to scroll beside the list.
func (s *Screen) whyNoPreview() string {
	switch {
	case s.width < previewFrom:
		return needsWindow
	case !s.preview:
		return s.keyOf(actions.Preview) + " shows the preview."
	case len(s.shown) == 0:
		return noPerk
	}
	return ""
}

// factLines draws facts, at most height lines of them.
func (s *Screen) factLines(facts [][2]string, width, height int) []string {
	look := s.shell.Theme
	var lines []string
	for _, fact := range facts {
		name, value := fact[0], fact[1]
		if value == "" || len(lines) >= height {
			continue
		}
		value = start(value, width*(height-len(lines)))
		switch {
		case name == "":
			for _, line := range widget.Wrap(value, width) {
				lines = append(lines, look.Strong.Render(line))
			}
		case len(name)+2+widget.Width(value) <= width && !strings.Contains(value, "\n"):
			lines = append(lines, look.Heading.Render(name+":")+" "+look.Text.Render(value))
		default:
			lines = append(lines, look.Heading.Render(name+":"))
			for _, line := range widget.Wrap(value, width) {
				lines = append(lines, look.Text.Render(line))
			}
		}
	}
	return lines[:min(len(lines), max(0, height))]
}

// start is the first characters of a text: what follows so many of them is below the edge, and need not be wrapped for every
// frame.
func start(text string, characters int) string {
	for i := range text {
		if characters--; characters < 0 {
			return text[:i]
		}
	}
	return text
}
