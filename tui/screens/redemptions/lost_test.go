package redemptions_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// lossy is a proxy that loses the replies to decisions, or holds the decisions.
type lossy struct {
	*servertest.Server
	loses atomic.Int64 // so many replies
	whole bool         // loses the requests too
	holds chan struct{}
	calls chan struct{} // a decision has arrived
}

// startLossy shows three redemptions that wait for approval.
func startLossy(t *testing.T) (*lossy, *tuitest.Driver) {
	t.Helper()
	l := &lossy{Server: pending(t), calls: make(chan struct{}, manyLost)}
	root, err := url.Parse(l.Root())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(root) }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, "/redemptions/") {
			forward.ServeHTTP(w, r)
			return
		}
		l.calls <- struct{}{}
		if l.holds != nil {
			select {
			case <-l.holds:
			case <-ended:
			}
		}
		if l.loses.Add(-1) < 0 {
			forward.ServeHTTP(w, r)
			return
		}
		if !l.whole {
			forward.ServeHTTP(httptest.NewRecorder(), r)
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(proxy.Close)
	t.Cleanup(func() { close(ended) }) // a failed test must not hold a request forever
	id, secret := l.Client()
	d := tuitest.StartAs(t, l, id, secret, func(o *tui.Options) {
		profile := screen.Profile{Name: "test", APIURL: proxy.URL + "/v2", ClientID: id}
		o.Accounts.(*tuitest.Accounts).Add(profile, secret)
	})
	d.See("Perks 2")
	redeem(t, d, "spa", "ann", "bob", "cid")
	d.Press("4")
	d.See("Redemptions 3", "cid", "pending")
	d.Settle()
	return l, d
}

func (l *lossy) statuses(t *testing.T) map[api.RedemptionStatus]int {
	t.Helper()
	found := map[api.RedemptionStatus]int{}
	for record, err := range l.Live.ExportRedemptions(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		found[record.Status]++
	}
	return found
}

const manyLost = 1000

func TestALostReplyIsConfirmedByTheRedemption(t *testing.T) {
	l, d := startLossy(t)
	l.loses.Store(manyLost)
	d.Press("A", "a")
	d.See("Approve 3 redemptions?")
	d.Press("y")
	d.See("Warning: 1 approved (reply lost, confirmed), 2 not sent.", "a approve 2")
	if got := l.statuses(t); got[api.StatusApproved] != 1 || got[api.StatusPending] != 2 {
		t.Errorf("the redemptions are %v", got)
	}
	l.loses.Store(0)
	d.Press("a")
	d.See("Approve 2 redemptions?")
	d.Press("y")
	d.See("Done: 2 redemptions approved.")
	d.Gone("marked")
}

func TestALostVoidIsConfirmedWithItsReason(t *testing.T) {
	l, d := startLossy(t)
	d.Press("a", "y")
	d.See("Done: 1 redemption approved.")
	d.Settle()
	l.loses.Store(manyLost)
	d.Press("ctrl+x")
	d.Type("wrong perk\n")
	d.See("Done: 1 redemption voided (reply lost, confirmed).", "wrong perk")
	if got := l.statuses(t); got[api.StatusVoided] != 1 {
		t.Errorf("the redemptions are %v", got)
	}
}

// A request that never arrived may still arrive, so its outcome is unknown; nothing else is sent.
func TestALostDecisionStaysUnknownAndMarked(t *testing.T) {
	l, d := startLossy(t)
	l.whole = true
	l.loses.Store(manyLost)
	d.Press("A", "a")
	d.See("Approve 3 redemptions?")
	d.Press("y")
	d.See("Error: 1 unknown, 2 not sent. No reply from ", "It is still pending.", "a approve 3")
	if got := l.statuses(t); got[api.StatusPending] != 3 {
		t.Errorf("the redemptions are %v", got)
	}
}

// TestADecisionByAnotherIsNotOurs loses an approval, after which another client has rejected the redemption.
func TestADecisionByAnotherIsNotOurs(t *testing.T) {
	l, d := startLossy(t)
	l.whole = true
	l.loses.Store(manyLost)
	l.holds = make(chan struct{})
	d.Press("a", "y")
	tuitest.Await(d, l.calls)
	for record, err := range l.Live.ExportRedemptions(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		address := l.LiveURL() + "/redemptions/" + record.ID + "/reject"
		other := l.Request(l.Token(), http.MethodPost, address, `{"reason":"a duplicate"}`)
		if status := l.Do(other, nil); status != http.StatusOK {
			t.Fatalf("rejecting as another client: %d", status)
		}
	}
	close(l.holds)
	d.See("Error: 1 not approved.", "is rejected by another decision.")
	d.Gone("unknown")
}

func TestProgressIsShownAndNothingElseIsOffered(t *testing.T) {
	l, d := startLossy(t)
	l.holds = make(chan struct{})
	d.Press("A", "a")
	d.See("Approve 3 redemptions?", "LIVE")
	d.Press("y")
	d.See("approving 1 of 3")
	d.Gone("approve 3")
	l.holds <- struct{}{}
	d.See("approving 2 of 3")
	d.Press("q")
	d.See("Quit?", "Approving 2 of 3. The rest would not be sent.")
	d.Press("n")
	close(l.holds)
	d.See("Done: 3 redemptions approved.")
	d.Gone("approving")
}
