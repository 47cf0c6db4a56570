// Package actions is everything that a key can do in the terminal UI: the one list that feeds the keys themselves, the
// help, the footer, the command palette and the configuration of keys.
//
// It knows what actions are called, not what they do: that is up to the screens.
package actions

import "strings"

// ID names an action, for ever: people write it into their configuration. The part before the dot is the group that it
// belongs to.
type ID string

// Group returns the part of an id before the dot.
func (id ID) Group() string {
	group, _, _ := strings.Cut(string(id), ".")
	return group
}

// Action is one thing that can be done.
type Action struct {
	ID   ID
	Keys []string // as bubbletea names them: "j", "down", "ctrl+k"
	Name string   // what the command palette and the help call it: "Redeem", "Next page"
	Hint string   // one word or two for the footer; "" keeps it out of there

	// Typing says that the action works while text is being typed, with those of its keys that print nothing.
	Typing bool
}

// Offer is an action that a screen knows, and why it cannot be done just now; "" when it can.
type Offer struct {
	ID   ID
	Why  string
	Hint string // what the footer calls it here; "" for what it does everywhere
}

// Enabled tells whether the action can be done.
func (o Offer) Enabled() bool { return o.Why == "" }

// Able offers actions that can be done.
func Able(ids ...ID) []Offer {
	offers := make([]Offer, len(ids))
	for i, id := range ids {
		offers[i].ID = id
	}
	return offers
}

// If offers an action that can be done only where there is no reason against it.
func If(id ID, why string) Offer { return Offer{ID: id, Why: why} }

// As says in a word or two what the action does here.
func (o Offer) As(hint string) Offer {
	o.Hint = hint
	return o
}

// Prints tells whether a key writes a character where text is typed.
func Prints(key string) bool {
	if key == "space" {
		return true
	}
	runes := []rune(key)
	return len(runes) == 1
}
