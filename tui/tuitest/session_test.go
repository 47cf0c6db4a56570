package tuitest

import (
	"strings"
	"testing"

	"example.com/perks/api/display"
)

// TestWholeSession does in one session what support staff and property managers do. Nothing of an earlier screen stays
// visible.
func TestWholeSession(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	w := d.window(t, 110, 32)
	w.enter("perksctl tui; echo exited\\ with $?")

	w.see("Log in", "Address of the API")
	w.write(d.address)
	w.press("Tab")
	w.write(d.id)
	w.press("Tab", "Tab")
	w.write(d.secret)
	w.see("> Secret", "****")
	w.press("Enter")
	w.see("find: words", "live", "Logged in.")

	w.press("/")
	w.see("category:  near:")
	w.write("two coffees")
	w.press("Enter")
	w.see("/  two coffees", "Corner Roast")
	w.gone("A family ticket")
	w.press("r")
	w.see("> User")
	w.write("alice")
	w.press("C-s")
	w.see("Redeem for alice?")
	w.press("Enter") // does nothing: only y redeems
	w.press("y")
	w.see("Redeemed. Status approved")
	if made := d.must("perksctl", "user", "perks", "alice", "--type", "redeemed"); !strings.Contains(made,
		"coffee-2for1") {
		t.Errorf("alice redeemed %s, without coffee-2for1", made)
	}
	w.press("Escape")
	w.see("/  two coffees")

	w.sizes([2]int{60, 20}, [2]int{30, 8}, [2]int{140, 40}, [2]int{110, 32})

	w.press("3")
	w.see("Properties", "price:")
	w.write("1")
	w.press("Enter")
	w.see("Property 1: Sunny loft by the canal")
	w.press("e")
	w.see("Edit property 1", "> Title")
	w.press("C-u")
	w.write("Loft with a view")
	w.press("C-s")
	w.see("- Sunny loft by the canal", "+ Loft with a view")
	w.press("C-s")
	w.see("Property 1: Loft with a view", "Saved property 1")
	if title := d.must("perksctl", "property", "get", "1", "--jq", ".title", "-o", "json"); !strings.Contains(title,
		"Loft with a view") {
		t.Errorf("the title is %s", title)
	}

	w.press("3")
	w.see("Properties", "Loft with a view")
	w.press("/")
	w.see("bedrooms:")
	w.press("C-u")
	w.write("2")
	w.press("Enter")
	w.see("Property 2:", "ctrl+x delete")
	w.press("C-x")
	w.see("Delete property 2?", "Type 2 or delete:")
	w.press("Enter") // does nothing: the id or "delete" has to be typed
	w.write("2")
	w.press("Enter")
	w.see("eleted property 2")
	if _, err := d.Run(t.Context(), "perksctl", "property", "get", "2"); err == nil {
		t.Error("property 2 is still there")
	}

	w.press("q")
	w.see("exited with 0", prompt)
}

// sizes resizes the window to each size; the last must be the current one. At every size the header must be the first
// line and the keys the last. Back at the current size, the screen must be unchanged.
func (w *window) sizes(sizes ...[2]int) {
	w.t.Helper()
	before := w.see("? keys")
	for _, size := range sizes {
		w.do(w.terminal.Resize(w.ctx, size[0], size[1]))
		_, err := w.terminal.Await(w.ctx, "the header in the first line and the keys in the last",
			func(screen string) bool {
				lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
				for _, line := range lines {
					if display.Width(line) > size[0] {
						return false
					}
				}
				return len(lines) == size[1] && strings.HasPrefix(lines[0], "▎") &&
					strings.Contains(lines[0], "Perks") &&
					strings.HasSuffix(lines[len(lines)-1], "? keys") &&
					strings.Count(screen, "● live") == 1 && strings.Count(screen, "? keys") == 1
			})
		if err != nil {
			w.t.Fatalf("at %dx%d %v", size[0], size[1], err)
		}
	}
	if _, err := w.terminal.Await(w.ctx, "the same screen as before",
		func(screen string) bool { return screen == before }); err != nil {
		w.t.Errorf("%v\n\nwant\n%s", err, before)
	}
}
