package widget

import (
	"strings"
)

// The least room in which a border is worth what it takes.
const (
	leastBoxWidth  = 20
	leastBoxHeight = 5
)

// Box draws a border around a body, its title in the upper edge. It takes exactly so many lines, each exactly so wide. In
// less than 20 by 5 cells there is no border, and the title is the first line, if two lines fit. Lay the body out for the
// size that BoxRoom tells.
func Box(look *Theme, title, body string, width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	roomWidth, roomHeight := BoxRoom(title, width, height)
	inner := strings.Split(Crop(body, roomWidth, roomHeight), "\n")
	lines := make([]string, 0, height)
	if !bordered(width, height) {
		if roomHeight < height {
			lines = append(lines, Pad(look.Heading.Render(Cut(title, width)), width))
		}
		for _, line := range inner {
			lines = append(lines, Pad(line, width))
		}
		return strings.Join(lines, "\n")
	}
	lines = append(lines, boxTop(look, title, width))
	side := look.Border.Render("│")
	for _, line := range inner {
		lines = append(lines, side+" "+Pad(line, roomWidth)+" "+side)
	}
	lines = append(lines, look.Border.Render("╰"+strings.Repeat("─", width-2)+"╯"))
	return strings.Join(lines, "\n")
}

func boxTop(look *Theme, title string, width int) string {
	if title == "" {
		return look.Border.Render("╭" + strings.Repeat("─", width-2) + "╮")
	}
	title = Cut(title, width-6)
	rest := strings.Repeat("─", max(0, width-5-Width(title)))
	return look.Border.Render("╭─") + " " + look.Heading.Render(title) + " " + look.Border.Render(rest+"╮")
}

func bordered(width, height int) bool { return width >= leastBoxWidth && height >= leastBoxHeight }

// BoxRoom tells how much room the body of a Box of this size has.
func BoxRoom(title string, width, height int) (bodyWidth, bodyHeight int) {
	switch {
	case bordered(width, height):
		return width - 4, height - 2
	case title != "" && height > 1:
		return max(0, width), height - 1
	}
	return max(0, width), max(0, height)
}
