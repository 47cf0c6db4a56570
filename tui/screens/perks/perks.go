// Package perks has two screens: the list of perks and one perk.
package perks

import (
	"context"

	"example.com/perks/api"
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
		Fetch: func(ctx context.Context, c *client.Client, options client.PerkListOptions) (api.Page[api.Perk], error) {
			return c.Perks(ctx, options)
		},
	})}
}

func (s *List) Title() string { return "Perks" }

func (s *List) Offers() []actions.Offer { return s.Perks.Offers() }
