package perks_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/tuitest"
)

// gate stands before a server. While it is shut, lists wait in it until they are given up or it is opened.
type gate struct {
	behind http.Handler

	mu     sync.Mutex
	change *sync.Cond
	isShut bool
	counts bool     // it has been shut
	asked  int      // lists since then
	alive  []string // the words of those that wait
}

func newGate(t *testing.T, server *servertest.Server) (*gate, *servertest.Server) {
	t.Helper()
	root, err := url.Parse(server.Root())
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{behind: httputil.NewSingleHostReverseProxy(root)}
	g.change = sync.NewCond(&g.mu)
	before := httptest.NewServer(g)
	t.Cleanup(func() {
		g.shut(false)
		before.Close()
	})
	gated := *server
	gated.URL = before.URL + "/v2"
	return g, &gated
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/partners/perks") {
		g.wait(r)
	}
	if r.Context().Err() == nil {
		g.behind.ServeHTTP(w, r)
	}
}

func (g *gate) wait(r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.counts {
		g.asked++
	}
	if !g.isShut {
		return
	}
	words := r.URL.Query().Get("q")
	g.alive = append(g.alive, words)
	g.change.Broadcast()
	defer func() {
		for i := range g.alive {
			if g.alive[i] == words {
				g.alive = append(g.alive[:i], g.alive[i+1:]...)
				break
			}
		}
		g.change.Broadcast()
	}()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a list that is given up wakes the wait below
		select {
		case <-r.Context().Done():
			g.mu.Lock()
			g.change.Broadcast()
			g.mu.Unlock()
		case <-stop:
		}
	}()
	for g.isShut && r.Context().Err() == nil {
		g.change.Wait()
	}
}

func (g *gate) shut(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isShut, g.counts = shut, g.counts || shut
	g.change.Broadcast()
}

// until waits, while the driver goes on, until the gate has been in a state.
func (g *gate) until(d *tuitest.Driver, what string, holds func() bool) {
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

func TestTenQuickChangesLeaveOneRequestAliveAndTheLastOnesRows(t *testing.T) {
	t.Parallel()
	const word = "breakfasts"
	server := servertest.Start(t)
	var perks []store.PerkRecord
	for i := range word { // each change of the filter has rows of its own
		perks = append(perks, store.PerkRecord{Perk: api.Perk{ID: fmt.Sprintf("p-%d", i), Title: word[:i+1]}})
	}
	server.ImportPerks(perks...)
	gate, gated := newGate(t, server)
	d := tuitest.Start(t, gated)
	d.See("row 1 of 10,")
	d.Settle()

	gate.shut(true)
	d.Press("/")
	for i := range word {
		d.Press(word[i : i+1])
		gate.until(d, fmt.Sprintf("request %d", i+1), func() bool { return gate.asked == i+1 })
		d.See("row 1 of 10,", "loading ...") // the rows from before stay
	}
	gate.until(d, "the end of the others", func() bool { return len(gate.alive) == 1 })
	gate.until(d, "the last", func() bool { return gate.asked == len(word) && strings.Join(gate.alive, " ") == word })

	gate.shut(false)
	d.Settle()
	if !d.Shows("row 1 of 1, page 1 of 1") || !d.Shows("> breakfasts") || d.Shows("loading") {
		t.Errorf("these are not the rows of the last change:\n%s", d.Screen())
	}
}

func TestAWrongChangeGivesTheRequestUpToo(t *testing.T) {
	t.Parallel()
	gate, gated := newGate(t, stocked(t))
	d := tuitest.Start(t, gated)
	d.See("row 1 of 120")
	d.Settle()
	gate.shut(true)
	d.Press("/")
	d.Paste("tea")
	gate.until(d, "the request", func() bool { return len(gate.alive) == 1 })
	d.Press("tab", "tab", "tab", "x")
	gate.until(d, "its end", func() bool { return len(gate.alive) == 0 })
	d.See("filter incomplete", "row 1 of 120")
	d.Press("esc")
	gate.until(d, "the request again", func() bool { return strings.Join(gate.alive, " ") == "tea" })
	gate.shut(false)
	d.See("row 1 of 40,")
}

func TestTheNextPageIsNotLoadedAheadWhileTheFilterChanges(t *testing.T) {
	t.Parallel()
	gate, gated := newGate(t, stocked(t))
	d := tuitest.Start(t, gated)
	d.See("row 1 of 120")
	d.Settle()
	gate.shut(true)
	d.Press("n") // shows the second page, and asks for the third
	gate.until(d, "the page ahead", func() bool { return len(gate.alive) == 1 })
	d.Press("/")
	d.Paste("tea")
	gate.until(d, "only the filter's request", func() bool { return strings.Join(gate.alive, " ") == "tea" && len(gate.alive) == 1 })
	gate.shut(false)
	d.See("row 1 of 40,")
}
