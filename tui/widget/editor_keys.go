package widget

import tea "github.com/charmbracelet/bubbletea"

// press takes a key, and tells whether the text has changed. The keys are those that shells have for editing a line, except
// those that mean something everywhere in this program: ctrl+k, ctrl+p, ctrl+s and ctrl+z.
func (e *editor) press(key tea.KeyMsg) (edited bool) {
	if !key.Alt && (key.Type == tea.KeyRunes || key.Type == tea.KeySpace) {
		typed := key.Runes
		if key.Type == tea.KeySpace {
			typed = []rune{' '}
		}
		before := len(e.value())
		e.insert(typed, key.Paste)
		return len(e.value()) != before
	}
	return e.erase(key.String()) || e.travel(key.String())
}

// erase takes a key that changes the text.
func (e *editor) erase(key string) (edited bool) {
	before := len(e.characters)
	switch key {
	case "enter", "ctrl+j":
		if e.several {
			e.insert([]rune{'\n'}, false)
		}
	case "backspace", "ctrl+h":
		e.remove(e.cursor-1, e.cursor)
	case "delete", "ctrl+d":
		e.remove(e.cursor, e.cursor+1)
	case "ctrl+w", "alt+backspace":
		e.remove(e.wordLeft(), e.cursor)
	case "alt+d", "alt+delete":
		e.remove(e.cursor, e.wordRight())
	case "ctrl+u":
		e.remove(e.lineStart(), e.cursor)
	}
	return len(e.characters) != before
}

// travel takes a key that moves the cursor. It never changes the text.
func (e *editor) travel(key string) (edited bool) {
	switch key {
	case "left", "ctrl+b":
		e.move(e.cursor - 1)
	case "right", "ctrl+f":
		e.move(e.cursor + 1)
	case "ctrl+left", "alt+left", "alt+b":
		e.move(e.wordLeft())
	case "ctrl+right", "alt+right", "alt+f":
		e.move(e.wordRight())
	case "home", "ctrl+a":
		e.move(e.lineStart())
	case "end", "ctrl+e":
		e.move(e.lineEnd())
	case "ctrl+home":
		e.move(0)
	case "ctrl+end":
		e.move(len(e.characters))
	case "up":
		e.climb(-1)
	case "down":
		e.climb(1)
	case "pgup":
		e.climb(-pageOfRows)
	case "pgdown":
		e.climb(pageOfRows)
	}
	return false
}
