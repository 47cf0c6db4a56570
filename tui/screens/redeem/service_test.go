package redeem_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
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

// line is a real server behind a way that can be disturbed.
type line struct {
	t      *testing.T
	server *servertest.Server
	secret string // of the client that the terminal UI is
	id     string
	url    string

	mu      sync.Mutex
	redeems []string // the key and the body of each
	cut     int      // so many answers to redeems get lost after the work is done
	drop    int      // so many redeems get lost before anything is done
	dropped string   // only of this perk, if it is not ""
	deaf    bool     // nothing can be read
	meet    func()   // happens when a redeem gets lost before anything is done
	mute    bool     // the server gets no keys, as if it ignored them
	refuse  func(http.ResponseWriter) bool
	hold    chan struct{} // redeems wait for its end
	arrived chan struct{} // a redeem has come, and waits
	opened  int
	lists   int // that were read
}

var (
	lastYear = time.Date(2025, 11, 3, 14, 2, 0, 0, time.UTC)
	nextYear = time.Now().AddDate(1, 0, 0).UTC()
	one      = int64(1)
	none     = int64(0)
)

// dial starts a server with a perk of every kind, and the users alice and bob.
func dial(t *testing.T, options ...func(*server.Config)) *line {
	t.Helper()
	l := &line{t: t, server: servertest.Start(t, options...), arrived: make(chan struct{}, 1)}
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
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.pass(forward, w, r) }))
	t.Cleanup(proxy.Close)
	l.url = proxy.URL + "/v2"
	l.id, l.secret = l.server.Client()
	return l
}

func (l *line) pass(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	redeems := strings.HasSuffix(r.URL.Path, "/redeem")
	l.mu.Lock()
	cut, deaf, refuse, hold := redeems && l.cut > 0, l.deaf && !redeems && !strings.HasSuffix(r.URL.Path, "/auth/token"), l.refuse, l.hold
	drop := redeems && !cut && l.drop > 0 && strings.Contains(r.URL.Path, "/"+l.dropped)
	if cut {
		l.cut--
	}
	if drop {
		l.drop--
	}
	if redeems {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		l.redeems = append(l.redeems, r.Header.Get("Idempotency-Key")+" "+string(body))
	}
	if r.URL.Query().Get("type") == "redeemed" {
		l.lists++
	}
	if l.mute {
		r.Header.Del("Idempotency-Key")
	}
	l.mu.Unlock()
	if redeems && hold != nil {
		l.arrived <- struct{}{}
		<-hold
	}
	switch {
	case redeems && refuse != nil && refuse(w):
	case cut:
		forward.ServeHTTP(httptest.NewRecorder(), r) // the work is done
		hangUp(w)
	case deaf, drop:
		if drop && l.meet != nil {
			l.meet()
		}
		hangUp(w)
	default:
		forward.ServeHTTP(w, r)
	}
}

// another has another client redeem coffee for alice.
func (l *line) another() {
	request := l.server.Request(l.server.Token(), http.MethodPost, l.server.LiveURL()+"/perks/coffee/redeem", `{"user_id":"alice"}`)
	if status := l.server.Do(request, nil); status != http.StatusCreated {
		l.t.Errorf("another redeems: %d", status)
	}
}

func hangUp(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		connection.Close()
	}
}

// disturb changes the line.
func (l *line) disturb(change func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// sent returns the key and the body of each redeem so far.
func (l *line) sent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.redeems...)
}

func (l *line) reads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lists
}

// arrive has the first redeem of coffee reach the server after all.
func (l *line) arrive() {
	l.t.Helper()
	key, body, _ := strings.Cut(l.sent()[0], " ")
	request := l.server.Request(l.server.TokenFor(l.id, l.secret), http.MethodPost, l.server.LiveURL()+"/perks/coffee/redeem", body)
	request.Header.Set("Idempotency-Key", key)
	if status := l.server.Do(request, nil); status != http.StatusCreated {
		l.t.Errorf("it arrived and was answered %d", status)
	}
}

// stored returns what is redeemed in the server's store.
func (l *line) stored() []store.RedemptionRecord {
	l.t.Helper()
	var all []store.RedemptionRecord
	for record, err := range l.server.Live.ExportRedemptions(context.Background(), "") {
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, record)
	}
	return all
}

// perk returns what a list would give to the screen.
func (l *line) perk(id string) api.Perk {
	l.t.Helper()
	perk, err := l.server.Live.Perk(context.Background(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	return perk
}

// open begins with the screen for the perks.
func (l *line) open(userID string, perkIDs ...string) *tuitest.Driver {
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
