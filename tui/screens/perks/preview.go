package perks

import (
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/plain"
	"example.com/perks/tui/components"
)

// previewFrom is the width from which on there is room for the preview beside the list.
const previewFrom = 100

// facts is the main facts of a perk in the order in which they matter, by what they are called; the title is called nothing.
func (s *Screen) facts(p *api.Perk) [][2]string {
	now := s.shell.Now()
	valid, _ := validity(p, now)
	if p.ValidTo != nil {
		valid += ", until " + components.Instant(*p.ValidTo, now)
	}
	facts := [][2]string{
		{"", plain.Line(p.Title)},
		{"Discount", line(p.DiscountText)},
		{"Valid", valid},
		{"Merchant", line(p.MerchantName)},
		{"City", plain.Line(p.City)},
		{"Category", line(p.Category)},
		{"Id", plain.Line(p.ID)},
		{"About", plain.Text(p.Description)},
	}
	if p.Terms != nil {
		facts = append(facts, [2]string{"Terms", plain.Text(*p.Terms)})
	}
	return facts
}

// previewLines draws the perk under the cursor.
func (s *Screen) previewLines(width, height int) []string {
	perk, ok := s.current()
	if !ok {
		return nil
	}
	look := s.shell.Theme
	var lines []string
	for _, fact := range s.facts(&perk) {
		name, value := fact[0], fact[1]
		if value == "" || len(lines) >= height {
			continue
		}
		value = start(value, width*(height-len(lines)))
		switch {
		case name == "":
			for _, line := range components.Wrap(value, width) {
				lines = append(lines, look.Strong.Render(line))
			}
		case len(name)+2+components.Width(value) <= width && !strings.Contains(value, "\n"):
			lines = append(lines, look.Heading.Render(name+":")+" "+look.Text.Render(value))
		default:
			lines = append(lines, look.Heading.Render(name+":"))
			for _, line := range components.Wrap(value, width) {
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
