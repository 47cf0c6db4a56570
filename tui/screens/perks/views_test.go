package perks_test

import (
	"fmt"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// TestSavedViewsAreTabs saves two queries, starts again, goes through them by keys and by a click, and removes one.
func TestSavedViewsAreTabs(t *testing.T) {
	t.Parallel()
	server := serverWithPerks(t)
	d := tuitest.Start(t, server)
	d.See("find: words")
	d.Press("w")
	d.See("Filter first: a view is a filter.")
	d.Press(">")
	d.See("No view is saved.")
	find := func(query string) {
		d.Press("/")
		d.Press("ctrl+u")
		d.Type(query + "\n")
	}
	find("coffee")
	d.Press("w")
	d.See("Done: View saved.", "All [coffee]")
	find("city:nowhere")
	d.See("All coffee [city:nowhere]")
	d.Press("w")
	d.Settle()

	again := tuitest.Start(t, server, func(o *tui.Options) { o.Memory = d.Memory })
	again.See("[All] coffee city:nowhere", "find: words")
	again.Press("<")
	again.See("All coffee [city:nowhere]", "No perk matches city:nowhere.")
	again.Press("<")
	again.See("All [coffee] city:nowhere", "/ coffee")
	again.Press(">", ">")
	again.See("[All] coffee city:nowhere")
	again.Send(tea.MouseMsg{X: 9, Y: 1, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	again.See("All [coffee] city:nowhere")
	again.Press("w")
	again.See("Done: View removed.", "All city:nowhere [coffee]")
	again.Press("F")
	again.See("[All] city:nowhere")
	again.Resize(80, 12)
	again.Gone("[All]")
}

func TestAtMostNineViewsAreSaved(t *testing.T) {
	t.Parallel()
	d := tuitest.Start(t, serverWithPerks(t))
	for n := range 9 {
		d.See("find: words")
		d.Press("/")
		d.Type(fmt.Sprintf("word%d\n", n))
		d.Press("w")
		d.See(fmt.Sprintf("[word%d]", n))
		d.Press("F")
	}
	d.See("[All] word0 word1")
	d.Settle()
	d.Press("/")
	d.Type("word9\n")
	d.Press("w")
	d.See("Save or remove this view: not possible now. At most 9 views can be saved.")
	d.Open(screen.ToUsers{})
	d.See("Users")
	d.Gone("word0")
}
