package user_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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

// countingProxy is a proxy to a server that counts how often each perk is read.
type countingProxy struct {
	next      http.Handler
	missing   string        // the id of a perk that the server is made not to find
	hold      chan struct{} // reads wait until it is closed, or they are cancelled
	arrived   chan string   // the first reads
	cancelled chan string
	forbid    atomic.Bool // the client may not read perks

	mu      sync.Mutex
	reads   map[string]int
	current int
	most    int // at the same time
}

func (c *countingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path.Base(path.Dir(r.URL.Path)) != "perks" {
		c.next.ServeHTTP(w, r)
		return
	}
	id := path.Base(r.URL.Path)
	c.count(id, 1)
	defer c.count(id, -1)
	select {
	case c.arrived <- id:
	default:
	}
	select {
	case <-c.hold:
	case <-r.Context().Done():
		c.cancelled <- id
		return
	}
	if c.forbid.Load() {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Response: "The scope perks:read is missing.",
			Code: api.CodeForbidden})
		return
	}
	if id == c.missing {
		r.URL.Path += "-missing"
	}
	c.next.ServeHTTP(w, r)
}

func (c *countingProxy) count(id string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current += by
	c.most = max(c.most, c.current)
	c.reads[id] += max(by, 0)
}

func (c *countingProxy) total() (reads, perks, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.reads {
		reads += n
	}
	return reads, len(c.reads), c.most
}

// startCounting starts on the list of perks; alice has redeemed 60 of them.
func startCounting(t *testing.T) (*tuitest.Driver, *countingProxy) {
	t.Helper()
	server := servertest.Start(t)
	server.ImportUsers("alice")
	var perks []store.PerkRecord
	for i := 1; i <= 60; i++ {
		perks = append(perks, record(fmt.Sprintf("perk-%02d", i), fmt.Sprintf("Title %02d", i)))
	}
	server.ImportPerks(perks...)
	c := &countingProxy{
		missing: "perk-59", hold: make(chan struct{}), arrived: make(chan string, 4), cancelled: make(chan string, 4),
		reads: map[string]int{},
	}
	d := tuitest.Start(t, server.Behind(func(next http.Handler) http.Handler {
		c.next = next
		return c
	}))
	for _, p := range perks {
		if _, _, err := d.App.Shell().Account.Client.Redeem(context.Background(), p.ID,
			api.RedeemRequest{UserID: "alice"}, ""); err != nil {
			t.Fatal(err)
		}
	}
	return d, c
}

// open opens the user, and waits for the first reads.
func (c *countingProxy) open(d *tuitest.Driver) {
	d.Open(screen.ToUser{ID: "alice", Redeemed: true})
	d.See("Redeemed 60", "Available 0")
	for range cap(c.arrived) {
		tuitest.Await(d, c.arrived)
	}
	d.See("Redeemed 60", "perk-60")
}

func TestTitlesAreReadOnceAndFourAtATime(t *testing.T) {
	d, c := startCounting(t)
	c.open(d)
	close(c.hold)
	d.See("Title 60 ● approved perk-60")
	d.Settle()
	if reads, perks, most := c.total(); reads >= 50 || reads != perks || most != 4 {
		t.Errorf("%d requests for %d perks, %d at a time, for the rows that are visible or next", reads, perks, most)
	}
	if d.Shows("Title 59") || !d.Shows("perk-59 ● approved perk-59") {
		t.Errorf("a missing perk has more than its id:\n%s", d.Screen())
	}
	d.Press("G")
	d.See("Title 01 ● approved perk-01")
	d.Press("g")
	d.See("Title 60 ● approved perk-60")
	d.Settle()
	before, _, _ := c.total()
	d.Press("R")
	d.Settle()
	if reads, perks, _ := c.total(); reads != before+1 || reads != perks+1 || c.reads[c.missing] != 2 {
		t.Errorf("%d requests after a reload, %d before, %d of them for the missing perk", reads, before,
			c.reads[c.missing])
	}
}

func TestForbiddenTitlesAreNotAllRequested(t *testing.T) {
	d, c := startCounting(t)
	c.forbid.Store(true)
	c.open(d)
	close(c.hold)
	d.Settle()
	if reads, _, _ := c.total(); reads != 4 {
		t.Errorf("%d perks were read", reads)
	}
	c.forbid.Store(false)
	d.Press("R")
	d.See("Title 60 ● approved perk-60")
}

func TestLeavingTheUserCancelsReadingTitles(t *testing.T) {
	d, c := startCounting(t)
	c.open(d)
	d.Press("esc")
	for range cap(c.cancelled) {
		<-c.cancelled
	}
	d.Settle()
	if reads, _, _ := c.total(); reads != 4 {
		t.Errorf("%d perks were read", reads)
	}
}
