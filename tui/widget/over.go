package widget

import "strings"

// Over lays a box over a view, its corner at x and y. Lines of the view are taken for padded with blanks. A wide character
// that the box covers in part leaves a blank. Lines of the box outside of the view are not drawn.
func Over(view, box string, x, y int) string {
	lines := strings.Split(view, "\n")
	for i, line := range strings.Split(box, "\n") {
		if at := y + i; at >= 0 && at < len(lines) {
			lines[at] = overLine(lines[at], line, x)
		}
	}
	return strings.Join(lines, "\n")
}

func overLine(under, line string, x int) string {
	under, line = clean(under), clean(line)
	if x < 0 {
		line, x = from(line, -x), 0
	}
	size, at, rest := head(under, x)
	left := under[:size] + sequences(rest) + blanks(x-at)
	return left + line + from(under, x+Width(line))
}

// from returns a clean line from a cell on, with the style that it has there. Half of a wide character becomes a blank.
func from(line string, cell int) string {
	size, at, rest := head(line, cell)
	if rest == "" {
		return ""
	}
	styles := sequences(line[:size])
	if p := firstPiece(rest); at < cell && p.width > 0 {
		return styles + blanks(at+p.width-cell) + rest[len(p.text):]
	}
	return styles + rest
}
