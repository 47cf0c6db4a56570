package perks_test

import (
	"testing"

	"example.com/perks/tui"
	"example.com/perks/tui/tuitest"
)

// TestOrderAndColumnsAreAsTheyWereLeft sorts and hides a column, and starts again.
func TestOrderAndColumnsAreAsTheyWereLeft(t *testing.T) {
	t.Parallel()
	server := serverWithPerks(t)
	d := tuitest.Start(t, server)
	d.Play(`
		                 => newest ↓ | City
		s                => Sort by
		"Title\n"        => title ↑
		C                => Show which columns? | [x] City | [x] Id | [-] Distance (empty)
		"City\n"         => [ ] City | [x] Id
		esc              => ≠ City
		size: 44x24
		C                => [ ] City | [-] Id (no space) | [-] Distance (empty)
		esc              => ≠ Show which columns?
		size: 80x24
		down down        => row 3 of
		settle`)
	again := tuitest.Start(t, server, func(o *tui.Options) { o.Memory = d.Memory })
	again.Play(`
		                 => title ↑ | Title | row 1 of 120 | ≠ City
		/ "coffee\n"     => ≠ title ↑
		F                => title ↑
		C "City\n"       => [x] City
		esc              => City`)
}
