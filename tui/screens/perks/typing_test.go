package perks_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/list"
	"example.com/perks/tui/tuitest"
)

// gate is a proxy to a server. While it is closed, requests of lists wait until they are cancelled or it is opened.
type gate struct {
	next http.Handler

	mu       sync.Mutex
	change   *sync.Cond
	closed   bool
	counts   bool // whether requests are counted: it has been closed once
	requests int
	waiting  []string // the words of the waiting requests, or their city
}

func newGate(t *testing.T, server *servertest.Server) (*gate, *servertest.Server) {
	t.Helper()
	g := &gate{}
	g.change = sync.NewCond(&g.mu)
	gated := server.Behind(func(next http.Handler) http.Handler {
		g.next = next
		return g
	})
	t.Cleanup(func() { g.setClosed(false) })
	return g, gated
}

// closedGate starts with a list whose further requests wait.
func closedGate(t *testing.T) (*gate, *tuitest.Driver) {
	t.Helper()
	g, gated := newGate(t, serverWithPerks(t))
	d := tuitest.Start(t, gated)
	d.See("row 1 of 120")
	d.Settle()
	g.setClosed(true)
	return g, d
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isOfList := r.URL.Query().Get("per_page") == fmt.Sprint(list.PerPage) // or else of the cities to complete
	if strings.HasSuffix(r.URL.Path, "/partners/perks") && (isOfList || r.URL.Query().Has("city")) {
		g.wait(r)
	}
	if r.Context().Err() == nil {
		g.next.ServeHTTP(w, r)
	}
}

func (g *gate) wait(r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.counts {
		g.requests++
	}
	if !g.closed {
		return
	}
	words := r.URL.Query().Get("q") + r.URL.Query().Get("city")
	g.waiting = append(g.waiting, words)
	g.change.Broadcast()
	defer func() {
		for i := range g.waiting {
			if g.waiting[i] == words {
				g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
				break
			}
		}
		g.change.Broadcast()
	}()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a cancelled request wakes the wait below
		select {
		case <-r.Context().Done():
			g.mu.Lock()
			g.change.Broadcast()
			g.mu.Unlock()
		case <-stop:
		}
	}()
	for g.closed && r.Context().Err() == nil {
		g.change.Wait()
	}
}

func (g *gate) setClosed(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.counts = closed, g.counts || closed
	g.change.Broadcast()
}

// await waits until the gate has been in a state, while the driver continues.
func (g *gate) await(d *tuitest.Driver, what string, holds func() bool) {
	var reached atomic.Bool
	d.Do(func() tea.Msg {
		g.mu.Lock()
		defer g.mu.Unlock()
		for !holds() {
			g.change.Wait()
		}
		reached.Store(true)
		return nil
	})
	d.Until(what, reached.Load)
}

func TestFastTypingLeavesOneRequest(t *testing.T) {
	t.Parallel()
	const word = "breakfasts"
	server := servertest.Start(t)
	var perks []store.PerkRecord
	for i := range word { // each change of the filter has other rows
		perks = append(perks, store.PerkRecord{Perk: api.Perk{ID: fmt.Sprintf("p-%d", i), Title: word[:i+1]}})
	}
	server.ImportPerks(perks...)
	gate, gated := newGate(t, server)
	d := tuitest.Start(t, gated)
	d.See("row 1 of 10")
	d.Settle()

	gate.setClosed(true)
	d.Press("/")
	for i := range word {
		d.Press(word[i : i+1])
		gate.await(d, fmt.Sprintf("request %d", i+1), func() bool { return gate.requests == i+1 })
		d.See("row 1 of 10", "loading ...") // the former rows stay
	}
	gate.await(d, "the cancellation of the others", func() bool { return len(gate.waiting) == 1 })
	gate.await(d, "the last request", func() bool {
		return gate.requests == len(word) && strings.Join(gate.waiting, " ") == word
	})

	gate.setClosed(false)
	d.Settle()
	if !d.Shows("row 1 of 1") || !d.Shows("> breakfasts") || d.Shows("loading") {
		t.Errorf("want the rows of the last change:\n%s", d.Screen())
	}
}

func TestInvalidFilterCancelsTheRequest(t *testing.T) {
	t.Parallel()
	gate, d := closedGate(t)
	d.Press("/")
	d.Paste("tea")
	gate.await(d, "the request", func() bool { return len(gate.waiting) == 1 })
	d.Type(" near:91,0")
	gate.await(d, "its cancellation", func() bool { return len(gate.waiting) == 0 })
	d.See("! near: latitude must be between", "row 1 of 120")
	for range "near:91,0" {
		d.Press("backspace")
	}
	gate.await(d, "the request again", func() bool { return strings.Join(gate.waiting, " ") == "tea" })
	gate.setClosed(false)
	d.See("row 1 of 40")
}

func TestTheNextQueryForgetsAPlaceThatIsLookedUp(t *testing.T) {
	t.Parallel()
	gate, d := closedGate(t)
	d.Press("/")
	d.Paste("near:berlin")
	gate.await(d, "the request by city", func() bool { return slices.Contains(gate.waiting, "berlin") })
	d.Press("ctrl+u")
	d.Paste("tea")
	gate.await(d, "the last request instead", func() bool {
		return slices.Contains(gate.waiting, "tea") && !slices.Contains(gate.waiting, "berlin")
	})
	gate.setClosed(false)
	d.Settle()
	if !d.Shows("row 1 of 40") || d.Shows("nearest") {
		t.Errorf("want the perks for tea:\n%s", d.Screen())
	}
}

func TestFilterChangeCancelsPreloading(t *testing.T) {
	t.Parallel()
	gate, d := closedGate(t)
	d.Press("pgdown", "pgdown", "pgdown") // to the second page, and requests the third
	gate.await(d, "the page ahead", func() bool { return len(gate.waiting) == 1 })
	d.Press("/")
	d.Paste("tea")
	gate.await(d, "only the filter's request", func() bool {
		return strings.Join(gate.waiting, " ") == "tea" && len(gate.waiting) == 1
	})
	gate.setClosed(false)
	d.See("row 1 of 40")
}

// TestAPlaceThatIsNotFoundIsSaidOnce types one above rows, and where nothing was found before.
func TestAPlaceThatIsNotFoundIsSaidOnce(t *testing.T) {
	for _, before := range []string{"", `"zzqq" settle => No perk matches zzqq.`} {
		d := start(t)
		d.Play("/\n" + before + "\nctrl+u \"near:wien\" settle")
		for _, shown := range []string{d.Screen(), d.App.Top().AccessibleText()} {
			if times := strings.Count(shown, "No perk in"); times != 1 {
				t.Errorf("it is said %d times:\n%s", times, shown)
			}
		}
	}
}
