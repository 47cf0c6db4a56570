package perks_test

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui"
	"example.com/perks/tui/tuitest"
)

// TestSavedViewsAreTabs saves two queries, starts again, goes through them by keys and by a click, and removes one.
func TestSavedViewsAreTabs(t *testing.T) {
	t.Parallel()
	server := serverWithPerks(t)
	d := tuitest.Start(t, server)
	d.Play(`
		                 => find: words
		w                => Filter first: a view is a filter.
		>                => No view is saved.
		/ ctrl+u "coffee\n" w => Done: View saved. | All [coffee]
		/ ctrl+u "city:nowhere\n" => All coffee [city:nowhere]
		w settle`)
	again := tuitest.Start(t, server, func(o *tui.Options) { o.Memory = d.Memory })
	again.Play(`
		                 => [All] coffee city:nowhere | find: words
		<                => All coffee [city:nowhere] | No perk matches city:nowhere.
		<                => All [coffee] city:nowhere | / coffee
		> >              => [All] coffee city:nowhere`)
	again.Send(tea.MouseMsg{X: 9, Y: 1, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	again.Play(`
		                 => All [coffee] city:nowhere
		w                => Done: View removed. | All city:nowhere [coffee]
		F                => [All] city:nowhere
		size: 80x12      => ≠ [All]`)
}
