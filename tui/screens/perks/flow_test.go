package perks_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// serverWithPerks starts a server with 120 valid perks: every third is for tea and in Wien, the others are for coffee
// and in Berlin. The first one is the newest. The first two have a position. Another perk has expired.
func serverWithPerks(t *testing.T) *servertest.Server {
	t.Helper()
	server := servertest.Start(t)
	records := make([]store.PerkRecord, 120)
	for i := range records {
		p := &records[i]
		p.ID, p.Title, p.Category = fmt.Sprintf("perk-%03d", i+1), fmt.Sprintf("Coffee %03d", i+1), text("Drinks")
		p.CreatedAt = tuitest.Noon.Add(-time.Duration(i) * time.Hour) // the first is the newest
		if i%3 == 2 {
			p.Title, p.City, p.Category = fmt.Sprintf("Tea %03d", i+1), "Wien", text("Hot things")
		}
	}
	for i, lat := range []float64{52.52, 52.6} {
		lng := 13.4
		records[i].Lat, records[i].Lng = &lat, &lng
	}
	lastYear := tuitest.Noon.AddDate(-2, 0, 0)
	records = append(records, store.PerkRecord{Perk: api.Perk{ID: "expired", Title: "Summer sale", ValidTo: &lastYear}})
	server.ImportPerks(records...)
	return server
}

func start(t *testing.T) *tuitest.Driver {
	t.Helper()
	d := tuitest.Start(t, serverWithPerks(t))
	d.See("row 1 of 120")
	return d
}

// flows are sessions over 120 perks.
var flows = map[string]string{
	"a place is a position, a city or a perk": `
		/ "near:wien"    => ! No perk in wien has a position. Use numbers: 52.52,13.405.
		enter            => No perk in wien has a position.
		ctrl+u "near:"   => tab Berlin Wien
		"b"              => row 1 of 2 | Coffee 001 4.4 km | Coffee 002 4.4 km | nearest ↑
		enter            => / near:Berlin | row 1 of 2
		/ ctrl+u "near:berlin\n" => / near:Berlin | row 1 of 2
		/ ctrl+u "near:perk-002 <5km\n" => / near:perk-002 <5km | row 1 of 1 | Coffee 002 0 m
		/ ctrl+u "near:52.52,13.4\n" => / near:52.52,13.4 | Coffee 001 0 m | Coffee 002 8.9 km
		w                => near:52.52,13.4
		esc
		F                => row 1 of 120`,

	"the list follows the query": `
		/ "tea"          => row 1 of 40 | Tea 003
		" city:berlin"   => No perk matches tea city:berlin. esc cancels it.
		enter            => / tea city:berlin
		F                => / find: words city: | row 1 of 120
		/ "near:52.52,13.4" => row 1 of 2 | nearest ↑ | Distance ▲ | Coffee 001 0 m | Coffee 002 8.9 km
		" <1km"          => Perks 1 · | row 1 of 1
		enter            => / near:52.52,13.4 <1km
		/ backspace backspace backspace backspace backspace => row 1 of 2
		esc              => / near:52.52,13.4 <1km | Perks 1 · | row 1 of 1
		F                => row 1 of 120`,

	// the name of a filter and the city of a row; a city is found by its beginning
	"names and values are completed": `
		/ "ci"           => city:
		tab "w"          => Wien | row 1 of 40
		tab "tea"        => / city:Wien tea | row 1 of 40
		esc / "category:h" => "Hot things" | row 1 of 40
		enter            => / category:"Hot things"`,

	"sorting": `
		                 => newest ↓
		s                => Sort by | Title
		"title\n"        => title ↑ | > Coffee 001
		S                => title ↓ | > Tea 120 | Title ▼
		/ "near:52.6,13.4\n" => title ↓ | > Coffee 002
		s "distance\n"   => nearest ↑ | > Coffee 002
		F                => Perks 120 · title ↓ | > Tea 120`,

	"categories and expired perks": `
		c                => All categories | Hot things
		"hot\n"          => / category:"Hot things" | row 1 of 40
		c                => All categories
		"all\n"          => row 1 of 120
		i                => / +expired | row 1 of 121 | expired | Summer sale
		/ "summer\n"     => Perks 1 · | row 1 of 1
		r                => Redeem: not possible now. It expired
		wait: 1s
		i                => No perk matches summer.
		F                => row 1 of 120`,

	"the list goes on to its end, and back": `
		settle pgdown pgdown pgdown => row 52 of 120 | > Coffee 052
		settle pgdown pgdown pgdown => row 103 of 120 | > Coffee 103
		pgdown j         => row 120 of 120 | > Tea 120
		pgup             => row 103 of 120
		g                => row 1 of 120 | > Coffee 001
		settle G         => row 120 of 120 | > Tea 120
		k                => row 119 of 120 | > Coffee 119`,

	"marks that are not visible are named": `
		space            => 1 marked | r redeem 1 marked
		/ "tea\n"        => row 1 of 40 - 1 marked, not among these rows | > Tea 003 | r redeem 1 marked
		r                => Redeem 1 marked: Coffee 001 | Redeem only the one under the cursor: Tea 003
		down enter       => Redeem Tea 003 | > User
		esc              => 1 marked, not among these rows
		r enter          => Redeem Coffee 001 | > User`,

	"marks are redeemed": `
		y                => Done: Copied the id perk-001.
		copied: perk-001
		r                => Redeem Coffee 001
		esc
		wait: 1m
		space            => 1 marked | row 2 of 120
		space space k space => 2 marked | r redeem 2 marked
		X                => ≠ marked
		k space k k space r => Redeem 2 perks | Tea 003 perk-003, Wien Coffee 002`,

	"at most nine views are saved": views(9) + `
		                 => [All] word0 word1
		settle / "word9\n" w => Save or remove this view: not possible now. At most 9 views can be saved.
		2                => Users | ≠ word0`,
}

// views saves views of their own words.
func views(n int) (flow string) {
	for n := range n {
		flow += fmt.Sprintf("=> find: words\n/ \"word%d\\n\" w => [word%d]\nF\n", n, n)
	}
	return flow
}

// fakeFlows are sessions over a thousand numbered perks.
var fakeFlows = map[string]string{
	"mistakes are explained and not sent": `
		/
		paste: near:52.5    => near: must be latitude,longitude, such as 52.52,13.405
		ctrl+u
		paste: near:91,13   => ! near: latitude must be between -90 and 90
		ctrl+u
		paste: near:52,-181 => ! near: longitude must be between -180 and 180
		ctrl+u
		paste: radius:0     => ! radius: must be above 0 and at most 500
		ctrl+u
		paste: <500.1km     => ! radius: must be above 0 and at most 500
		ctrl+u
		paste: radius:10    => ! radius: needs Near: a position to measure from
		ctrl+u
		paste: <10km
		enter            => needs Near
		got:
		esc              => ≠ <10km
		/
		paste: $long
		enter            => ! words: must be at most 200 characters long
		got:`,

	"a refused query is shown": `
		service: refuses
		/ "nothing!"     => ! The service refuses this: | q must be at most 3 characters long | row 1 of 1,000
		service: works
		backspace        => ≠ refuses | No perk matches nothing
		service: refuses
		x enter          => The service refuses this: | F clears it.
		service: works
		F                => row 1 of 1,000`,

	"keys while loading skip nothing": `
		service: holds
		G g j j pgup pgdown
		service: works   => row 1,000 of 1,000
		settle           => row 1,000 of 1,000`,

	"the next rows are loaded ahead": `
		service: holds
		pgdown pgdown pgdown
		now: row 52 of 1,000
		service: works`,

	"old rows are loaded again when the cursor comes to them": `
		wait: 2m
		service: holds
		pgdown pgdown pgdown
		now: loading ... - row 52 of 1,000
		service: works   => row 52 of 1,000 | ≠ loading`,

	"a shorter list goes to its last row": `
		service: has 120
		G                => row 120 of 120
		settle
		service: has 0
		R                => There are no perks yet.`,

	"the cursor stays on its perk": `
		j j
		service: has a new first perk
		R                => row 4 of 1,000 | > Perk number 3`,

	"at most a hundred are marked": strings.Repeat("settle space\n", 100) + `
		                 => 100 marked | row 101 of 1,000 | ≠ not among
		space            => Mark: not possible now. At most 100 can be marked.
		wait: 1m
		k                => row 100 of 1,000
		space            => 99 marked`,

	"what is loaded is marked at once, and said": `
		settle A         => 100 of 1,000 are marked: at most 100, and only rows that are loaded.
		X settle G settle A => 100 marked | * Perk number 990`,

	"a failure keeps the rows and the filter": `
		service: fails
		/ c enter        => The server failed. Last loaded just now. R retries. | / c | > Perk number 1
		service: works
		R                => ≠ The server failed | / c | row 1 of 1,000`,

	"the mouse chooses and scrolls": `
		click: Perk number 5 => row 5 of 1,000 | > Perk number 5
		wheel: down      => row 8 of 1,000
		wheel: up        => row 5 of 1,000
		size: 120x24
		click: Two coffees => row 5 of 1,000
		click: ends in 6 days
		screens: 2`,

	"the preview needs a wide window": `
		v                => Preview on/off: not possible now. The window is too narrow: 120 columns needed.
		size: 120x40     => About | Two coffees for the | ─ Perk number 1 ─
		j                => ─ Perk number 2 ─
		v                => ≠ About`,
}

func TestFlows(t *testing.T) {
	for name, flow := range flows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start(t).Play(flow)
		})
	}
	for name, flow := range fakeFlows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := numbered(1000).start(t)
			d.Play("=> row 1 of 1,000\nsettle\n"+flow, "$long", strings.Repeat("x", 201))
		})
	}
}

// TestPerkIsOpenedByItsID types ids into the filter and the palette, also one that no perk has.
func TestPerkIsOpenedByItsID(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "demo-009729", Title: "Coffee for two"}},
		store.PerkRecord{Perk: api.Perk{ID: "sauna", Title: "An hour of heat"}})
	tuitest.Start(t, server).Play(`
		                 => row 1 of 2
		/ "demo-009729"  => No perk matches demo-009729. enter opens the perk with the id "demo-009729".
		                 => enter open perk
		enter            => Perk Coffee for two
		esc              => / demo-009729 | enter opens the perk with the id "demo-009729". F clears it.
		enter            => Perk Coffee for two
		esc / "city:Rome" => No perk matches demo-009729 city:Rome. esc cancels it. | enter apply
		enter l          => Open: not possible now. There is no perk here.
		F                => row 1 of 2
		ctrl+k "sauna"   => > Open perk sauna
		enter            => Perk An hour of heat
		: "no-such"      => > Open perk no-such
		enter            => There is no perk no-such. | R retries.
		: "quit"         => > Quit (q) |  Open perk quit
		" now"           => Nothing here matches that.`)
}

// TestTitlesWithTheWordsComeFirst finds one old perk by its title among many newer ones that have the word in their
// description.
func TestTitlesWithTheWordsComeFirst(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t)
	records := []store.PerkRecord{{Perk: api.Perk{ID: "ticket", Title: "The last ticket for tonight",
		Description: "One seat.", CreatedAt: tuitest.Noon.AddDate(-1, 0, 0)}}}
	for i := range 120 {
		records = append(records, store.PerkRecord{Perk: api.Perk{ID: fmt.Sprintf("p-%03d", i),
			Title: fmt.Sprintf("Perk %03d", i), Description: "Until the last day.",
			CreatedAt: tuitest.Noon.Add(time.Duration(-i) * time.Hour)}})
	}
	server.ImportPerks(records...)
	tuitest.Start(t, server).Play(`
		                 => row 1 of 121
		/ "last"         => best matches first | row 1 of 121 | > The last ticket for tonight | Perk 000
		enter s          => Relevance (now)
		"when it was added\n" => newest ↓ | > Perk 000 | ≠ The last ticket
		F                => / find: words | newest ↓`)
}

// TestAServiceWithoutRelevanceIsSortedByDate refuses that order, as older versions of the service do.
func TestAServiceWithoutRelevanceIsSortedByDate(t *testing.T) {
	t.Parallel()
	perks := numbered(120)
	tuitest.StartWithHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Query().Get("sort"), api.SortRelevance) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"response":"no","code":"validation_failed",` +
				`"errors":{"sort":["cannot sort by \"relevance\""]}}`))
			return
		}
		perks.ServeHTTP(w, r)
	})).Play(`
		                 => row 1 of 120
		/ "perk"         => row 1 of | newest ↓
		enter s          => When it was added (now) | ≠ Relevance`)
}

// TestOpenShowsWhatTheListKnows opens a perk.
func TestOpenShowsWhatTheListKnows(t *testing.T) {
	t.Parallel()
	open, _ := start(t).Posts(actions.Open).(screen.Go)
	if to, ok := open.To.(screen.ToPerk); !ok || to.ID != "perk-001" || to.Known == nil ||
		to.Known.Title != "Coffee 001" {
		t.Errorf("Open posted %#v", open)
	}
}

// TestMarkIsClearedOnceItsPerkIsRedeemed also checks that the mark of a refused perk stays.
func TestMarkIsClearedOnceItsPerkIsRedeemed(t *testing.T) {
	t.Parallel()
	server := serverWithPerks(t)
	server.ImportUsers("alice")
	d := tuitest.Start(t, server)
	d.See("row 1 of 120")
	if _, _, err := d.App.Shell().Account.Client.Redeem(t.Context(), "perk-002", api.RedeemRequest{UserID: "alice"},
		""); err != nil {
		t.Fatal(err)
	}
	d.Play(`
		space space space => 3 marked
		q                => Quit? | 3 perks are marked.
		n r              => Redeem 3 perks | > User
		"alice" ctrl+s   => Redeem for alice?
		y                => [already redeemed] Coffee 002 | [redeemed] Tea 003
		settle esc
		wait: 1m         => row 4 of 120 - 1 marked | * Coffee 002`)
}

func TestAHiddenPreviewStaysHidden(t *testing.T) {
	t.Parallel()
	d := numbered(1000).start(t)
	d.Play(fakeFlows["the preview needs a wide window"] + `
		settle`)
	again := tuitest.StartWithHandler(t, numbered(1000), func(o *tui.Options) { o.Memory = d.Memory })
	again.Play(`
		=> row 1 of 1,000
		size: 120x24 => ≠ About`)
}

// TestLargerTerminalShowsMore checks the row of a perk, beside its preview.
func TestLargerTerminalShowsMore(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t)
	title := "Treat yourself to a ticket for a matinee of your choice"
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{
		ID: "demo-009729", Title: title, DiscountText: text("20% off"), MerchantName: text("Wild Rose Gallery"),
		City: "San Francisco", Category: text("Food & Drink"),
	}})
	d := tuitest.Start(t, server)
	d.See("row 1 of 1")
	for size, wanted := range map[[2]int][]string{
		{80, 24}:  {"20% off", "San Fran"},
		{100, 30}: {"20% off", "Wild Rose", "San Fran"},
		{119, 40}: {"20% off", "Wild Rose", "San Fran"},
		{120, 40}: {"20% off", "San Fran"},
		{160, 40}: {"Treat yourself to a ticket for a matinee", "20% off", "Wild Rose", "San Fran", "Food"},
		{200, 60}: {title, "20% off", "Wild Rose Gallery", "San Francisco", "Food & Drink", "demo-009729"},
	} {
		d.Resize(size[0], size[1])
		row := strings.Split(strings.Split(d.Screen(), "\n")[4], "│")[1]
		for _, want := range wanted {
			if !strings.Contains(row, want) {
				t.Errorf("at %dx%d %q is missing: %q", size[0], size[1], want, row)
			}
		}
	}
}

// TestNoWiderWindowHasFewerColumns compares the names of the columns, beside a preview or not.
func TestNoWiderWindowHasFewerColumns(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t)
	end := time.Now().AddDate(0, 0, 300)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{
		ID: "demo-009729", Title: strings.Repeat("A long title ", 9), DiscountText: text("20% off"),
		MerchantName: text("Wild Rose Gallery"), City: "San Francisco", ValidTo: &end,
	}})
	d := tuitest.Start(t, server)
	d.See("row 1 of 1")
	names := func(width int) []string {
		d.Resize(width, 24)
		return strings.Fields(strings.Split(strings.Split(d.Screen(), "\n")[3], "│")[1])
	}
	least := names(80)
	for width := 81; width <= 200; width++ {
		wider := names(width)
		for _, name := range least {
			if !slices.Contains(wider, name) {
				t.Errorf("at %d columns %s is missing: %q", width, name, wider)
			}
		}
	}
}

// TestLongPreviewScrolls scrolls the preview of a long text to its end.
func TestLongPreviewScrolls(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t)
	about := make([]string, 80)
	for i := range about {
		about[i] = fmt.Sprintf("Line %d.", i+1)
	}
	server.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "long", Title: "A long text", Description: strings.Join(about, "\n"),
			Terms: text("On weekdays only.\nNot on holidays.")}},
		store.PerkRecord{Perk: api.Perk{ID: "short", Title: "A short text", Description: "All of it."}},
	)
	d := tuitest.Start(t, server)
	d.Play(`
		                 => row 1 of 2
		J                => Preview down: not possible now. The window is too narrow
		size: 120x30
		s                => Sort by
		"title\n"        => title ↑
		settle g         => > A long text | Line 1. | ▐`)
	for i := range about {
		for presses := 0; !d.Shows(about[i]); presses++ {
			if presses == 2 {
				t.Fatalf("scrolling skips %q:\n%s", about[i], d.Screen())
			}
			d.Press("J")
		}
	}
	d.Play(`J J J => On weekdays only. | Not on holidays. | Updated`)
	for range 2 {
		d.Send(tea.MouseMsg{X: 100, Y: 10, Button: tea.MouseButtonWheelUp, Action: tea.MouseActionPress})
	}
	d.Play("=> ≠ Updated\n" + strings.Repeat("K\n", 20) + `
		                 => A long text | Line 1.
		j                => All of it.`)
}

func TestTypedTextRunsNoActions(t *testing.T) {
	t.Parallel()
	d := numbered(1000).start(t)
	d.Play(`=> row 1 of 1,000
		/`)
	d.TypesEverywhere()
}

// pagesOf returns the numbers of the requested pages.
func pagesOf(queries []string) string {
	var pages []string
	for _, query := range queries {
		page, _, _ := strings.Cut(strings.TrimPrefix(query[strings.Index(query, "page="):], "page="), "&")
		pages = append(pages, page)
	}
	return strings.Join(pages, " ")
}

func TestOnePageIsRequestedAhead(t *testing.T) {
	t.Parallel()
	perks := numbered(150)
	perks.start(t).Play(`
		                 => row 1 of 150
		settle pgdown pgdown pgdown => row 52 of 150
		settle G settle  => row 150 of 150`)
	if got := pagesOf(perks.queries()); !strings.HasSuffix(got, "3") || strings.Contains(got, "4") ||
		strings.Count(got, "2") != 1 {
		t.Errorf("requested pages %s", got)
	}
}

func TestPageInFlightIsNotRequestedTwice(t *testing.T) {
	t.Parallel()
	gate, gated := newGate(t, serverWithPerks(t))
	d := tuitest.Start(t, gated)
	d.See("row 1 of 120")
	d.Settle()
	gate.setClosed(true)
	d.Press("pgdown", "pgdown", "pgdown") // to the second page, and requests the third
	gate.await(d, "the page ahead", func() bool { return len(gate.waiting) == 1 })
	d.Press("pgdown", "pgdown", "pgdown", "j")
	if !d.Shows("loading ... - row 100 of 120") {
		t.Errorf("it does not say that it is loading:\n%s", d.Screen())
	}
	gate.setClosed(false)
	d.See("row 101 of 120")
	d.Settle()
	if gate.requests != 1 {
		t.Errorf("sent %d requests for one page", gate.requests)
	}
}

func TestAccessibleTextOfTheList(t *testing.T) {
	t.Parallel()
	d := reach(t, "strange")
	d.Play(`k space / "c" settle`)
	accessible := d.App.Top().AccessibleText()
	for _, want := range []string{
		"Perks 7, +expired c, best matches first.", "The filter is open.", "Find: +expired c",
		"2. 東京の朝食セット二人前. Discount: 半額. Merchant: 喫茶店.",
		"City: 東京都. Valid: no end.",
		"6. Yesterday's soup. City: Bonn. Valid: expired 2 days ago. Marked.",
		"row 1 of 7 - 1 marked.",
	} {
		if !strings.Contains(accessible, want) {
			t.Errorf("missing %q:\n%s", want, accessible)
		}
	}
	if strings.ContainsAny(accessible, "│>…\x1b") {
		t.Errorf("the text has drawing characters:\n%s", accessible)
	}
	chooser := d.App.Top().(interface{ Choose(int) bool })
	if !chooser.Choose(7) || chooser.Choose(8) || chooser.Choose(0) {
		t.Error("rows 1 to 7 can be chosen, and no others")
	}
	d.See("row 7 of 7")
}

// TestRowsOfTheFormerFilterDoNothing changes the filter of a slow service, and tries to redeem what was shown before.
func TestRowsOfTheFormerFilterDoNothing(t *testing.T) {
	t.Parallel()
	d := numbered(3).start(t)
	d.Play(`
		size: 120x24     => row 1 of 3 | Two coffees for the price of one.
		settle`)
	dimmed := func(text string) bool {
		for line := range strings.SplitSeq(d.App.View(), "\n") {
			if before, _, found := strings.Cut(line, text); found {
				return strings.LastIndex(before, "\x1b[2m") > strings.LastIndex(before, "\x1b[0m")
			}
		}
		return false
	}
	d.Play(`
		service: holds
		/ "coffee\n"     => / coffee | loading ...`)
	for _, text := range []string{">  Perk number 1", "Perk number 3", "Two coffees"} {
		if !dimmed(text) {
			t.Errorf("%q looks current:\n%q", text, d.App.View())
		}
	}
	for key, name := range map[string]string{"r": "Redeem", "enter": "Open", " ": "Mark", "y": "Copy the id"} {
		d.Press(key)
		d.See(name + ": not possible now. The list is not loaded yet.")
		d.Elapse(time.Second)
	}
	d.Play(`service: works => ≠ loading`)
	if dimmed(">  Perk number 1") || dimmed("Two coffees") {
		t.Errorf("the new rows are dimmed:\n%q", d.App.View())
	}
	d.Press("enter")
	d.See("Perk Perk number 1")
}
