package widget

import (
	"slices"
	"sort"
)

// pageOfRows is how far a page goes in several lines.
const pageOfRows = 5

// layOut makes the rows for a width, unless they are there. A row leaves a cell for the cursor behind its last character.
func (e *editor) layOut(width int) {
	width = max(1, width-1)
	if e.rows != nil && e.rowsWidth == width {
		return
	}
	e.rows, e.rowsWidth = e.rows[:0], width
	for start := 0; ; {
		end := len(e.characters)
		if feed := slices.IndexFunc(e.characters[start:], isLineFeed); feed >= 0 {
			end = start + feed
		}
		e.layOutLine(start, end)
		if end == len(e.characters) {
			return
		}
		start = end + 1
	}
}

// layOutAgain makes the rows for the width that they had, for keys that come before the next View.
func (e *editor) layOutAgain() {
	if e.rowsWidth == 0 {
		e.rowsWidth = 80
	}
	e.layOut(e.rowsWidth + 1)
}

func isLineFeed(c piece) bool { return c.text == "\n" }

func (e *editor) layOutLine(start, end int) {
	for {
		next := start + fillRow(e.characters[start:end], e.rowsWidth)
		e.rows = append(e.rows, row{start, next})
		if start = next; start >= end {
			return
		}
	}
}

// fillRow tells how many characters make the first row. Unlike in Wrap none is lost, because the cursor can stand at each of
// them; only one blank may stand in the cell behind the row.
func fillRow(line []piece, width int) int {
	at, end := 0, 0
	for i, c := range line {
		blank := isBlank(c.text)
		if at > 0 && at+c.width > width {
			switch {
			case blank && at == width:
				return i + 1
			case blank || end == 0:
				return i
			}
			return end
		}
		at += c.width
		if blank || i+1 < len(line) && breaksBetween(c.text, line[i+1].text) {
			end = i + 1
		}
	}
	return len(line)
}

// at is the row with the cursor.
func (e *editor) at() int {
	return sort.Search(len(e.rows), func(i int) bool { return e.rows[i].from > e.cursor }) - 1
}

// climbs tells whether there is a row so far above or below the cursor.
func (e *editor) climbs(by int) bool {
	e.layOutAgain()
	to := e.at() + by
	return to >= 0 && to < len(e.rows)
}

// climb goes up or down by rows, and keeps to the column as far as it can.
func (e *editor) climb(by int) {
	if e.blind || !e.several {
		return
	}
	e.layOutAgain()
	from := e.at()
	if e.goal < 0 {
		e.goal = cells(e.characters[e.rows[from].from:e.cursor])
	}
	goal := e.goal
	to := e.rows[max(0, min(from+by, len(e.rows)-1))]
	at, column := to.from, 0
	for at < to.to && column+e.characters[at].width <= goal {
		column += e.characters[at].width
		at++
	}
	if at == to.to && at > to.from && at < len(e.characters) && !isLineFeed(e.characters[at]) {
		at-- // the end of a row that was broken is the beginning of the next
	}
	e.cursor, e.goal = at, goal
}

func cells(characters []piece) int {
	sum := 0
	for _, c := range characters {
		sum += c.width
	}
	return sum
}
