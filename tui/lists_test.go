package tui_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

// newest makes perks, the first one the newest, that were added so long before now.
func newest(name string, n int, before time.Duration) []store.PerkRecord {
	perks := make([]store.PerkRecord, n)
	for i := range perks {
		perks[i].ID, perks[i].Title = fmt.Sprintf("%s-%d", name, i+1), fmt.Sprintf("%s %d", name, i+1)
		perks[i].CreatedAt = time.Now().Add(-before - time.Duration(i)*time.Second)
	}
	return perks
}

// TestAPageOfNewRowsIsNoRepeatedPage adds as many perks as are read at once, before the next page is read.
func TestAPageOfNewRowsIsNoRepeatedPage(t *testing.T) {
	server := servertest.Start(t)
	server.ImportPerks(newest("Old", 200, time.Hour)...)
	d := tuitest.Start(t, server)
	d.Commands = map[string]func(string){
		"add many": func(string) { server.ImportPerks(newest("New", 50, 0)...) },
	}
	d.Play(`
		=> row 1 of 200
		settle
		add many:
		settle pgdown settle pgdown settle pgdown settle => Old 52
		=> ≠ sent a page again
		` + strings.Repeat("pgdown settle\n", 12) + ` => > Old 200 | ≠ sent a page again
		R settle G => row 250 of 250 | > Old 200
		settle g => > New 1`)
}

// TestLoadingIsSaidInTheList waits for the first rows, which have names of columns before, and for those of a query.
func TestLoadingIsSaidInTheList(t *testing.T) {
	var hold sync.Mutex
	hold.Lock()
	d := tuitest.StartWithHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hold.Lock()
		defer hold.Unlock()
		if !strings.HasSuffix(r.URL.Path, "/perks") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[{"id":"tea","title":"Tea for two"}],` +
			`"meta":{"page":1,"per_page":50,"total":1,"total_pages":1}}`))
	}))
	d.Elapse(widget.Beat)
	d.Elapse(widget.Beat)
	lines := strings.Split(d.Screen(), "\n")
	for i, want := range []string{"Title", "⠸ Loading perks ... 1 s", "····", "····"} {
		if !strings.Contains(lines[3+i], want) {
			t.Errorf("line %d lacks %q:\n%s", 3+i, want, d.Screen())
		}
	}
	hold.Unlock()
	d.See("row 1 of 1", "Tea for two")
	d.Gone("····")
	d.Settle()
	hold.Lock()
	d.Press("R")
	d.Elapse(widget.Beat)
	d.See("⠙ loading ... - row 1 of 1 ─", "Tea for two")
	hold.Unlock()
	d.Gone("loading ...")
}

// TestOthersRowsAreMarkedForASecond adds perks while the list is shown. Only those that come by themselves are marked,
// not what a key has loaded, nor what was there before on a page that was not loaded.
func TestOthersRowsAreMarkedForASecond(t *testing.T) {
	server := servertest.Start(t)
	server.ImportPerks(newest("Old", 300, time.Hour)...)
	d := tuitest.Start(t, server)
	d.Commands = map[string]func(string){
		"add":      func(name string) { server.ImportPerks(newest(name, 1, 0)...) },
		"add many": func(name string) { server.ImportPerks(newest(name, 100, 0)...) },
	}
	d.Play(`
		=> row 1 of 300
		settle
		add: Tea
		wait: 3s => + Tea 1 | row 2 of 301 | > Old 1 | ≠ + Old
		settle
		wait: 900ms => + Tea 1
		wait: 100ms => Tea 1 | ≠ + Tea 1
		add: Cake
		R => Cake 1 | ≠ + Cake 1
		settle`)
	x, _, _ := scrollbar(t, d)
	d.Send(tea.MouseMsg{X: x, Y: 12, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
	d.Play(`
		settle => of 302
		add many: Coffee
		wait: 3s => of 402
		settle => ≠ + Old`)
}

// TestColumnsStayWhereTheyAre scrolls to rows with longer texts.
func TestColumnsStayWhereTheyAre(t *testing.T) {
	server := servertest.Start(t)
	perks := newest("Perk", 200, time.Hour)
	for i := range perks {
		name := "Inn"
		if i >= 110 {
			name = "The Inn of the Seven Long Corridors"
		}
		perks[i].MerchantName = &name
	}
	server.ImportPerks(perks...)
	d := tuitest.Start(t, server)
	d.Resize(160, 40)
	d.Press("v")
	names := func() string { return strings.Split(d.Screen(), "\n")[3] }
	d.Play("settle => row 1 of 200 | Merchant")
	before := names()
	for range 7 {
		d.Play("pgdown settle")
		if now := names(); now != before {
			t.Fatalf("the columns move:\n%s\n%s", before, now)
		}
	}
	d.See("The Inn of", "row 200 of 200")
}
