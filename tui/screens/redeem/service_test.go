package redeem_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// faultyServer is a real server behind a proxy that can fail.
type faultyServer struct {
	t      *testing.T
	server *servertest.Server
	secret string // of the client of the terminal UI
	id     string
	url    string

	mu           sync.Mutex
	redeems      []string // the key and the body of each
	loseReplies  int      // of so many redeem requests
	loseRequests int      // so many redeem requests
	losePerk     string   // limits loseRequests to this perk, if it is not ""
	failReads    bool
	onLost       func() // runs when a request is lost
	dropKeys     bool   // the server gets no keys, as if it ignored them
	refuse       func(http.ResponseWriter) bool
	hold         chan struct{} // redeem requests wait until it is closed
	arrived      chan struct{} // a redeem request waits
	opened       int
	lists        int      // requests of lists
	asked        []string // the users of requests of eligibility
	unsupported  bool     // there is no eligibility
	holdAnswers  chan struct{}
}

var (
	lastYear = time.Date(2025, 11, 3, 14, 2, 0, 0, time.UTC)
	nextYear = time.Now().AddDate(1, 0, 0).UTC()
	one      = int64(1)
	none     = int64(0)
)

// startServer starts a server with a perk of every kind, and the users alice and bob.
func startServer(t *testing.T, options ...func(*server.Config)) *faultyServer {
	t.Helper()
	l := &faultyServer{t: t, server: servertest.Start(t, options...), arrived: make(chan struct{}, 1)}
	l.server.ImportUsers("alice", "bob")
	l.server.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "coffee", Title: "Coffee for two"}},
		store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "A pot of tea"}},
		store.PerkRecord{Perk: api.Perk{ID: "spa", Title: "Spa day"}, Approval: store.ApprovalManual},
		store.PerkRecord{Perk: api.Perk{ID: "last", Title: "The last one"}, Stock: &one},
		store.PerkRecord{Perk: api.Perk{ID: "gone", Title: "All gone"}, Stock: &none},
		store.PerkRecord{Perk: api.Perk{ID: "old", Title: "Old soup", ValidTo: &lastYear}},
		store.PerkRecord{Perk: api.Perk{ID: "new", Title: "New soup", ValidFrom: &nextYear}},
	)
	target, err := url.Parse(l.server.Root())
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		l.serve(forward, w, r)
	}))
	t.Cleanup(proxy.Close)
	l.url = proxy.URL + "/v2"
	l.id, l.secret = l.server.Client()
	return l
}

func (l *faultyServer) serve(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	redeems := strings.HasSuffix(r.URL.Path, "/redeem")
	l.mu.Lock()
	loseReply, failRead, refuse, hold := redeems && l.loseReplies > 0,
		l.failReads && !redeems && !strings.HasSuffix(r.URL.Path, "/auth/token"), l.refuse, l.hold
	loseRequest := redeems && !loseReply && l.loseRequests > 0 && strings.Contains(r.URL.Path, "/"+l.losePerk)
	if loseReply {
		l.loseReplies--
	}
	if loseRequest {
		l.loseRequests--
	}
	if redeems {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		l.redeems = append(l.redeems, r.Header.Get("Idempotency-Key")+" "+string(body))
	}
	if r.URL.Query().Get("type") == "redeemed" {
		l.lists++
	}
	asks, unsupported, holdAnswers := strings.HasSuffix(r.URL.Path, "/eligibility"), l.unsupported, l.holdAnswers
	if asks {
		l.asked = append(l.asked, r.URL.Query().Get("user_id"))
	}
	if l.dropKeys {
		r.Header.Del("Idempotency-Key")
	}
	l.mu.Unlock()
	if redeems && hold != nil {
		l.arrived <- struct{}{}
		<-hold
	}
	if asks && holdAnswers != nil {
		<-holdAnswers
	}
	switch {
	case asks && unsupported:
		http.NotFound(w, r)
	case redeems && refuse != nil && refuse(w):
	case loseReply:
		forward.ServeHTTP(httptest.NewRecorder(), r) // only the reply is lost
		breakConnection(w)
	case failRead, loseRequest:
		if loseRequest && l.onLost != nil {
			l.onLost()
		}
		breakConnection(w)
	default:
		forward.ServeHTTP(w, r)
	}
}

// redeemElsewhere redeems a perk for alice as another client.
func (l *faultyServer) redeemElsewhere(perk string) {
	url := l.server.LiveURL() + "/perks/" + perk + "/redeem"
	request := l.server.Request(l.server.Token(), http.MethodPost, url, `{"user_id":"alice"}`)
	if status := l.server.Do(request, nil); status != http.StatusCreated {
		l.t.Errorf("another client redeems: status %d", status)
	}
}

func breakConnection(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		connection.Close()
	}
}

// set changes how the server fails.
func (l *faultyServer) set(change func(*faultyServer)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// sent returns the key and the body of each redeem so far.
func (l *faultyServer) sent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.redeems...)
}

// questions returns the users whose eligibility was asked for.
func (l *faultyServer) questions() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.asked)
}

func (l *faultyServer) reads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lists
}

// deliver lets the first redeem request, of coffee, reach the server late.
func (l *faultyServer) deliver() {
	l.t.Helper()
	key, body, _ := strings.Cut(l.sent()[0], " ")
	request := l.server.Request(l.server.TokenFor(l.id, l.secret), http.MethodPost,
		l.server.LiveURL()+"/perks/coffee/redeem", body)
	request.Header.Set("Idempotency-Key", key)
	if status := l.server.Do(request, nil); status != http.StatusCreated {
		l.t.Errorf("the late request got status %d", status)
	}
}

// stored returns the redemptions in the server's store.
func (l *faultyServer) stored() []api.RedemptionRecord {
	l.t.Helper()
	var all []api.RedemptionRecord
	for record, err := range l.server.Live.ExportRedemptions(context.Background(), "") {
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, record)
	}
	return all
}

// perk returns a perk as a list would pass it to the screen.
func (l *faultyServer) perk(id string) api.Perk {
	l.t.Helper()
	perk, err := l.server.Live.Perk(context.Background(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	return perk
}

// open starts on the screen that redeems the perks.
func (l *faultyServer) open(userID string, perkIDs ...string) *tuitest.Driver {
	l.t.Helper()
	to := screen.ToRedeem{UserID: userID}
	for _, id := range perkIDs {
		to.Perks = append(to.Perks, l.perk(id))
	}
	l.opened++
	of, n := l.opened, 0
	return tuitest.StartAs(l.t, l.server, l.id, l.secret, tuitest.Route(to), func(o *tui.Options) {
		o.Accounts.(*tuitest.Accounts).Add(screen.Profile{Name: "test", APIURL: l.url, ClientID: l.id}, l.secret)
		o.NewID = func() string { n++; return fmt.Sprintf("key-%d-%d", of, n) }
	})
}
