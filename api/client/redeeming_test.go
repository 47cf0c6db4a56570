package client_test

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
)

// redeemServer runs one handler of its script for each redeem, and lists what ann has redeemed: at first what she had
// before, which is nothing unless the server honours keys.
type redeemServer struct {
	script []http.HandlerFunc
	list   http.Handler
	before http.Handler

	mu   sync.Mutex
	keys []string
}

func (s *redeemServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		list := s.list
		if s.before != nil && len(s.sent()) == 0 {
			list = s.before
		}
		list.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	part := s.script[len(s.keys)]
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	s.mu.Unlock()
	part(w, r)
}

// sent returns the idempotency keys of the requests received.
func (s *redeemServer) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys)
}

// redeemOutcome is what a person wants to know of an attempt.
type redeemOutcome string

const (
	notRedeemed redeemOutcome = "not redeemed"
	redeemedNow redeemOutcome = "redeemed"
	unknown     redeemOutcome = "unknown"
)

func outcomeOf(r operation.Redeeming) redeemOutcome {
	switch r.State {
	case operation.NotMade:
		return notRedeemed
	case operation.Made:
		return redeemedNow
	}
	return unknown
}

func granted(w http.ResponseWriter, _ *http.Request) {
	reply(w, 201, map[string]any{"id": "ours", "perk_id": "p", "user_id": "ann", "status": "approved"})
}

func replay(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Idempotent-Replayed", "true")
	granted(w, r)
}

func listOf(made ...map[string]any) http.Handler { return &redeemed{items: made} }

// TestRedeemingOutcomes shows what the engine learns from the replies of a service. Its own tests walk all states.
func TestRedeemingOutcomes(t *testing.T) {
	type handlers = []http.HandlerFunc
	ours, theirs := listOf(listItem("ours", "p", time.Now().Add(time.Hour), "")),
		listOf(listItem("theirs", "p", time.Now().Add(time.Hour), ""))
	soldOut, duplicate := code(409, "sold_out"), code(409, "already_redeemed")
	appears := func() http.Handler { return &delayedList{empty: 1, then: ours} }
	for name, test := range map[string]struct {
		script  handlers
		list    http.Handler
		before  http.Handler
		taken   string
		sends   int // 0: one for each handler
		want    redeemOutcome
		replay  bool
		earlier bool
		likely  bool // a candidate is named
		unread  bool
	}{
		"redeemed": {script: handlers{granted}, want: redeemedNow},
		"replayed": {script: handlers{replay}, want: redeemedNow, replay: true},
		"refused":  {script: handlers{soldOut}, want: notRedeemed},

		"lost, similar one listed":        {script: handlers{cut}, list: ours, want: unknown, likely: true},
		"lost, similar one listed before": {script: handlers{cut}, list: ours, before: ours, want: unknown},
		"lost, another's is listed":       {script: handlers{cut}, list: ours, taken: "ours", want: unknown},
		"lost, not listed":                {script: handlers{cut}, want: unknown},
		"lost, list unavailable":          {script: handlers{cut}, list: status(503), want: unknown, unread: true},

		"lost, confirmed by its key": {
			script: handlers{cut, replay}, list: keyedList(ours), sends: 1, want: redeemedNow, earlier: true,
		},
		"lost, confirmed without the replay header": {
			script: handlers{cut, granted}, list: keyedList(ours), sends: 1, want: redeemedNow, earlier: true,
		},
		"lost, redeemed beside another client's": {
			script: handlers{cut, granted}, list: keyedList(theirs), sends: 1, want: redeemedNow,
		},
		"lost, redeemed by another client": {
			script: handlers{cut, withKey(duplicate)}, list: keyedList(ours), sends: 1, want: notRedeemed,
		},
		"lost, another client got the last unit": {
			script: handlers{cut, withKey(soldOut)}, list: keyedList(theirs), sends: 1, want: notRedeemed,
		},
		"lost, refused by a proxy": {
			script: handlers{cut, duplicate}, list: keyedList(ours), sends: 1, want: unknown, likely: true,
			unread: true,
		},

		"lost, then replayed":       {script: handlers{cut, replay}, want: redeemedNow, earlier: true},
		"lost, then redeemed":       {script: handlers{cut, granted}, want: redeemedNow},
		"lost, then not authorized": {script: handlers{cut, status(401)}, want: unknown},
		"lost, then sold out":       {script: handlers{cut, withKey(soldOut)}, want: notRedeemed},
		"lost, then sold out, list unavailable": {
			script: handlers{cut, withKey(soldOut)}, list: status(503), want: unknown, unread: true,
		},
		"lost, then sold out, keys ignored": {script: handlers{cut, soldOut}, want: unknown},
		"lost, then a duplicate": {
			script: handlers{cut, withKey(duplicate)}, list: appears(), want: notRedeemed,
		},
		"lost, then a duplicate, keys ignored": {
			script: handlers{cut, duplicate}, list: appears(), want: unknown, likely: true,
		},
		"lost, then sold out, redeemed later": {
			script: handlers{cut, withKey(soldOut), replay}, list: appears(), sends: 2, want: redeemedNow,
			earlier: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.list == nil {
				test.list = listOf()
			}
			switch test.list.(type) {
			case *redeemed, *delayedList: // which honour no keys
				if test.before == nil {
					test.before = listOf()
				}
			}
			service := &redeemServer{script: test.script, list: test.list, before: test.before}
			c := serve(t, service)
			r := operation.NewRedeeming("p", api.RedeemRequest{UserID: "ann"}, "key")
			for range cmp.Or(test.sends, len(test.script)) {
				r = r.Send(t.Context(), c, func(id string) bool { return id == test.taken })
			}
			if outcomeOf(r) != test.want || r.Replayed != test.replay || r.Earlier != test.earlier ||
				(r.Candidate.ID != "") != test.likely || (r.CheckErr != nil) != test.unread {
				t.Errorf("got %+v", r)
			}
			if done := outcomeOf(r) == redeemedNow; done != (r.Failure() == nil) || done != (r.Result.ID == "ours") ||
				(outcomeOf(r) == unknown) == r.Since().IsZero() {
				t.Errorf("got %+v", r)
			}
			if slices.ContainsFunc(service.sent(), func(key string) bool { return key != "key" }) {
				t.Errorf("sent the keys %q", service.sent())
			}
			if len(service.sent()) != len(test.script) {
				t.Errorf("%d requests to redeem, want %d", len(service.sent()), len(test.script))
			}
			sent := len(service.sent())
			if outcomeOf(r) == redeemedNow {
				r.Send(t.Context(), c, nil)
			}
			if len(service.sent()) != sent {
				t.Error("a redemption was sent again")
			}
		})
	}
}

// keyedList serves the list and echoes the idempotency key, as a service that honours keys does.
func keyedList(list http.Handler) http.Handler { return withKey(list.ServeHTTP) }

// delayedList serves an empty list a few times, then another one.
type delayedList struct {
	empty int
	then  http.Handler
}

func (l *delayedList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.empty--; l.empty >= 0 {
		listOf().ServeHTTP(w, r)
		return
	}
	l.then.ServeHTTP(w, r)
}

func TestRedeemingChecksFromFirstUncertainAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		first  http.HandlerFunc
		likely string
	}{
		"first attempt lost":    {cut, "ours"},
		"first attempt refused": {status(401), ""}, // another client's redemption
	} {
		list := &redeemed{}
		clock := &fakeClock{}
		c := serve(t, &redeemServer{script: []http.HandlerFunc{test.first, cut}, list: list}, clock.config,
			func(c *client.Config) { c.WaitBudget = 0 })
		r := operation.NewRedeeming("p", api.RedeemRequest{UserID: "ann"}, "key").Send(t.Context(), c, nil)
		began := clock.now
		clock.now, list.ahead = clock.now.Add(time.Minute), time.Minute
		list.items = []map[string]any{listItem("ours", "p", began.Add(time.Second), "")}
		if r = r.Send(t.Context(), c, nil); outcomeOf(r) != unknown || r.Candidate.ID != test.likely {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestCheckFindsLateRedemption(t *testing.T) {
	c := serve(t, &redeemServer{
		script: []http.HandlerFunc{cut, replay}, before: listOf(),
		list: &delayedList{empty: 2, then: keyedList(listOf(listItem("ours", "p", time.Now(), "")))},
	})
	r := operation.NewRedeeming("p", api.RedeemRequest{UserID: "ann"}, "key")
	if r = r.Check(t.Context(), c, nil); outcomeOf(r) != notRedeemed {
		t.Fatalf("nothing sent, but got %+v", r)
	}
	r = r.Send(t.Context(), c, nil)
	for _, want := range []redeemOutcome{unknown, redeemedNow, redeemedNow} {
		if r = r.Check(t.Context(), c, nil); outcomeOf(r) != want {
			t.Fatalf("checked: got %+v, want %v", r, want)
		}
	}
}

// A service forgets idempotency keys after a day. With an older key its replies prove nothing, and a retry may redeem
// twice.
func TestRedeemingWithExpiredKeyStaysUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		age  time.Duration
		sent int
		want redeemOutcome
	}{
		"just valid": {client.KeyLifetime - time.Second, 2, notRedeemed},
		"expired":    {client.KeyLifetime, 1, unknown},
	} {
		clock := &fakeClock{}
		service := &redeemServer{script: []http.HandlerFunc{cut, withKey(code(409, "already_redeemed")),
			withKey(code(409, "already_redeemed"))}, list: listOf()}
		c := serve(t, service, clock.config, func(c *client.Config) { c.WaitBudget = 0 })
		r := operation.NewRedeeming("p", api.RedeemRequest{UserID: "ann"}, "key").Send(t.Context(), c, nil)
		clock.now = clock.now.Add(test.age)
		service.list = keyedList(listOf(listItem("another's", "p", time.Now().Add(time.Hour), "")))
		if r = r.Check(t.Context(), c, nil); outcomeOf(r) != test.want || len(service.sent()) != test.sent {
			t.Errorf("%s: %d requests, got %+v", name, len(service.sent()), r)
		}
		if test.want == unknown {
			if r = r.Send(t.Context(), c, nil); outcomeOf(r) != unknown || r.Candidate.ID == "" {
				t.Errorf("%s: retried: got %+v", name, r)
			}
		}
	}
}

// The deadline may have passed when the reply is lost, so checking has its own timeout.
func TestRedeemingChecksAfterDeadline(t *testing.T) {
	c := serve(t, &redeemServer{script: []http.HandlerFunc{cut, replay},
		list: &delayedList{empty: 1, then: keyedList(listOf(listItem("ours", "p", time.Now(), "")))}})
	r := operation.NewRedeeming("p", api.RedeemRequest{UserID: "ann"}, "key").Send(t.Context(), c, nil)
	if r = r.Check(t.Context(), c.Until(time.Now().Add(-time.Second)), nil); outcomeOf(r) != redeemedNow {
		t.Errorf("got %+v", r)
	}
}
