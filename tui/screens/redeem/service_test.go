package redeem_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// faultyServer is a real server behind a proxy that can fail, and a terminal UI.
type faultyServer struct {
	*tuitest.Driver
	t      *testing.T
	server *servertest.Server
	id     string // of the client of the terminal UI
	secret string
	url    string

	mu           sync.Mutex
	redeems      []redeem
	loseReplies  int    // the number of redeem requests whose reply is lost
	loseRequests int    // the number of redeem requests that are lost
	losePerk     string // limits loseRequests to this perk, if it is not ""
	failReads    bool
	onLost       func()        // runs when a request is lost
	dropKeys     bool          // the server gets no keys, as if it ignored them
	refusal      string        // the status and the code of each redeem; "" refuses none
	hold         chan struct{} // redeem requests wait until it is closed
	arrived      chan struct{} // a redeem request waits
	lists        int           // requests of lists
	asked        []string      // the users of requests of eligibility
	unsupported  bool          // there is no eligibility
	holdAnswers  chan struct{} // eligibility waits until it is closed
}

// redeem is a request to redeem.
type redeem struct{ perk, key, body string }

// String is the perk, the key, the metadata if there is any, and the user unless that is alice.
func (r redeem) String() string {
	var request api.RedeemRequest
	_ = json.Unmarshal([]byte(r.body), &request)
	text := r.perk + " " + r.key
	if request.Metadata != nil {
		text += " " + string(request.Metadata)
	}
	if request.UserID != "alice" {
		text += " for " + request.UserID
	}
	return text
}

var (
	lastYear = time.Date(2025, 11, 3, 14, 2, 0, 0, time.UTC)
	nextYear = time.Now().AddDate(1, 0, 0).UTC()
	one      = int64(1)
	none     = int64(0)
)

// startServer starts a server with a perk of every kind, and the users alice and bob, and the terminal UI on the list
// of perks, as a client with all scopes, or with these.
func startServer(t *testing.T, scopes ...api.Scope) *faultyServer {
	t.Helper()
	l := &faultyServer{t: t, server: servertest.Start(t), arrived: make(chan struct{}, 1)}
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
	l.id, l.secret = l.server.Client(scopes...)
	front := l.server.Behind(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serve(next, w, r) })
	})
	l.url = front.URL
	l.Driver = tuitest.StartAs(t, front, l.id, l.secret)
	l.Settle()
	l.Commands, l.Received = l.commands(), l.sent
	return l
}

// commands are what scenarios do beside the screen.
func (l *faultyServer) commands() map[string]func(argument string) {
	set := func(change func(argument string)) func(string) {
		return func(argument string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			change(argument)
		}
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			l.t.Fatal(err)
		}
		return n
	}
	holds := func(held *chan struct{}) func(string) {
		var release func()
		return set(func(how string) {
			if how == "held" {
				*held = make(chan struct{})
				release = sync.OnceFunc(func() { close(*held) })
				l.t.Cleanup(release)
				return
			}
			release()
		})
	}
	return map[string]func(string){
		"open":         l.open,
		"perk":         func(id string) { l.Open(screen.ToPerk{ID: id}) },
		"lost replies": set(func(n string) { l.loseReplies = number(n) }),
		"lost requests": set(func(text string) {
			var n string
			n, l.losePerk, _ = strings.Cut(text, " of ")
			l.loseRequests = number(n)
		}),
		"reads":       set(func(how string) { l.failReads = how == "fail" }),
		"keys":        set(func(how string) { l.dropKeys = how == "dropped" }),
		"refuses":     set(func(refusal string) { l.refusal = refusal }),
		"redeems":     holds(&l.hold),
		"eligibility": set(func(how string) { l.unsupported = how == "unsupported" }),
		"answers":     holds(&l.holdAnswers),
		"arrives":     func(string) { tuitest.Await(l.Driver, l.arrived) },
		"delivers":    func(string) { l.deliver() },
		// what happens elsewhere: now, or when a request is lost
		"elsewhere":           l.redeemElsewhere,
		"elsewhere when lost": set(func(perk string) { l.onLost = func() { l.redeemElsewhere(perk) } }),
		"rejected": func(perk string) {
			rejected := store.Decision{Status: api.StatusRejected}
			if _, err := l.server.Live.DecideRedemption(l.t.Context(), l.redemption(perk).ID, rejected, store.Operator,
				time.Now()); err != nil {
				l.t.Fatal(err)
			}
		},
		"restocked": func(string) {
			l.server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "gone", Title: "All gone"}, Stock: &one})
		},
		"imported": func(user string) { l.server.ImportUsers(user) },
		"stored": func(want string) {
			var got []string
			for _, r := range l.stored() {
				got = append(got, r.PerkID+" "+string(r.Status))
			}
			slices.Sort(got)
			if text := strings.Join(got, " | "); text != want {
				l.t.Errorf("stored %q, want %q", text, want)
			}
		},
		"copied": func(perk string) { // the id of the redemption of a perk
			if got := l.Desktop.Copied(); got != l.redemption(perk).ID {
				l.t.Errorf("copied %q", got)
			}
		},
		"shows":   func(perk string) { l.See("Id " + l.redemption(perk).ID) },
		"hides":   func(perk string) { l.Gone(l.redemption(perk).ID) },
		"sandbox": func(string) { l.App.Shell().Account.Profile.Sandbox = true },
		"expired": func(string) { l.Accounts.Expire() },
		"secret":  func(string) { l.Type(l.secret + "\n") },
	}
}

// redemption is the one of a perk.
func (l *faultyServer) redemption(perk string) api.RedemptionRecord {
	l.t.Helper()
	all := l.stored()
	at := slices.IndexFunc(all, func(r api.RedemptionRecord) bool { return r.PerkID == perk })
	if at < 0 {
		l.t.Fatalf("nobody has redeemed %s", perk)
	}
	return all[at]
}

func (l *faultyServer) serve(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	redeems := strings.HasSuffix(r.URL.Path, "/redeem")
	l.mu.Lock()
	loseReply, failRead, refusal, hold := redeems && l.loseReplies > 0,
		l.failReads && !redeems && !strings.HasSuffix(r.URL.Path, "/auth/token"), l.refusal, l.hold
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
		perk := path.Base(path.Dir(r.URL.Path))
		l.redeems = append(l.redeems, redeem{perk, r.Header.Get("Idempotency-Key"), string(body)})
	}
	if r.URL.Query().Get("type") == "redeemed" {
		l.lists++
	}
	asks, unsupported, holdAnswers := strings.HasSuffix(r.URL.Path, "/eligibility"), l.unsupported, l.holdAnswers
	if asks {
		l.asked = append(l.asked, askedUser(r))
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
	case redeems && refusal != "":
		status, code, _ := strings.Cut(refusal, " ")
		n, _ := strconv.Atoi(status)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(n)
		fmt.Fprintf(w, `{"response":"No.","code":%q}`, code)
	case loseReply:
		forward.ServeHTTP(httptest.NewRecorder(), r) // only the reply is lost
		panic(http.ErrAbortHandler)
	case failRead, loseRequest:
		if loseRequest && l.onLost != nil {
			l.onLost()
		}
		panic(http.ErrAbortHandler)
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

// sent returns the redeems so far.
func (l *faultyServer) sent() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.redeems {
		all = append(all, r.String())
	}
	return all
}

// askedUser is the user of a request of eligibility: of one perk, or of many pairs.
func askedUser(r *http.Request) string {
	if r.Method == http.MethodGet {
		return r.URL.Query().Get("user_id")
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	pairs, _ := api.ParsePairs(body)
	return pairs[0].UserID
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

// deliver lets the first redeem request reach the server late.
func (l *faultyServer) deliver() {
	l.t.Helper()
	l.mu.Lock()
	first := l.redeems[0]
	l.mu.Unlock()
	request := l.server.Request(l.server.TokenFor(l.id, l.secret), http.MethodPost,
		l.server.LiveURL()+"/perks/"+first.perk+"/redeem", first.body)
	request.Header.Set("Idempotency-Key", first.key)
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

// open opens the screen that redeems perks: "coffee tea", or "coffee tea for alice".
func (l *faultyServer) open(perksAndUser string) {
	l.t.Helper()
	ids, user, _ := strings.Cut(perksAndUser, " for ")
	to := screen.ToRedeem{UserID: user}
	for id := range strings.FieldsSeq(ids) {
		to.Perks = append(to.Perks, l.perk(id))
	}
	l.Open(to)
}
