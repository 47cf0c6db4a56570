package operation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// network counts requests, and can make the service look like others.
type network struct {
	perks, pairs atomic.Int64 // requests for a perk, and for many pairs
	failing      atomic.Bool
	lacksPairs   bool                   // the service is of a version that answers for one pair only
	lacksAll     bool                   // it does not tell who can redeem what
	during       func(pairsRequest int) // is called before each request for many pairs is sent
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	isMany := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/eligibility")
	switch {
	case n.failing.Load():
		return nil, errors.New("connection failed")
	case n.lacksAll && strings.HasSuffix(r.URL.Path, "/eligibility"), n.lacksPairs && isMany:
		r = r.Clone(r.Context())
		r.URL.Path = "/nothing"
	case isMany:
		if count := n.pairs.Add(1); n.during != nil {
			n.during(int(count))
		}
	case !strings.Contains(r.URL.Path, "/users/"):
		n.perks.Add(1)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// newTestCheck starts a server with the perk coffee and the users alice and bob.
func newTestCheck(t *testing.T, n *network) (*EligibilityCheck, *client.Client) {
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "coffee"}},
		store.PerkRecord{Perk: api.Perk{ID: "tea", City: " York "}})
	server.ImportUsers("alice", "bob")
	c, err := client.New(client.Config{BaseURL: server.URL, Tokens: client.StaticToken(server.Token()), Transport: n})
	if err != nil {
		t.Fatal(err)
	}
	return NewEligibilityCheck(), c
}

// predictions asks about many pairs at once.
func (e *EligibilityCheck) predictions(ctx context.Context, c *client.Client, pairs []api.Pair) []Prediction {
	predictions := make([]Prediction, len(pairs))
	var asking sync.WaitGroup
	for i, pair := range pairs {
		asking.Go(func() { predictions[i].Message, predictions[i].Err = e.Predict(ctx, c, pair) })
	}
	asking.Wait()
	return predictions
}

// Whatever the service can be asked, each of many pairs gets its own answer.
func TestEachPairGetsItsAnswer(t *testing.T) {
	for name, n := range map[string]*network{
		"many at once": {}, "one by one": {lacksPairs: true}, "from lists": {lacksAll: true},
	} {
		t.Run(name, func(t *testing.T) {
			e, c := newTestCheck(t, n)
			var pairs []api.Pair
			var want []api.Code
			for range 10 {
				for _, user := range []string{"alice", "bob", "nobody"} {
					for _, perk := range []string{"coffee", "tea", "none"} {
						pairs = append(pairs, api.Pair{PerkID: perk, UserID: user})
						code := api.Code("")
						if user == "nobody" || perk == "none" {
							code = api.CodeNotFound
						}
						want = append(want, code)
					}
				}
			}
			for i, p := range e.predictions(t.Context(), c, pairs) {
				if api.CodeOf(p.Err) != want[i] || p.Err == nil && !strings.Contains(p.Message, pairs[i].UserID) {
					t.Errorf("%+v: %q, %v", pairs[i], p.Message, p.Err)
				}
			}
			if n.lacksAll && n.perks.Load() > 2*3+3 { // each perk once, and what the first answers took
				t.Errorf("%d requests for three perks", n.perks.Load())
			}
		})
	}
}

// Pairs that come while a request is under way share the next one, and one that the service refuses keeps no other from
// its answer.
func TestWaitingPairsShareARequest(t *testing.T) {
	const pairs = 90
	n := &network{}
	e, c := newTestCheck(t, n)
	var asking sync.WaitGroup
	ask := func(user string, want api.Code) {
		asking.Go(func() {
			if _, err := e.Predict(t.Context(), c, api.Pair{PerkID: "coffee", UserID: user}); api.CodeOf(err) != want {
				t.Errorf("%s: %v", user, err)
			}
		})
	}
	n.during = func(request int) {
		if request > 1 {
			return
		}
		for i := range pairs {
			ask(fmt.Sprintf("user-%d", i), api.CodeNotFound)
		}
		ask("a user", api.CodeValidationFailed)
		waitUntil(func() bool { e.queue.Lock(); defer e.queue.Unlock(); return len(e.waiting) == pairs+1 })
	}
	e.isAsking = true // so that the first request is for two pairs
	ask("alice", "")
	ask("bob", "")
	waitUntil(func() bool { e.queue.Lock(); defer e.queue.Unlock(); return len(e.waiting) == 2 })
	e.askAll(t.Context(), c)
	asking.Wait()
	if got := n.pairs.Load(); got != 2 {
		t.Errorf("%d requests for many pairs", got)
	}
}

func waitUntil(isSo func() bool) {
	for !isSo() {
		runtime.Gosched()
	}
}

func TestFailureIsNotKept(t *testing.T) {
	for _, n := range []*network{{}, {lacksAll: true}} {
		e, c := newTestCheck(t, n)
		pair := api.Pair{PerkID: "coffee", UserID: "alice"}
		n.failing.Store(true)
		if _, err := e.Predict(t.Context(), c, pair); err == nil {
			t.Fatal("the check succeeded")
		}
		n.failing.Store(false)
		if _, err := e.Predict(t.Context(), c, pair); err != nil {
			t.Error(err)
		}
	}
}

func TestKeptPerksAreBounded(t *testing.T) {
	e := NewEligibilityCheck()
	for i := range maxKnownPerks + 1 {
		e.perks.Add(fmt.Sprint(i), knownPerk{})
	}
	if got := e.perks.Len(); got != maxKnownPerks {
		t.Errorf("%d perks kept", got)
	}
}
