package user_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// counted stands before a server and counts how often each perk is read.
type counted struct {
	behind http.Handler
	gone   string        // a perk that the server is asked for by an id that it does not know
	hold   chan struct{} // reads wait until it is closed, or they are given up
	came   chan string   // the first ones
	ended  chan string   // those that were given up
	forbid atomic.Bool   // the client may not read perks

	mu    sync.Mutex
	reads map[string]int
	now   int
	most  int // at the same time
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path.Base(path.Dir(r.URL.Path)) != "perks" {
		c.behind.ServeHTTP(w, r)
		return
	}
	id := path.Base(r.URL.Path)
	c.count(id, 1)
	defer c.count(id, -1)
	select {
	case c.came <- id:
	default:
	}
	select {
	case <-c.hold:
	case <-r.Context().Done():
		c.ended <- id
		return
	}
	if c.forbid.Load() {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Response: "The scope perks:read is missing.", Code: api.CodeForbidden})
		return
	}
	if id == c.gone {
		r.URL.Path += "-gone"
	}
	c.behind.ServeHTTP(w, r)
}

func (c *counted) count(id string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += by
	c.most = max(c.most, c.now)
	c.reads[id] += max(by, 0)
}

func (c *counted) total() (reads, perks, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.reads {
		reads += n
	}
	return reads, len(c.reads), c.most
}

// afterMany is the list of perks with somebody who has redeemed 60 of them.
func afterMany(t *testing.T) (*tuitest.Driver, *counted) {
	t.Helper()
	server := servertest.Start(t)
	server.ImportUsers("alice")
	var perks []store.PerkRecord
	for i := 1; i <= 60; i++ {
		perks = append(perks, record(fmt.Sprintf("perk-%02d", i), fmt.Sprintf("Title %02d", i)))
	}
	server.ImportPerks(perks...)
	root, err := url.Parse(server.Root())
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{
		behind: httputil.NewSingleHostReverseProxy(root), gone: "perk-59", hold: make(chan struct{}),
		came: make(chan string, 4), ended: make(chan string, 4), reads: map[string]int{},
	}
	before := httptest.NewServer(c)
	t.Cleanup(before.Close)
	gated := *server
	gated.URL = before.URL + "/v2"
	d := tuitest.Start(t, &gated)
	for _, p := range perks {
		if _, _, err := d.App.Shell().Account.Client.Redeem(context.Background(), p.ID, api.RedeemRequest{UserID: "alice"}, ""); err != nil {
			t.Fatal(err)
		}
	}
	return d, c
}

// show shows what was redeemed, up to where the first perks are being read.
func (c *counted) show(d *tuitest.Driver) {
	d.Press("tab")
	d.Until("four reads", func() bool { return d.Running() == cap(c.came) })
	for range cap(c.came) {
		<-c.came
	}
	d.See("[Redeemed 60]", "perk-60")
}

func TestRedeemedPerksAreReadOnceAndFewAtATime(t *testing.T) {
	d, c := afterMany(t)
	d.Open(screen.ToUser{ID: "alice"})
	d.See("Redeemed 60")
	d.Settle()
	if reads, _, _ := c.total(); reads != 0 {
		t.Errorf("%d perks were read for a tab that is not shown", reads)
	}
	c.show(d)
	close(c.hold)
	d.See("Title 60 perk-60")
	d.Settle()
	if reads, perks, most := c.total(); reads != 50 || perks != 50 || most != 4 {
		t.Errorf("%d requests for %d perks, %d at a time, for a page of 50", reads, perks, most)
	}
	if d.Shows("Title 59") || !d.Shows("perk-59 approved") {
		t.Errorf("a perk that is gone has not its id alone:\n%s", d.Screen())
	}
	d.Press("n")
	d.See("Title 05 perk-05") // not perk-10: of two that were redeemed in one millisecond, either may be on page 1
	d.Settle()
	d.Press("p", "tab", "tab", "n")
	d.See("Title 05 perk-05")
	d.Settle()
	if reads, perks, _ := c.total(); reads != 60 || perks != 60 {
		t.Errorf("%d requests for %d perks", reads, perks)
	}
	d.Press("p")
	d.See("Title 60 perk-60")
	d.Press("R")
	d.Settle()
	if reads, _, _ := c.total(); reads != 61 || c.reads[c.gone] != 2 {
		t.Errorf("%d requests after loading again, %d of them for the perk that is gone", reads, c.reads[c.gone])
	}
}

func TestAClientThatMayNotReadPerksAsksForFewTitles(t *testing.T) {
	d, c := afterMany(t)
	d.Open(screen.ToUser{ID: "alice"})
	d.See("Redeemed 60")
	d.Settle()
	c.forbid.Store(true)
	c.show(d)
	close(c.hold)
	d.Settle()
	if reads, _, _ := c.total(); reads != 4 {
		t.Errorf("%d perks were read", reads)
	}
	c.forbid.Store(false)
	d.Press("R")
	d.See("Title 60 perk-60")
}

func TestLeavingTheUserGivesUpTheTitles(t *testing.T) {
	d, c := afterMany(t)
	d.Open(screen.ToUser{ID: "alice"})
	d.See("Redeemed 60")
	d.Settle()
	c.show(d)
	d.Press("esc")
	for range cap(c.ended) {
		<-c.ended
	}
	d.Settle()
	if reads, _, _ := c.total(); reads != 4 {
		t.Errorf("%d perks were read", reads)
	}
}
