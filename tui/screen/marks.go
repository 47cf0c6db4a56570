package screen

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// Marks is the perks that are to be redeemed together, in the order in which they were marked.
type Marks []api.Perk

// Redeemed tells every screen that a perk was redeemed for a user, so that its mark is cleared.
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
	shown := make(map[string]bool, len(page))
	for i := range page {
		shown[page[i].ID] = true
	}
	return len(slices.DeleteFunc(slices.Clone(m), func(p api.Perk) bool { return shown[p.ID] }))
}

// Say counts the marks, and those that the page does not show: "3 marked, 1 not on this page"; "" if there are none.
func (m Marks) Say(page []api.Perk) string {
	said := widget.Count(int64(len(m))) + " marked"
	switch hidden := m.hidden(page); {
	case len(m) == 0:
		return ""
	case hidden == 0:
		return said
	case hidden == len(m):
		return said + ", not on this page"
	default:
		return said + ", " + widget.Count(int64(hidden)) + " not on this page"
	}
}

// Offer offers to redeem what is marked, and says how many. Without marks it offers the perk under the cursor; why says why that
// cannot be redeemed, "" if it can.
func (m Marks) Offer(why string) actions.Offer {
	if len(m) == 0 {
		return actions.If(actions.Redeem, why)
	}
	return actions.If(actions.Redeem, "").As(fmt.Sprintf("redeem %d marked", len(m)))
}

// Redeem opens the redeeming of what is marked, and of the perk under the cursor if nothing is. People forget marks that the page
// does not show, so it names those and asks what is meant.
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
		options = append(options, "Redeem only the one under the cursor: "+display.Line(under.Title))
		then = append(then, func() tea.Cmd { return open(*under) })
	}
	return shell.Post(Pick{
		Title: m.Say(page), Options: options,
		Then: func(index int) tea.Cmd { return then[index]() },
	})
}

func (m Marks) names() string {
	names := make([]string, len(m))
	for i := range m {
		names[i] = display.Line(m[i].Title)
	}
	return strings.Join(names, ", ")
}
