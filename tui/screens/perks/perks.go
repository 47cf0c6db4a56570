// Package perks has two screens: the list of perks and one perk.
package perks

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
)

// List is the screen of the list.
type List struct {
	*list.Perks
	shell *screen.Shell
}

func NewList(shell *screen.Shell) *List {
	return &List{shell: shell, Perks: list.NewPerks(shell, list.PerksOf{
		Empty: "An operator imports them: perksd import perks",
		Fetch: func(ctx context.Context, c *client.Client, options client.PerkListOptions) (api.Page[api.Perk], error) {
			return c.Perks(ctx, options)
		},
	})}
}

func (s *List) Title() string { return "Perks" }

func (s *List) Update(msg tea.Msg) tea.Cmd {
	if redeemed, ok := msg.(screen.Redeemed); ok {
		s.Unmark(redeemed.PerkID)
		return nil
	}
	return s.Perks.Update(msg)
}

func (s *List) Offers() []actions.Offer {
	why := s.WhyNoRow()
	if current := s.Current(); current != nil {
		why = screen.NotRedeemableReason(current, s.shell.Now())
	}
	return s.Perks.Offers(screen.Marks(s.Marked()).Offer(why), actions.EnabledUnless(actions.Expired, ""))
}

func (s *List) Do(id actions.ID) tea.Cmd {
	switch id {
	case actions.Open:
		return s.open()
	case actions.Submit:
		if s.TypedID() != "" {
			return tea.Batch(s.Perks.Do(id), s.open())
		}
	case actions.Redeem:
		perk := s.Current()
		if perk != nil && screen.NotRedeemableReason(perk, s.shell.Now()) != "" {
			perk = nil
		}
		return screen.Marks(s.Marked()).Redeem(s.shell, s.Shown(), perk, "")
	}
	return s.Perks.Do(id)
}

func (s *List) open() tea.Cmd {
	if id := s.TypedID(); id != "" {
		return s.shell.Open(screen.ToPerk{ID: id})
	}
	if perk := s.Current(); perk != nil {
		return s.shell.Open(screen.ToPerk{ID: perk.ID, Known: perk})
	}
	return nil
}
