package perk

import (
	"strings"

	"example.com/perks/api/display"
	"example.com/perks/tui/widget"
)

// Linear says all that is known of the perk, a fact a line, all of it from the top.
func (s *Screen) Linear() string {
	perk := s.perk()
	if perk == nil {
		return widget.LinearNotice(s.nothing())
	}
	var lines []string
	if problem := s.problem(); problem != "" {
		lines = append(lines, "Problem: "+problem)
	}
	lines = append(lines,
		"Title: "+display.Line(perk.Title),
		"Discount: "+display.Line(given(perk.DiscountText)),
		"Validity: "+validity(perk, s.shell.Now()),
	)
	lines = append(lines, widget.LinearPairs(s.who(perk))...)
	lines = append(lines,
		"Description: "+display.Text(perk.Description),
		"Terms: "+display.Text(given(perk.Terms)),
	)
	lines = append(lines, widget.LinearPairs(s.details(perk))...)
	if s.image.isOn() {
		lines = append(lines, "Drawn image: "+s.image.sentence())
	}
	return strings.Join(append(lines, "State: "+s.age()), "\n")
}
