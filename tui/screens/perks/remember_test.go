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
	d.See("newest ↓", "City")
	d.Choose("s", "Title", "Sort by")
	d.See("title ↑")
	d.Press("C")
	d.See("Show which columns?", "[x] City", "[x] Id")
	d.Type("City\n")
	d.See("[ ] City", "[x] Id")
	d.Press("esc")
	d.Gone("City")
	d.Press("down", "down")
	d.See("row 3 of")

	d.Settle()
	again := tuitest.Start(t, server, func(o *tui.Options) { o.Memory = d.Memory })
	again.See("title ↑", "Title")
	if again.Shows("City") {
		t.Errorf("the column is back:\n%s", again.Screen())
	}
	again.Press("/")
	again.Type("coffee\n")
	again.Gone("title ↑")
	again.Press("F")
	again.See("title ↑")
	again.Press("C")
	again.Type("City\n")
	again.See("[x] City")
	again.Press("esc")
	again.See("City")
}
