package actions

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// checkKeys says what is wrong with the keys that a person gave an action.
func checkKeys(a Action) error {
	if len(a.Keys) == 0 && a.ID.Group() == "confirm" {
		return fmt.Errorf("%s needs a key: no command palette can answer a question", a.ID)
	}
	for _, key := range a.Keys {
		if err := checkKey(a, key); err != nil {
			return err
		}
	}
	return nil
}

func checkKey(a Action, key string) error {
	switch {
	case key == "" || strings.TrimSpace(key) == "" && key != " ":
		return fmt.Errorf("%s has an empty key; the blank is written as \" \"", a.ID)
	case key == "ctrl+c":
		return fmt.Errorf("%s cannot have ctrl+c: that always quits", a.ID)
	case a.ID == Yes && (key == "enter" || key == " "):
		return fmt.Errorf("%s cannot have %q: what is deleted or redeemed must not hang on a key that is pressed without thought", a.ID, key)
	case !isKey(key):
		return fmt.Errorf("%s cannot have %q: no key is called so; keys are called as in \"x\", \"f5\", \"ctrl+x\", \"alt+x\", \"pgdown\"", a.ID, key)
	case a.ID.Group() == "form" && Prints(key):
		return fmt.Errorf("%s cannot have %q: in a form that key is text", a.ID, key)
	case a.Typing && slices.Contains(edits, key):
		return fmt.Errorf("%s cannot have %q: text is edited with that key", a.ID, key)
	}
	return nil
}

// edits is the keys without which no text can be edited.
var edits = []string{"enter", "backspace", "delete", "left", "right", "home", "end"}

// isKey tells whether a terminal can send a key that bubbletea calls so.
func isKey(key string) bool {
	if rest, ok := strings.CutPrefix(key, "alt+"); ok && rest != "" {
		key = rest
	}
	if utf8.RuneCountInString(key) == 1 {
		return true
	}
	for kind := tea.KeyType(-128); kind < 128; kind++ {
		if kind != tea.KeyRunes && kind.String() == key {
			return true
		}
	}
	return false
}
