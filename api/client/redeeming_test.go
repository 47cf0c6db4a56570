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
)

// counter is a service that plays one part of its script for each redeem, and shows a list of what ann has redeemed.
type counter struct {
	script []http.HandlerFunc
	list   http.Handler

	mu   sync.Mutex
	keys []string
}

func (s *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.list.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	part := s.script[len(s.keys)]
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	s.mu.Unlock()
	part(w, r)
}

// sent returns the keys of the requests that have arrived.
func (s *counter) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys)
}

func granted(w http.ResponseWriter, _ *http.Request) {
	reply(w, 201, map[string]any{"id": "ours", "perk_id": "p", "user_id": "ann", "status": "approved"})
}

func replay(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Idempotent-Replayed", "true")
	granted(w, r)
}

func listOf(items ...map[string]any) http.Handler { return &redeemed{items: items} }

func TestRedeemingIsCertainOrInDoubt(t *testing.T) {
	type parts = []http.HandlerFunc
	ours, theirs := made("ours", "p", time.Now().Add(time.Hour), ""), made("theirs", "p", time.Now().Add(time.Hour), "")
	soldOut, duplicate := code(409, "sold_out"), code(409, "already_redeemed")
	for name, test := range map[string]struct {
		script  parts
		list    http.Handler
		taken   string
		sends   int // 0 is one for each part
		want    client.Outcome
		replay  bool
		earlier bool
		likely  bool // a candidate is named
		unread  bool
	}{
		"answered":                                      {script: parts{granted}, want: client.Redeemed},
		"answered with a replay":                        {script: parts{replay}, want: client.Redeemed, replay: true},
		"refused":                                       {script: parts{soldOut}, want: client.NotRedeemed},
		"refused, then answered":                        {script: parts{status(401), granted}, want: client.Redeemed},
		"refused for its key":                           {script: parts{withKey(code(422, "idempotency_key_reused"))}, want: client.NotRedeemed},
		"lost, and one like it in the list":             {script: parts{cut}, list: listOf(ours), want: client.Unknown, likely: true},
		"failed, and one like it in the list":           {script: parts{status(500)}, list: listOf(ours), want: client.Unknown, likely: true},
		"lost, and confirmed under its key":             {script: parts{cut, replay}, list: asked(listOf(ours)), sends: 1, want: client.Redeemed, earlier: true},
		"lost, and confirmed without a word":            {script: parts{cut, granted}, list: asked(listOf(ours)), sends: 1, want: client.Redeemed, earlier: true},
		"lost, and redeemed beside another's":           {script: parts{cut, granted}, list: asked(listOf(theirs)), sends: 1, want: client.Redeemed},
		"lost, and another has it":                      {script: parts{cut, withKey(duplicate)}, list: asked(listOf(ours)), sends: 1, want: client.NotRedeemed},
		"lost, and another had the last unit":           {script: parts{cut, withKey(soldOut)}, list: asked(listOf(theirs)), sends: 1, want: client.NotRedeemed},
		"lost, and refused by something before":         {script: parts{cut, duplicate}, list: asked(listOf(ours)), sends: 1, want: client.Unknown, likely: true, unread: true},
		"lost, and lost again while it is confirmed":    {script: parts{cut, cut}, list: asked(listOf(ours)), sends: 1, want: client.Unknown, likely: true, unread: true},
		"lost, and not in the list of one that asks":    {script: parts{cut}, list: asked(listOf()), want: client.Unknown},
		"lost, and another's in the list":               {script: parts{cut}, list: listOf(ours), taken: "ours", want: client.Unknown},
		"lost, and not in the list":                     {script: parts{cut}, want: client.Unknown},
		"lost, and the list too":                        {script: parts{cut}, list: status(503), want: client.Unknown, unread: true},
		"lost, then answered with what it did":          {script: parts{cut, replay}, want: client.Redeemed, earlier: true},
		"lost, then done":                               {script: parts{cut, granted}, want: client.Redeemed},
		"lost twice":                                    {script: parts{cut, cut}, want: client.Unknown},
		"lost, then not authorized":                     {script: parts{cut, status(401)}, want: client.Unknown},
		"lost, then put off":                            {script: parts{cut, withKey(status(429))}, want: client.Unknown},
		"lost, then no such perk":                       {script: parts{cut, withKey(code(404, "not_found"))}, want: client.Unknown},
		"lost, then sold out":                           {script: parts{cut, withKey(soldOut)}, want: client.NotRedeemed},
		"lost, then sold out, and the list is lost":     {script: parts{cut, withKey(soldOut)}, list: status(503), want: client.Unknown, unread: true},
		"lost, then sold out at one that heeds no keys": {script: parts{cut, soldOut}, want: client.Unknown},
		"lost, then a duplicate":                        {script: parts{cut, withKey(duplicate)}, want: client.NotRedeemed},
		"lost, then a duplicate of another's": {script: parts{cut, withKey(duplicate)}, want: client.NotRedeemed,
			list: &late{empty: 1, then: listOf(ours)}},
		"lost, then a duplicate at one that heeds no keys": {script: parts{cut, duplicate}, want: client.Unknown, likely: true,
			list: &late{empty: 1, then: listOf(ours)}},
		"lost, then sold out, and made after that": {script: parts{cut, withKey(soldOut), replay}, sends: 2, want: client.Redeemed, earlier: true,
			list: &late{empty: 1, then: listOf(ours)}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.list == nil {
				test.list = listOf()
			}
			service := &counter{script: test.script, list: test.list}
			c := serve(t, service)
			r := client.Redeeming{PerkID: "p", Request: api.RedeemRequest{UserID: "ann"}, Key: "key"}
			for range cmp.Or(test.sends, len(test.script)) {
				r = r.Send(t.Context(), c, func(id string) bool { return id == test.taken })
			}
			if r.Outcome != test.want || r.Replayed != test.replay || r.Earlier != test.earlier || (r.Candidate.ID != "") != test.likely || (r.CheckErr != nil) != test.unread {
				t.Errorf("it is %+v", r)
			}
			if done := r.Outcome == client.Redeemed; done != (r.Failure() == nil) || done != (r.Redemption.ID == "ours") || (r.Outcome == client.Unknown) == r.Since().IsZero() {
				t.Errorf("it is %+v", r)
			}
			if slices.ContainsFunc(service.sent(), func(key string) bool { return key != "key" }) {
				t.Errorf("the keys were %q", service.sent())
			}
			if len(service.sent()) != len(test.script) {
				t.Errorf("%d requests to redeem, want %d", len(service.sent()), len(test.script))
			}
			sent := len(service.sent())
			if r.Outcome == client.Redeemed {
				r.Send(t.Context(), c, nil)
			}
			if len(service.sent()) != sent {
				t.Error("what is done was sent again")
			}
		})
	}
}

// asked repeats the idempotency key of a reading, as a service does that honours keys.
func asked(list http.Handler) http.Handler { return withKey(list.ServeHTTP) }

// late is an empty list for so many readings, and then another.
type late struct {
	empty int
	then  http.Handler
}

func (l *late) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.empty--; l.empty >= 0 {
		listOf().ServeHTTP(w, r)
		return
	}
	l.then.ServeHTTP(w, r)
}

func TestRedeemingLooksForWhatWasMadeSinceTheFirstDoubtfulAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		first  http.HandlerFunc
		likely string
	}{
		"after an attempt that was lost":    {cut, "ours"},
		"after an attempt that was refused": {status(401), ""}, // somebody else has made it
	} {
		list := &redeemed{}
		clock := &patient{}
		c := serve(t, &counter{script: []http.HandlerFunc{test.first, cut}, list: list}, clock.config, func(c *client.Config) { c.WaitBudget = 0 })
		r := client.Redeeming{PerkID: "p", Request: api.RedeemRequest{UserID: "ann"}, Key: "key"}.Send(t.Context(), c, nil)
		began := clock.now
		clock.now, list.ahead = clock.now.Add(time.Minute), time.Minute
		list.items = []map[string]any{made("ours", "p", began.Add(time.Second), "")}
		if r = r.Send(t.Context(), c, nil); r.Outcome != client.Unknown || r.Candidate.ID != test.likely {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestRedeemingFoundLaterByLookingAgain(t *testing.T) {
	c := serve(t, &counter{script: []http.HandlerFunc{cut, replay}, list: &late{empty: 2, then: asked(listOf(made("ours", "p", time.Now(), "")))}})
	r := client.Redeeming{PerkID: "p", Request: api.RedeemRequest{UserID: "ann"}, Key: "key"}
	if r = r.Check(t.Context(), c, nil); r.Outcome != client.NotRedeemed {
		t.Fatalf("nothing was sent, and yet %+v", r)
	}
	r = r.Send(t.Context(), c, nil)
	for _, want := range []client.Outcome{client.Unknown, client.Redeemed, client.Redeemed} {
		if r = r.Check(t.Context(), c, nil); r.Outcome != want {
			t.Fatalf("looked, and it is %+v", r)
		}
	}
}

// A service forgets keys after a day. What it says of an older one is no proof of anything, and sending again may redeem twice.
func TestRedeemingUnderAKeyThatMayBeForgottenStaysUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		age  time.Duration
		sent int
		want client.Outcome
	}{
		"young":  {client.KeyLifetime - time.Second, 2, client.NotRedeemed},
		"at end": {client.KeyLifetime, 1, client.Unknown},
	} {
		clock := &patient{}
		service := &counter{script: []http.HandlerFunc{cut, withKey(code(409, "already_redeemed")), withKey(code(409, "already_redeemed"))}, list: listOf()}
		c := serve(t, service, clock.config, func(c *client.Config) { c.WaitBudget = 0 })
		r := client.Redeeming{PerkID: "p", Request: api.RedeemRequest{UserID: "ann"}, Key: "key"}.Send(t.Context(), c, nil)
		clock.now = clock.now.Add(test.age)
		service.list = asked(listOf(made("someone's", "p", time.Now().Add(time.Hour), "")))
		if r = r.Check(t.Context(), c, nil); r.Outcome != test.want || len(service.sent()) != test.sent {
			t.Errorf("%s: after %d requests %+v", name, len(service.sent()), r)
		}
		if test.want == client.Unknown {
			if r = r.Send(t.Context(), c, nil); r.Outcome != client.Unknown || r.Candidate.ID == "" {
				t.Errorf("%s: sent again, and it is %+v", name, r)
			}
		}
	}
}

// The time for the command may be over when its reply is lost: looking for it has a time of its own.
func TestRedeemingLooksAfterTheDeadline(t *testing.T) {
	c := serve(t, &counter{script: []http.HandlerFunc{cut, replay}, list: &late{empty: 1, then: asked(listOf(made("ours", "p", time.Now(), "")))}})
	r := client.Redeeming{PerkID: "p", Request: api.RedeemRequest{UserID: "ann"}, Key: "key"}.Send(t.Context(), c, nil)
	if r = r.Check(t.Context(), c.Until(time.Now().Add(-time.Second)), nil); r.Outcome != client.Redeemed {
		t.Errorf("it is %+v", r)
	}
}
