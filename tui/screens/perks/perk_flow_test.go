package perks_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// TestPerkIsShownCopiedAndOpened is a session with a real service.
func TestPerkIsShownCopiedAndOpened(t *testing.T) {
	server := servertest.Start(t)
	record := store.PerkRecord{Perk: api.Perk{
		ID: "coffee", Title: "Coffee for two", Description: "Two cups of filter coffee.", City: "Warszawa",
		Category: pointerTo("Food"), MerchantName: pointerTo("Café Anna"), DiscountText: pointerTo("-20 %"),
		Terms: pointerTo("One for each person."), ImageURL: pointerTo("https://images.test/coffee.png"),
		ValidTo: pointerTo(time.Now().Add(301 * time.Hour)),
	}}
	server.ImportPerks(record)
	d := tuitest.Start(t, server)
	d.Settle()

	d.Open(screen.ToPerk{ID: "coffee", Known: &api.Perk{ID: "coffee", Title: "Coffee as the list has it",
		City: "Warszawa"}})
	d.See("Coffee as the list has it", "As in the list, loading")
	d.See("Coffee for two", "-20 %", "12 days left", "Merchant Café Anna", "City Warszawa", "Category Food",
		"Two cups of filter coffee.",
		"One for each person.", "Valid from any time", "Loaded just now")

	d.Resize(30, 8)
	seen := d.Screen()
	for range 30 {
		d.Press("j")
		seen += d.Screen()
	}
	for _, text := range []string{"Merchant", "Café Anna", "Terms", "One for each person.", "Updated",
		"https://images.test"} {
		if !strings.Contains(seen, text) {
			t.Errorf("%q cannot be scrolled to", text)
		}
	}
	d.Play(`
		g => Coffee for two
		size: 80x24
		y => Copied the id coffee.
		copied: coffee
		o => Opened the image at images.test in a browser.
		opened: https://images.test/coffee.png`)
}

func TestTheNextPerkIsAKeyAway(t *testing.T) {
	server := servertest.Start(t)
	for _, id := range []string{"tea", "coffee"} { // the newest is the first
		server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: id, Title: "A " + id, Description: id, City: "Rome"}})
	}
	d := tuitest.Start(t, server)
	d.Settle()
	d.Resize(160, 40)
	d.Play(`
		enter settle => Perk A coffee | ≠ row 1 of 2
		n settle     => Perk A tea | n next
		n            => This is the last row of the list.
		p settle     => Perk A coffee
		r            => Redeem A coffee
		esc => ≠ Redeem A coffee
		esc          => row 1 of 2`)
}

func TestPerkThatIsDeletedWhileOpen(t *testing.T) {
	server := servertest.Start(t)
	d := tuitest.Start(t, server)
	d.Settle()
	known := coffee()
	d.Open(screen.ToPerk{ID: known.ID, Known: &known})
	d.Play(`
		  => There is no perk coffee-for-two any more. Below is what it was. | Coffee for two
		r => Redeem: not possible now. There is no perk coffee-for-two any more.
		screens: 2
		wait: 1s
		y => Copied the id coffee-for-two.`)
	d.Open(screen.ToPerk{ID: "no-such"})
	d.See("There is no perk no-such.", "esc goes back.")
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "no-such", Title: "It exists now"}})
	d.Play(`R => It exists now`)
}

func TestImpossibleActionsSayWhy(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*api.Perk)
		key    string
		want   string
	}{
		"expired":          {func(p *api.Perk) { p.ValidTo = days(-2) }, "r", "It expired 2 days ago."},
		"not started":      {func(p *api.Perk) { p.ValidFrom, p.ValidTo = days(4), nil }, "r", "It starts in 4 days."},
		"no image to open": {func(p *api.Perk) { p.ImageURL = nil }, "o", "This perk has no image."},
		"a file to open": {func(p *api.Perk) { p.ImageURL = pointerTo("file:///etc/passwd") }, "o",
			"The address of the image must be an absolute http or https URL."},
	} {
		t.Run(name, func(t *testing.T) {
			d := shown(changed(coffee(), test.change))(t)
			d.Press(test.key)
			d.See(test.want)
			if d.Depth() != 1 || d.Desktop.Opened() != "" {
				t.Errorf("the action ran:\n%s", d.Screen())
			}
		})
	}
}

func TestForeignReplySaysNothingAboutThePerk(t *testing.T) {
	proxy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such host here", http.StatusNotFound)
	})
	d := tuitest.StartWithHandler(t, proxy, tuitest.Route(screen.ToPerk{ID: "coffee-for-two"}))
	d.See("Perk coffee-for-two was not loaded.", "The server answered 404 Not Found: no such host here.",
		"Check its address. R retries.")
}

// TestWideWindowShowsTextsBesideFacts shows a perk in windows that are wider and wider.
func TestWideWindowShowsTextsBesideFacts(t *testing.T) {
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "coffee", Title: "Coffee", City: "Bath",
		Description: "Two cups.", Terms: pointerTo("Not on Sundays.")}})
	d := tuitest.Start(t, server)
	d.Settle()
	d.Open(screen.ToPerk{ID: "coffee"})
	for _, test := range []struct {
		width int
		row   string
	}{{80, "About Two cups."}, {110, "About Merchant none"}, {120, "About Merchant none Valid"},
		{200, "About Merchant none Valid"}} {
		d.Resize(test.width, 40)
		d.See("Two cups.", "Terms", "Not on Sundays.", "Id coffee", "City Bath", "Hold for no limit")
		if !slices.ContainsFunc(strings.Split(d.Screen(), "\n"), func(line string) bool {
			return strings.HasPrefix(strings.Join(strings.Fields(strings.Trim(line, "│ ")), " "), test.row)
		}) {
			t.Errorf("no line begins as %q:\n%s", test.row, d.Screen())
		}
	}
}
