package perk

import (
	"strings"

	"example.com/perks/api/plain"
	"example.com/perks/tui/components"
)

// Linear says all that is known of the perk, a fact a line, all of it from the top.
func (s *Screen) Linear() string {
	perk := s.perk()
	if perk == nil {
		return components.LinearNotice(s.nothing())
	}
	var lines []string
	if problem := s.problem(); problem != "" {
		lines = append(lines, "Problem: "+problem)
	}
	lines = append(lines,
		"Title: "+plain.Line(perk.Title),
		"Discount: "+plain.Line(given(perk.DiscountText)),
		"Validity: "+validity(perk, s.shell.Now()),
	)
	lines = append(lines, components.LinearPairs(s.who(perk))...)
	lines = append(lines,
		"Description: "+plain.Text(perk.Description),
		"Terms: "+plain.Text(given(perk.Terms)),
	)
	lines = append(lines, components.LinearPairs(s.details(perk))...)
	if s.image.isOn() {
		lines = append(lines, "Drawn image: "+s.image.sentence())
	}
	return strings.Join(append(lines, "State: "+s.age()), "\n")
}
