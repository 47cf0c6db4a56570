// Package perks has two screens: the list of perks and one perk, with what is changed of it.
package perks

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/record"
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
		Pages: (*client.Client).PerkPages,
	})}
}

func (s *List) Title() string { return "Perks" }

func (s *List) Update(msg tea.Msg) tea.Cmd {
	if changed, is := msg.(record.Changed); is && changed.Kind == kind.Name {
		for _, id := range changed.IDs {
			s.Unmark(id)
		}
	}
	return s.Perks.Update(msg)
}

// Offers is Perks.Offers, with what changes the perk under the cursor, or all that are marked.
func (s *List) Offers() []actions.Offer {
	offers := s.Perks.Offers()
	if s.Form() != nil {
		return offers
	}
	var marked []record.Marked[string]
	for _, p := range s.Marked() {
		marked = append(marked, record.Marked[string]{ID: p.ID, Title: display.Line(p.Title)})
	}
	edit := kind.EditMarked(s.shell, marked, false)
	if len(marked) == 0 {
		edit = s.onRow(actions.Edit)
	}
	own := []actions.Offer{edit, s.onRow(actions.Stock), {ID: actions.NewPerk, Do: kind.New(s.shell)}}
	// before another action with the key of the first
	at := slices.IndexFunc(offers, func(o actions.Offer) bool { return o.ID == actions.Expired })
	return slices.Insert(offers, at, own...)
}

// onRow offers what the screen of the perk under the cursor does.
func (s *List) onRow(then actions.ID) actions.Offer {
	return actions.Offer{ID: then, Scope: string(kind.Scope), Why: s.WhyNoRow(), Do: func() tea.Cmd {
		perk := s.Current()
		return s.shell.Open(screen.ToPerk{ID: perk.ID, Known: perk, Then: then})
	}}
}
