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
	w.play(`
		run: perksctl tui => Log in | Address of the API
		"ADDRESS" tab "ID" tab tab "SECRET" => > Secret | ****
		enter => find: words | live | Logged in.`, "ADDRESS", d.address, "ID", d.id, "SECRET", d.secret)

	w.play(`
		/ => category:  near:
		"two coffees" enter => /  two coffees | Corner Roast | ≠ A family ticket
		r => > User
		"alice" ctrl+s => Redeem for alice?
		enter y => Redeemed. Status approved`) // only y redeems
	if made := d.must("perksctl", "user", "perks", "alice", "--type", "redeemed"); !strings.Contains(made,
		"coffee-2for1") {
		t.Errorf("alice redeemed %s, without coffee-2for1", made)
	}
	w.play(`esc => /  two coffees | ≠ Results for alice`)

	w.sizes([2]int{60, 20}, [2]int{30, 8}, [2]int{140, 40}, [2]int{110, 32})

	w.play(`
		3 => Properties | price:
		"1" enter => Property 1: Sunny loft by the canal
		e => Edit property 1 | > Title
		ctrl+u "Loft with a view" ctrl+s => - Sunny loft by the canal | + Loft with a view
		ctrl+s => Property 1: Loft with a view | Saved property 1`)
	if title := d.must("perksctl", "property", "get", "1", "--jq", ".title", "-o", "json"); !strings.Contains(title,
		"Loft with a view") {
		t.Errorf("the title is %s", title)
	}

	w.play(`
		3 => Properties | Loft with a view
		/ => bedrooms:
		ctrl+u "2" enter => Property 2: | ctrl+x delete
		ctrl+x => Delete property 2? | Type 2 or delete:
		enter "2" enter => eleted property 2`) // the id or "delete" has to be typed
	if _, err := d.Run(t.Context(), "perksctl", "property", "get", "2"); err == nil {
		t.Error("property 2 is still there")
	}

	w.play(`q => exited with 0 | ready>`)
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
