package screen

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/plain"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/components"
)

// Marks is the perks that are to be redeemed together, in the order in which they were marked.
type Marks []api.Perk

// Redeemed tells every screen that a perk was redeemed for a user: its mark has served.
type Redeemed struct{ PerkID, UserID string }

// Has tells whether a perk is marked.
func (m Marks) Has(id string) bool {
	return slices.ContainsFunc(m, func(p api.Perk) bool { return p.ID == id })
}

// Toggled marks a perk, or clears its mark.
func (m Marks) Toggled(perk api.Perk) Marks {
	if m.Has(perk.ID) {
		return m.Without(perk.ID)
	}
	return append(slices.Clone(m), perk)
}

// Without clears the mark of a perk.
func (m Marks) Without(id string) Marks {
	return slices.DeleteFunc(slices.Clone(m), func(p api.Perk) bool { return p.ID == id })
}

// hidden is how many are not among the rows of the page.
func (m Marks) hidden(page []api.Perk) int {
	if len(m) == 0 {
		return 0
	}
	shown := map[string]bool{}
	for i := range page {
		shown[page[i].ID] = true
	}
	hidden := 0
	for i := range m {
		if !shown[m[i].ID] {
			hidden++
		}
	}
	return hidden
}

// Say counts the marks, and those that the page does not show: "3 marked, 1 not on this page"; "" if there are none.
func (m Marks) Say(page []api.Perk) string {
	hidden := m.hidden(page)
	switch {
	case len(m) == 0:
		return ""
	case hidden == 0:
		return components.Count(int64(len(m))) + " marked"
	case hidden == len(m):
		return components.Count(int64(len(m))) + " marked, not on this page"
	}
	return fmt.Sprintf("%s marked, %s not on this page", components.Count(int64(len(m))), components.Count(int64(hidden)))
}

// Offer offers to redeem what is marked, and says how many that are; without marks the perk under the cursor, unless that cannot
// be.
func (m Marks) Offer(why string) actions.Offer {
	if len(m) == 0 {
		return actions.If(actions.Redeem, why)
	}
	return actions.If(actions.Redeem, "").As(fmt.Sprintf("redeem %d marked", len(m)))
}

// Redeem opens the redeeming of what is marked, and of the perk under the cursor if nothing is. Marks that the page does not show
// are easily forgotten: it names them, and asks what is meant.
func (m Marks) Redeem(shell *Shell, page []api.Perk, under *api.Perk, userID string) tea.Cmd {
	open := func(perks ...api.Perk) tea.Cmd { return shell.Open(ToRedeem{Perks: perks, UserID: userID}) }
	switch {
	case len(m) == 0 && under == nil:
		return nil
	case len(m) == 0:
		return open(*under)
	case m.hidden(page) == 0:
		return open(slices.Clone(m)...)
	}
	options := []string{fmt.Sprintf("Redeem %d marked: %s", len(m), m.names())}
	then := []func() tea.Cmd{func() tea.Cmd { return open(slices.Clone(m)...) }}
	if under != nil {
		options = append(options, "Redeem only the one under the cursor: "+plain.Line(under.Title))
		then = append(then, func() tea.Cmd { return open(*under) })
	}
	return shell.Post(Pick{
		Title: m.Say(page), Options: options,
		Then: func(index int) tea.Cmd { return then[index]() },
	})
}

func (m Marks) names() string {
	names := ""
	for i, perk := range m {
		if i > 0 {
			names += ", "
		}
		names += plain.Line(perk.Title)
	}
	return names
}
