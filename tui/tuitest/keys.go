package tuitest

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// named is the keys that print nothing, as bubbletea names them.
var named = func() map[string]tea.KeyType {
	names := map[string]tea.KeyType{}
	for t := tea.KeyType(-100); t < 128; t++ {
		if t == tea.KeyRunes || t == tea.KeySpace {
			continue
		}
		if name := (tea.Key{Type: t}).String(); name != "" {
			names[name] = t
		}
	}
	return names
}()

// Key returns the message of a key by its name, such as "j", "enter", "ctrl+s", "alt+x" or " ".
func Key(name string) tea.KeyMsg {
	plain, alt := strings.CutPrefix(name, "alt+")
	if t, ok := named[plain]; ok {
		return tea.KeyMsg{Type: t, Alt: alt}
	}
	if plain == " " {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}, Alt: alt}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(plain), Alt: alt}
}

// Press presses keys, one after the other, by their names.
func (d *Driver) Press(names ...string) {
	d.t.Helper()
	for _, name := range names {
		d.Send(Key(name))
	}
}

// Type types a text, a key for each character.
func (d *Driver) Type(text string) {
	d.t.Helper()
	for _, r := range text {
		if r == '\n' {
			d.Press("enter")
			continue
		}
		d.Press(string(r))
	}
}

// Choose presses the key of a choice, sees what is offered, and takes the option that a part of its name finds.
func (d *Driver) Choose(key, part string, offered ...string) {
	d.t.Helper()
	d.Press(key)
	d.See(offered...)
	d.Type(part + "\n")
}

// Paste pastes a text as terminals do that mark it as pasted.
func (d *Driver) Paste(text string) {
	d.t.Helper()
	d.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true})
}

// Clear empties the field that has the keyboard.
func (d *Driver) Clear() {
	d.t.Helper()
	d.Press("end")
	for range []rune(d.App.Top().Form().Value(d.App.Top().Form().Focus())) {
		d.Press("backspace")
	}
}
