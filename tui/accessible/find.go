package accessible

import (
	"slices"
	"strings"

	"example.com/perks/tui/actions"
)

// drawn is the actions that only a drawing needs: ? is both the keys and the palette here, and the rest is the terminal's.
var drawn = []actions.ID{actions.Help, actions.Palette, actions.Mouse, actions.Theme, actions.Suspend}

// offers is what can be done, each once.
func (s *session) offers() []actions.Offer {
	var offers []actions.Offer
	for _, offer := range s.app.Offers() {
		known := func(o actions.Offer) bool { return o.ID == offer.ID }
		if !slices.Contains(drawn, offer.ID) && !slices.ContainsFunc(offers, known) {
			offers = append(offers, offer)
		}
	}
	return offers
}

// find returns the offers that a text means: the one with that key or id, or that name, or else all whose names begin so, or else
// those that have it in their names. Only one is a command; several are a question back.
func find(keys *actions.Registry, offers []actions.Offer, text string) []actions.Offer {
	key := text
	if text == "space" {
		key = " "
	}
	for _, offer := range offers {
		if slices.Contains(keys.Action(offer.ID).Keys, key) || text == string(offer.ID) {
			return []actions.Offer{offer}
		}
	}
	text = strings.ToLower(text)
	for _, fits := range []func(name string) bool{
		func(name string) bool { return name == text },
		func(name string) bool { return strings.HasPrefix(name, text) },
		func(name string) bool { return len(text) > 1 && strings.Contains(name, text) },
	} {
		var found []actions.Offer
		for _, offer := range offers {
			if slices.ContainsFunc(names(keys, offer.ID), fits) {
				found = append(found, offer)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// names is what an action is called: by its name, its hint in the footer, and the end of its id.
func names(keys *actions.Registry, id actions.ID) []string {
	action := keys.Action(id)
	_, tail, _ := strings.Cut(string(id), ".")
	all := []string{strings.ToLower(strings.TrimSuffix(action.Name, "…")), tail}
	if action.Hint != "" {
		all = append(all, action.Hint)
	}
	return all
}
