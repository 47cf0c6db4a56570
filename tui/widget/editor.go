package widget

import (
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/perks/api/display"
)

// mostTyped is how many code points can be typed and pasted into one field: far more than any field of the service takes,
// and few enough that every key stays fast.
const mostTyped = 20_000

// editor is a text that is being typed, in characters as people see them, with the cursor before one of them.
type editor struct {
	several bool // it has several lines
	blind   bool // it is not seen, so that the cursor stays at its end

	characters []piece
	cursor     int
	overflow   bool // something that was typed or pasted last did not fit

	text  string // what the characters say together; "" and !known until asked for
	known bool

	rows      []row // as laid out for rowsWidth
	rowsWidth int
	goal      int // the column that going up and down keeps to; -1 if none
	top       int // the first row that is seen
	left      int // the first character that is seen of a single line
}

// row is a line as it is seen, from a character to before another.
type row struct{ from, to int }

// set replaces the text. The cursor goes to its end, in several lines to its beginning.
func (e *editor) set(text string) {
	e.characters = characters(e.typeable(text))
	e.changed()
	e.cursor, e.top, e.left, e.overflow = 0, 0, 0, false
	if !e.several {
		e.cursor = len(e.characters)
	}
}

// typeable is a text without what a field cannot hold. Terminals send the line ends of what is pasted as carriage returns.
func (e *editor) typeable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if e.several {
		return display.Text(strings.ReplaceAll(text, "\r", "\n"))
	}
	return display.Line(text)
}

func characters(text string) []piece {
	all := make([]piece, 0, len(text))
	for len(text) > 0 {
		p := firstPiece(text)
		text = text[len(p.text):]
		if p.text == "\t" {
			p.width = 1
		}
		all = append(all, p)
	}
	return all
}

func (e *editor) changed() {
	e.known, e.rows, e.goal = false, nil, -1
}

func (e *editor) value() string {
	if !e.known {
		e.text, e.known = joined(e.characters), true
	}
	return e.text
}

func joined(characters []piece) string {
	var text strings.Builder
	for _, c := range characters {
		text.WriteString(c.text)
	}
	return text.String()
}

// insert puts text before the cursor, as much as there is room for.
func (e *editor) insert(typed []rune, pasted bool) {
	room := mostTyped - utf8.RuneCountInString(e.value())
	text, rest := e.fitting(typed, room, pasted)
	e.overflow = rest
	if text == "" {
		return
	}
	// What is typed may join with the characters around it, as an accent does.
	from, to := max(0, e.cursor-1), min(len(e.characters), e.cursor+1)
	before, after := joined(e.characters[from:e.cursor]), joined(e.characters[e.cursor:to])
	joint := characters(before + text + after)
	e.characters = slices.Replace(e.characters, from, to, joint...)
	e.cursor = from
	for size := len(before) + len(text); size > 0; e.cursor++ {
		size -= len(e.characters[e.cursor].text)
	}
	e.changed()
}

// fitting cleans what was typed. It reads no more of it than fits, because a paste can be of any size.
func (e *editor) fitting(typed []rune, room int, pasted bool) (text string, rest bool) {
	if pasted && !e.several {
		for len(typed) > 0 && (typed[len(typed)-1] == '\n' || typed[len(typed)-1] == '\r') {
			typed = typed[:len(typed)-1]
		}
	}
	var out []rune
	for len(typed) > 0 && len(out) < room {
		some := typed[:min(len(typed), 2*(room-len(out))+1)]
		if last := len(some) - 1; last > 0 && some[last] == '\r' {
			some = some[:last] // a line feed may come next
		}
		typed = typed[len(some):]
		out = append(out, []rune(e.typeable(string(some)))...)
	}
	if len(out) > max(0, room) {
		return string(out[:max(0, room)]), true
	}
	return string(out), len(typed) > 0
}

// remove takes characters away.
func (e *editor) remove(from, to int) {
	from, to = max(0, from), min(to, len(e.characters))
	if from >= to {
		return
	}
	e.characters = slices.Delete(e.characters, from, to)
	e.cursor, e.overflow = from, false
	e.changed()
}

// move puts the cursor before a character.
func (e *editor) move(to int) {
	if e.blind {
		return
	}
	e.cursor, e.goal = max(0, min(to, len(e.characters))), -1
}

// wordLeft is where the word before the cursor begins; all of a text that is not seen is one word.
func (e *editor) wordLeft() int {
	if e.blind {
		return 0
	}
	at := e.cursor
	for at > 0 && isBlank(e.characters[at-1].text) {
		at--
	}
	for at > 0 && !isBlank(e.characters[at-1].text) {
		at--
	}
	return at
}

// wordRight is where the word after the cursor ends.
func (e *editor) wordRight() int {
	at := e.cursor
	for at < len(e.characters) && isBlank(e.characters[at].text) {
		at++
	}
	for at < len(e.characters) && !isBlank(e.characters[at].text) {
		at++
	}
	return at
}

func isBlank(character string) bool { return strings.TrimSpace(character) == "" }

// lineStart and lineEnd are where the line with the cursor begins and ends, up to its line feeds.
func (e *editor) lineStart() int {
	at := e.cursor
	for at > 0 && e.characters[at-1].text != "\n" {
		at--
	}
	return at
}

func (e *editor) lineEnd() int {
	at := e.cursor
	for at < len(e.characters) && e.characters[at].text != "\n" {
		at++
	}
	return at
}
