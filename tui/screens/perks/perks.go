// Package perks has two screens: the list of perks and one perk.
package perks

import (
	"example.com/perks/api/client"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
)

// List is the screen of the list.
type List struct{ *list.Perks }

func NewList(shell *screen.Shell) *List {
	return &List{list.NewPerks(shell, list.PerksOf{
		Empty: "An operator imports them: perksd import perks",
		Pages: (*client.Client).PerkPages,
	})}
}

func (s *List) Title() string { return "Perks" }

func (s *List) Offers() []actions.Offer { return s.Perks.Offers() }
