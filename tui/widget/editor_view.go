package widget

import (
	"strings"
)

// caret shows the cursor where there are no colours to show it in.
const caret = "▏"

// viewLine draws a single line, the part around the cursor if it has the keyboard. What is missing is an ellipsis.
func (e *editor) viewLine(look *Theme, width int, focused bool) string {
	if !focused {
		e.left = 0
		return look.Text.Render(Cut(shown(e.characters[:min(len(e.characters), width+1)]), width))
	}
	if width < 3 {
		return look.Cursor.Render(blanks(width))
	}
	e.scroll(width)
	lead, tail := "", ""
	room := width - 1 // a cell is the cursor's
	if e.left > 0 {
		lead = ellipsis
		room--
	}
	end, at := e.left, 0
	for end < len(e.characters) && at+e.characters[end].width <= room {
		at += e.characters[end].width
		end++
	}
	if end < len(e.characters) {
		tail = ellipsis
		for at > room-1 {
			end--
			at -= e.characters[end].width
		}
	}
	return look.Text.Render(lead) + drawRow(look, e.characters[e.left:end], e.cursor-e.left) + look.Text.Render(tail)
}

// scroll moves the part that is seen until the cursor is in it, with a cell for an ellipsis at either side.
func (e *editor) scroll(width int) {
	all := len(e.characters)
	if cells(e.characters) < width {
		e.left = 0
		return
	}
	e.left = min(e.left, max(0, e.cursor-1))
	e.left = max(e.left, e.reach(min(e.cursor+1, all), width-3))
	e.left = min(e.left, e.reach(all, width-2), e.cursor)
}

// reach is the first of the characters before an end that have room together.
func (e *editor) reach(end, room int) int {
	for end > 0 && e.characters[end-1].width <= room {
		end--
		room -= e.characters[end].width
	}
	return end
}

// viewRows draws as many rows as asked for, the one with the cursor among them if it has the keyboard.
func (e *editor) viewRows(look *Theme, width, height int, focused bool) []string {
	e.layOut(width)
	at := e.at()
	switch {
	case !focused:
		e.top = 0
	case at < e.top:
		e.top = at
	case at >= e.top+height:
		e.top = at - height + 1
	}
	e.top = max(0, min(e.top, len(e.rows)-height))
	lines := make([]string, 0, height)
	for i := e.top; i < len(e.rows) && len(lines) < height; i++ {
		r, cursor := e.rows[i], -1
		if focused && i == at {
			cursor = e.cursor - r.from
		}
		if last := r.to - 1; cursor >= 0 && last > r.from && cells(e.characters[r.from:r.to]) >= width && !look.Colours() {
			r.to = last // the blank behind a full row makes room for the caret
		}
		lines = append(lines, Cut(drawRow(look, e.characters[r.from:r.to], cursor), width))
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines
}

// drawRow draws characters with the cursor at one of them, behind the last, or nowhere.
func drawRow(look *Theme, row []piece, cursor int) string {
	if cursor < 0 {
		return look.Text.Render(shown(row))
	}
	cursor = min(cursor, len(row))
	before, after := shown(row[:cursor]), shown(row[cursor:])
	if !look.Colours() {
		return before + caret + after
	}
	under := " "
	if cursor < len(row) {
		under, after = shown(row[cursor:cursor+1]), shown(row[cursor+1:])
	}
	return look.Text.Render(before) + look.Cursor.Render(under) + look.Text.Render(after)
}

// shown is characters as they are drawn: a tab in a text takes a cell.
func shown(characters []piece) string {
	return strings.ReplaceAll(joined(characters), "\t", " ")
}
