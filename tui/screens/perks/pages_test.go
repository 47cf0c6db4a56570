package perks_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/tuitest"
)

// pagesOf returns the numbers of the requested pages.
func pagesOf(queries []string) string {
	var pages []string
	for _, query := range queries {
		page, _, _ := strings.Cut(strings.TrimPrefix(query[strings.Index(query, "page="):], "page="), "&")
		pages = append(pages, page)
	}
	return strings.Join(pages, " ")
}

func TestNextPageIsPreloaded(t *testing.T) {
	t.Parallel()
	perks := numbered(150)
	d := tuitest.StartWithHandler(t, perks)
	d.See("row 1 of 150")
	d.Settle()
	hold := make(chan struct{})
	perks.change(func() { perks.hold = hold })
	d.Press("G", "j")
	if !d.Shows("row 51 of 150, page 2 of 3") || d.Shows("loading") {
		t.Errorf("the second page was not preloaded:\n%s", d.Screen())
	}
	close(hold)
	d.Settle()
	d.Press("n")
	d.Settle()
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
	d.Press("n") // shows the second page, and requests the third
	gate.await(d, "the preloaded page", func() bool { return len(gate.waiting) == 1 })
	d.Press("G", "j")
	if !d.Shows("loading ... - row 100 of 120, page 2 of 3") {
		t.Errorf("it does not say that it is loading:\n%s", d.Screen())
	}
	gate.setClosed(false)
	d.See("row 101 of 120, page 3 of 3")
	d.Settle()
	if gate.requests != 1 {
		t.Errorf("sent %d requests for one page", gate.requests)
	}
}

func TestKeysWhileLoadingSkipNoPage(t *testing.T) {
	t.Parallel()
	perks := numbered(1000)
	d := tuitest.StartWithHandler(t, perks)
	d.See("row 1 of 1,000")
	d.Settle()
	hold := make(chan struct{})
	perks.change(func() { perks.hold = hold })
	d.Press("n", "G", "j", "j", "pgdown", "j")
	close(hold)
	d.See("row 101 of 1,000, page 3 of 20")
	d.Settle()
	d.See("row 101 of 1,000, page 3 of 20")
}

func TestAnOldPreloadedPageIsLoadedAgain(t *testing.T) {
	t.Parallel()
	perks := numbered(150)
	d := tuitest.StartWithHandler(t, perks)
	d.See("row 1 of 150")
	d.Settle()
	d.Elapse(2 * time.Minute)
	hold := make(chan struct{})
	perks.change(func() { perks.hold = hold })
	d.Press("n")
	if !d.Shows("loading ... - row 1 of 150, page 1 of 3") {
		t.Errorf("the page of two minutes ago is shown:\n%s", d.Screen())
	}
	close(hold)
	d.See("row 51 of 150, page 2 of 3")
}

func TestShorterListGoesToItsLastPage(t *testing.T) {
	t.Parallel()
	perks := numbered(1000)
	d := tuitest.StartWithHandler(t, perks)
	d.See("row 1 of 1,000")
	d.Settle()
	perks.change(func() { perks.total = 120 })
	d.Press("}")
	d.See("row 120 of 120, page 3 of 3")
	d.Settle()
	perks.change(func() { perks.total = 0 })
	d.Press("R")
	d.See("There are no perks yet.")
}

func TestCursorStaysOnItsPerkAfterReload(t *testing.T) {
	t.Parallel()
	perks := numbered(1000)
	d := tuitest.StartWithHandler(t, perks)
	d.See("row 1 of 1,000")
	d.Press("j", "j")
	plain := perks.perk
	perks.change(func() { perks.perk = func(n int64) api.Perk { return plain(n - 1) } }) // a new first perk
	d.Press("R")
	d.See("row 4 of 1,000", "> Perk number 3")
}

func TestAtMostAHundredMarksAcrossPages(t *testing.T) {
	t.Parallel()
	d := tuitest.StartWithHandler(t, numbered(1000))
	d.See("row 1 of 1,000")
	for range 100 {
		d.Settle()
		d.Press(" ")
	}
	d.See("100 marked, not on this page", "row 101 of 1,000")
	d.Press(" ")
	d.See("Mark: not possible now. At most 100 can be marked.")
	d.Elapse(time.Minute)
	d.Press("k")
	d.See("row 100 of 1,000")
	d.Press(" ")
	d.See("99 marked")
}

func TestFailureKeepsTheRowsAndTheFilter(t *testing.T) {
	t.Parallel()
	perks := numbered(1000)
	d := tuitest.StartWithHandler(t, perks)
	d.See("row 1 of 1,000")
	d.Settle()
	perks.change(func() { perks.status = http.StatusInternalServerError })
	d.Press("/", "c", "enter")
	d.See("The server failed. Last loaded just now. R retries.", "/ c", "> Perk number 1")
	perks.change(func() { perks.status = 0 })
	d.Press("R")
	d.Gone("The server failed")
	d.See("/ c", "row 1 of 1,000")
}

func TestTheMouseChoosesAndScrolls(t *testing.T) {
	t.Parallel()
	d := tuitest.StartWithHandler(t, numbered(1000))
	d.See("row 1 of 1,000")
	click := func(x, y int) {
		d.Send(tea.MouseMsg{X: x, Y: y, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
	}
	click(5, 8) // below the header, the border, the filter and the column names
	d.See("row 5 of 1,000", "> Perk number 5")
	d.Send(tea.MouseMsg{X: 5, Y: 9, Action: tea.MouseActionPress, Button: tea.MouseButtonWheelDown})
	d.See("row 8 of 1,000")
	d.Send(tea.MouseMsg{X: 5, Y: 9, Action: tea.MouseActionPress, Button: tea.MouseButtonWheelUp})
	d.See("row 5 of 1,000")
	d.Resize(120, 24)
	click(100, 9) // into the preview
	d.See("row 5 of 1,000")
	click(5, 8)
	d.Until("the perk", func() bool { return d.Depth() == 2 })
}

func TestAccessibleTextOfTheList(t *testing.T) {
	t.Parallel()
	d := states["strange"](t)
	d.Press("k", " ", "/")
	d.Type("c")
	d.Settle()
	accessible := d.App.Top().AccessibleText()
	for _, want := range []string{
		"Perks 7, +expired c, best matches first.", "The filter is open.", "Find: +expired c",
		"2. 東京の朝食セット二人前. Discount: 半額. Merchant: 喫茶店. City: 東京都. Valid: no end. Id: cjk.",
		"6. Yesterday's soup. City: Bonn. Valid: expired 2 days ago. Id: expired. Marked.",
		"row 1 of 7, page 1 of 1 - 1 marked.",
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
	perks := numbered(3)
	d := tuitest.StartWithHandler(t, perks)
	d.Resize(120, 24) // with the preview
	d.See("row 1 of 3", "Two coffees for the price of one.")
	d.Settle()
	dimmed := func(text string) bool {
		for line := range strings.SplitSeq(d.App.View(), "\n") {
			if before, _, found := strings.Cut(line, text); found {
				return strings.LastIndex(before, "\x1b[2m") > strings.LastIndex(before, "\x1b[0m")
			}
		}
		return false
	}
	hold := make(chan struct{})
	perks.change(func() { perks.hold = hold })
	d.Press("/")
	d.Type("coffee\n")
	d.See("/ coffee", "loading ...")
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
	close(hold)
	d.Gone("loading")
	if dimmed(">  Perk number 1") || dimmed("Two coffees") {
		t.Errorf("the new rows are dimmed:\n%q", d.App.View())
	}
	d.Press("enter")
	d.See("Perk Perk number 1")
}
