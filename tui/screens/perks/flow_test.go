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
	d.See("row 1 of 120, page 1 of 3")
	return d
}

func TestListFollowsTheQuery(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.Press("/")
	d.Type("tea")
	d.See("row 1 of 40,", "Tea 003")
	d.Type(" city:berlin")
	d.See("No perk matches tea city:berlin. esc cancels it.")
	d.Press("enter")
	d.See("/ tea city:berlin")
	d.Press("F")
	d.See("/ find: words city:", "row 1 of 120")

	d.Press("/")
	d.Type("near:52.52,13.4")
	d.See("row 1 of 2,", "nearest ↑", "Distance ▲", "Coffee 001 0 m", "Coffee 002 8.9 km")
	d.Type(" <1km")
	d.See("row 1 of 1,")
	d.Press("enter")
	d.See("/ near:52.52,13.4 <1km")
	d.Press("/", "backspace", "backspace", "backspace", "backspace", "backspace")
	d.See("row 1 of 2,")
	d.Press("esc") // as it was before
	d.See("/ near:52.52,13.4 <1km", "row 1 of 1,")
	d.Press("F")
	d.See("row 1 of 120")
}

// TestCompletionFindsNamesAndValues completes the name of a filter and the city of a row, and finds a city by its
// beginning.
func TestCompletionFindsNamesAndValues(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.Press("/")
	d.Type("ci")
	d.See("city:")
	d.Press("tab")
	d.Type("w")
	d.See("Wien", "row 1 of 40,")
	d.Press("tab")
	d.Type("tea")
	d.See("/ city:Wien tea", "row 1 of 40,")
	d.Press("esc", "/")
	d.Type("category:h")
	d.See(`"Hot things"`, "row 1 of 40,")
	d.Press("enter")
	d.See(`/ category:"Hot things"`)
}

// TestPerkIsOpenedByItsID types ids into the filter and the palette, also one that no perk has.
func TestPerkIsOpenedByItsID(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "demo-009729", Title: "Coffee for two"}},
		store.PerkRecord{Perk: api.Perk{ID: "sauna", Title: "An hour of heat"}})
	d := tuitest.Start(t, server)
	d.See("row 1 of 2")
	d.Press("/")
	d.Type("demo-009729")
	d.See(`No perk matches demo-009729. enter opens the perk with the id "demo-009729".`, "enter open perk")
	d.Press("enter")
	d.See("Perk Coffee for two")
	d.Press("esc")
	d.See(`/ demo-009729`, `enter opens the perk with the id "demo-009729". F clears it.`)
	d.Press("enter")
	d.See("Perk Coffee for two")
	d.Press("esc", "/")
	d.Type("city:Rome")
	d.See("No perk matches demo-009729 city:Rome. esc cancels it.", "enter apply")
	d.Press("enter", "l")
	d.See("Open: not possible now. There is no perk here.")
	d.Press("F")
	d.See("row 1 of 2")

	d.Press("ctrl+k")
	d.Type("sauna")
	d.See("> Open perk sauna")
	d.Press("enter")
	d.See("Perk An hour of heat")
	d.Press(":")
	d.Type("no-such")
	d.See("> Open perk no-such")
	d.Press("enter")
	d.See("There is no perk no-such.", "R retries.")
	d.Press(":")
	d.Type("quit")
	d.See("> Quit (q)", "  Open perk quit")
	d.Type(" now")
	d.See("Nothing here matches that.")
}

func TestMistakesAreExplainedAndNotSent(t *testing.T) {
	t.Parallel()
	perks := numbered(1000)
	d := tuitest.StartWithHandler(t, perks)
	d.See("row 1 of 1,000")
	d.Settle()
	before := len(perks.queries())
	d.Press("/")
	for text, why := range map[string]string{
		"near:52.5":    "near: must be latitude,longitude, such as 52.52,13.405",
		"near:91,13":   "! near: latitude must be between -90 and 90",
		"near:52,-181": "! near: longitude must be between -180 and 180",
		"radius:0":     "! radius: must be above 0 and at most 500",
		"<500.1km":     "! radius: must be above 0 and at most 500",
		"radius:10":    "! radius: needs Near: a position to measure from",
	} {
		d.Paste(text)
		d.See(why)
		d.Clear()
	}
	d.Paste("<10km")
	d.Press("enter")
	d.See("needs Near")
	d.Settle()
	for _, query := range perks.queries()[before:] {
		if !strings.HasPrefix(query, "page=2&") {
			t.Errorf("the service received %s", query)
		}
	}
	d.Press("esc")
	if d.Shows("<10km") {
		t.Error("an invalid value was kept")
	}
}

func TestRefusedQueryIsShown(t *testing.T) {
	t.Parallel()
	perks := numbered(120)
	d := tuitest.StartWithHandler(t, perks)
	d.See("row 1 of 120")
	d.Settle()
	refuses := func(status int) {
		perks.change(func() {
			perks.status, perks.refusal = status, api.FieldErrors{"q": {"must be at most 3 characters long"}}
		})
	}
	refuses(http.StatusUnprocessableEntity)
	d.Press("/")
	d.Type("nothing!")
	d.See("! The service refuses this:", "q must be at most 3 characters long", "row 1 of 120")
	refuses(0)
	d.Press("backspace")
	d.Gone("refuses")
	d.See("No perk matches nothing")
	refuses(http.StatusUnprocessableEntity)
	d.Press("x", "enter")
	d.See("The service refuses this:", "F clears it.")
	refuses(0)
	d.Press("F")
	d.See("row 1 of 120")
}

func TestTooLongFilterIsNotSent(t *testing.T) {
	t.Parallel()
	perks := numbered(120)
	d := tuitest.StartWithHandler(t, perks)
	d.See("row 1 of 120")
	d.Settle()
	before := len(perks.queries())
	d.Press("/")
	d.Paste(strings.Repeat("x", 201))
	d.Press("enter")
	d.See("! words: must be at most 200 characters long")
	d.Settle()
	for _, query := range perks.queries()[before:] {
		if strings.Contains(query, "q=") {
			t.Errorf("the service received %s", query)
		}
	}
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
	d := tuitest.Start(t, server)
	d.See("row 1 of 121")
	d.Press("/")
	d.Type("last")
	d.See("best matches first", "row 1 of 121", "> The last ticket for tonight", "Perk 000")
	d.Press("enter", "s")
	d.See("Relevance (now)")
	d.Type("when it was added\n")
	d.See("newest ↓", "> Perk 000")
	d.Gone("The last ticket")
	d.Press("F")
	d.See("/ find: words", "newest ↓")
}

// TestAServiceWithoutRelevanceIsSortedByDate refuses that order, as older versions of the service do.
func TestAServiceWithoutRelevanceIsSortedByDate(t *testing.T) {
	t.Parallel()
	perks := numbered(120)
	d := tuitest.StartWithHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Query().Get("sort"), api.SortRelevance) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"response":"no","code":"validation_failed",` +
				`"errors":{"sort":["cannot sort by \"relevance\""]}}`))
			return
		}
		perks.ServeHTTP(w, r)
	}))
	d.See("row 1 of 120")
	d.Press("/")
	d.Type("perk")
	d.See("row 1 of", "newest ↓")
	d.Press("enter", "s")
	d.See("When it was added (now)")
	d.Gone("Relevance")
}

func TestSorting(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.See("newest ↓")
	d.Choose("s", "title", "Sort by", "Title")
	d.See("title ↑", "> Coffee 001")
	d.Press("S")
	d.See("title ↓", "> Tea 120", "Title ▼")

	d.Press("/")
	d.Type("near:52.6,13.4")
	d.Press("enter")
	d.See("title ↓", "> Coffee 002")
	d.Choose("s", "distance", "Sort by")
	d.See("nearest ↑", "> Coffee 002")
	d.Press("F")
	d.See("Perks 120 · title ↓", "> Tea 120")
}

func TestCategoriesAndExpiredPerks(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.Choose("c", "hot", "All categories", "Hot things")
	d.See(`/ category:"Hot things"`, "row 1 of 40,")
	d.Choose("c", "all", "All categories")
	d.See("row 1 of 120")
	d.Press("e")
	d.See("/ +expired", "row 1 of 121", "expired ", "Summer sale")
	d.Press("/")
	d.Type("summer\n")
	d.See("row 1 of 1,")
	d.Press("r")
	d.See("Redeem: not possible now. It expired ")
	d.Elapse(time.Second)
	d.Press("e")
	d.See("No perk matches summer.")
	d.Press("F")
	d.See("row 1 of 120")
}

func TestPagingPastTheLastRowAndBack(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.Press("G", "j")
	d.See("row 51 of 120, page 2 of 3")
	d.Press("k")
	d.See("row 50 of 120, page 1 of 3")
	d.Settle()
	d.Press("j", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown")
	d.See("page 3 of 3")
	d.Press("p", "p")
	d.See("row 1 of 120, page 1 of 3")
	d.Press("}")
	d.See("row 120 of 120, page 3 of 3")
	d.Press("G", "j", "n")
	d.See("This is the last page.")
	d.Elapse(time.Minute)
	d.See("row 120 of 120, page 3 of 3")
	d.Press("{")
	d.See("row 1 of 120, page 1 of 3")
}

func TestOpenCopyAndRedeem(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.Press("y")
	d.See("Done: Copied the id perk-001.")
	if got := d.Desktop.Copied(); got != "perk-001" {
		t.Errorf("copied %q", got)
	}
	open, _ := d.Posts(actions.Open).(screen.Go)
	if to, ok := open.To.(screen.ToPerk); !ok || to.ID != "perk-001" || to.Known == nil ||
		to.Known.Title != "Coffee 001" {
		t.Errorf("Open posted %#v", open)
	}
	if ids := redeemed(t, d); ids != "perk-001" {
		t.Errorf("without marks, it redeems %s", ids)
	}

	d.Elapse(time.Minute)
	d.Press(" ", "G", "j")
	d.See("page 2 of 3")
	d.Press(" ", " ", "k", " ")
	d.See("2 marked, 1 not on this page", "r redeem 2 marked")
	d.Press("X")
	d.Gone("marked")
	d.Press("k", " ", "k", "k", " ")
	if ids := redeemed(t, d); ids != "perk-052 perk-051" {
		t.Errorf("with marks, it redeems %s", ids)
	}
}

// TestRedeemNamesMarksThatAreNotVisible marks a perk, and filters it out.
func TestRedeemNamesMarksThatAreNotVisible(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.Press(" ")
	d.See("1 marked", "r redeem 1 marked")
	d.Press("/")
	d.Type("tea")
	d.Press("enter")
	d.See("row 1 of 40, page 1 of 1 - 1 marked, not on this page", "> Tea 003", "r redeem 1 marked")
	d.Press("r")
	d.See("Redeem 1 marked: Coffee 001", "Redeem only the one under the cursor: Tea 003")
	d.Press("down", "enter")
	d.See("Redeem Tea 003", "> User")
	d.Press("esc")
	d.See("1 marked, not on this page")
	d.Press("r", "enter")
	d.See("Redeem Coffee 001", "> User")
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
	d.Press(" ", " ", " ")
	d.See("3 marked")
	d.Press("q")
	d.See("Quit?", "3 perks are marked.")
	d.Press("n")
	d.Press("r")
	d.See("Redeem 3 perks", "> User")
	d.Type("alice")
	d.Press("ctrl+s")
	d.See("Redeem for alice?")
	d.Press("y")
	d.See("[already redeemed] Coffee 002", "[redeemed] Tea 003")
	d.Settle()
	d.Press("esc")
	d.Elapse(time.Minute)
	d.See("row 4 of 120, page 1 of 3 - 1 marked", "* Coffee 002")
}

func redeemed(t *testing.T, d *tuitest.Driver) string {
	t.Helper()
	opened, _ := d.Posts(actions.Redeem).(screen.Go)
	to, ok := opened.To.(screen.ToRedeem)
	if !ok {
		t.Fatalf("Redeem posted %#v", opened)
	}
	var ids []string
	for _, perk := range to.Perks {
		ids = append(ids, perk.ID)
	}
	return strings.Join(ids, " ")
}

func TestPreviewNeedsAWideWindow(t *testing.T) {
	t.Parallel()
	d := tuitest.StartWithHandler(t, numbered(1000))
	d.See("row 1 of 1,000")
	d.Press("v")
	d.See("Preview on/off: not possible now. The window is too narrow: 120 columns needed.")
	d.Resize(120, 40)
	d.See("About", "Two coffees for the", "Id perk-0000001")
	d.Press("j")
	d.See("Id perk-0000002")
	d.Press("v")
	d.Gone("About")
	d.Settle()
	again := tuitest.StartWithHandler(t, numbered(1000), func(o *tui.Options) { o.Memory = d.Memory })
	again.See("row 1 of 1,000")
	again.Resize(116, 24)
	again.Gone("About")
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
		{80, 24}:  {"20% off", "Wild Rose"},
		{100, 30}: {"20% off", "Wild Rose", "San Fran"},
		{119, 40}: {"20% off", "Wild Rose", "San Fran"},
		{120, 40}: {"20% off", "Wild Rose"},
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
	d.See("row 1 of 2")
	d.Press("J")
	d.See("Preview down: not possible now. The window is too narrow")
	d.Resize(120, 30)
	d.Choose("s", "title", "Sort by")
	d.Until("the sorted list", func() bool { return d.Shows("title ↑") })
	d.Settle()
	d.Press("g")
	d.See("> A long text", "Line 1.", "▐")
	for i := range about {
		for presses := 0; !d.Shows(about[i]); presses++ {
			if presses == 2 {
				t.Fatalf("scrolling skips %q:\n%s", about[i], d.Screen())
			}
			d.Press("J")
		}
	}
	d.Press("J", "J", "J")
	d.See("On weekdays only.", "Not on holidays.", "Updated")
	d.Send(tea.MouseMsg{X: 100, Y: 10, Button: tea.MouseButtonWheelUp, Action: tea.MouseActionPress})
	d.Gone("Updated")
	for range 20 {
		d.Press("K")
	}
	d.See("A long text", "Line 1.")
	d.Press("j")
	d.See("All of it.")
}

func TestTypedTextRunsNoActions(t *testing.T) {
	t.Parallel()
	d := tuitest.StartWithHandler(t, numbered(1000))
	d.See("row 1 of 1,000")
	d.Press("/")
	d.TypesEverywhere()
}
