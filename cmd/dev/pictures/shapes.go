package main

// Lines and blocks are drawn, not written: those of a font have gaps between rows.

const (
	up = 1 << iota
	right
	down
	left
)

var boxes = map[string]int{
	"─": left | right, "│": up | down, "━": left | right, "┃": up | down,
	"┌": right | down, "┐": left | down, "└": up | right, "┘": up | left,
	"╭": right | down, "╮": left | down, "╰": up | right, "╯": up | left,
	"├": up | down | right, "┤": up | down | left, "┬": left | right | down, "┴": left | right | up,
	"┼": up | down | left | right,
}

// isShape tells whether a character is drawn.
func isShape(text string) bool {
	switch text {
	case "█", "▀", "▄":
		return true
	}
	return boxes[text] != 0
}

// shape draws a character that is a line or a block, and tells whether it is one.
func (d *drawing) shape(y int, c cell) bool {
	x0, y0 := place(c.column, y)
	colour, _ := d.colours.of(c.look)
	switch c.text {
	case "█", "▀", "▄":
		top, height := y0, cellHeight
		if c.text != "█" {
			height /= 2
		}
		if c.text == "▄" {
			top += height
		}
		d.add(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, x0, top, cellWidth, height, colour)
		return true
	}
	arms := boxes[c.text]
	if arms == 0 {
		return false
	}
	middleX, middleY := x0+cellWidth/2, y0+cellHeight/2
	across, along := [2]length{middleX, middleX}, [2]length{middleY, middleY}
	if arms&left != 0 {
		across[0] = x0
	}
	if arms&right != 0 {
		across[1] = x0 + cellWidth
	}
	if arms&up != 0 {
		along[0] = y0
	}
	if arms&down != 0 {
		along[1] = y0 + cellHeight
	}
	d.draw(stroke{colour, across[0], middleY, across[1], middleY})
	d.draw(stroke{colour, middleX, along[0], middleX, along[1]})
	return true
}

// stroke is a straight line, to the right or down.
type stroke struct {
	colour         string
	x1, y1, x2, y2 length
}

// draw takes a line, and makes one of it and of the line that it goes on from.
func (d *drawing) draw(s stroke) {
	if s.x1 == s.x2 && s.y1 == s.y2 {
		return
	}
	for i := range d.strokes {
		before := &d.strokes[i]
		flat := before.y1 == before.y2
		if before.colour == s.colour && before.x2 == s.x1 && before.y2 == s.y1 && flat == (s.y1 == s.y2) {
			before.x2, before.y2 = s.x2, s.y2
			return
		}
	}
	d.strokes = append(d.strokes, s)
}

// lines draws the lines that were taken.
func (d *drawing) lines() {
	for _, s := range d.strokes {
		d.add(`<path d="M%s %sL%s %s" stroke="%s"/>`, s.x1, s.y1, s.x2, s.y2, s.colour)
	}
}
