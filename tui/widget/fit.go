package widget

import "strings"

const ellipsis = "…"

// Cut shortens a line to the width, with an ellipsis where something is missing. Styles survive it, and no character is cut
// in two. Tabs become blanks.
func Cut(line string, width int) string {
	line, _ = cut(line, width, ellipsis)
	return line
}

// cut returns what fits with its width. Where something is missing, it ends with the tail.
func cut(line string, width int, tail string) (string, int) {
	if width <= 0 || line == "" {
		return "", 0
	}
	if isASCII(line) {
		if len(line) <= width {
			return line, len(line)
		}
		room := width - Width(tail)
		return line[:room] + tail, width
	}
	line = clean(line)
	if _, at, rest := head(line, width); rest == "" {
		return line, at
	}
	size, at, rest := head(line, width-Width(tail))
	return line[:size] + tail + sequences(rest), at + Width(tail)
}

// head tells how many bytes of a clean line fit into the width, how wide they are, and what is left.
func head(line string, width int) (size, at int, rest string) {
	for size < len(line) {
		p := firstPiece(line[size:])
		if at+p.width > width {
			break
		}
		at += p.width
		size += len(p.text)
	}
	return size, at, line[size:]
}

// sequences returns the escape sequences of a line without its text: whatever they begin they also end.
func sequences(line string) string {
	if !strings.Contains(line, "\x1b") {
		return ""
	}
	var out strings.Builder
	for len(line) > 0 {
		p := firstPiece(line)
		if p.styles {
			out.WriteString(p.text)
		}
		line = line[len(p.text):]
	}
	return out.String()
}

// Pad lengthens a line to the width with blanks, or cuts it. The result is exactly so wide.
func Pad(line string, width int) string {
	line, at := cut(line, width, ellipsis)
	for at < width {
		line += blanks(width - at)
		at = Width(line) // rarely less: some characters join with a blank
	}
	return line
}

// PadLeft puts the blanks before the line.
func PadLeft(line string, width int) string {
	line, at := cut(line, width, ellipsis)
	return blanks(width-at) + line
}

func blanks(n int) string { return strings.Repeat(" ", max(0, n)) }

// Crop makes a view of exactly so many lines, none longer than the width; "" if there is no room at all.
func Crop(view string, width, height int) string {
	if height <= 0 {
		return ""
	}
	lines := strings.SplitN(view, "\n", height+1)
	lines = lines[:min(len(lines), height)]
	for i := range lines {
		lines[i] = Cut(lines[i], width)
	}
	return strings.Join(lines, "\n") + strings.Repeat("\n", height-len(lines))
}
