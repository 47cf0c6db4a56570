package client_test

import (
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

func granted(w http.ResponseWriter, _ *http.Request) {
	answer(w, 201, map[string]any{"id": "ours", "perk_id": "p", "user_id": "ann", "status": "approved"})
}

func replay(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Idempotent-Replayed", "true")
	granted(w, r)
}

func listOf(items ...map[string]any) http.Handler { return &redeemed{items: items} }

func TestRedeemingIsCertainOrInDoubt(t *testing.T) {
	type parts = []http.HandlerFunc
	ours := made("ours", "p", time.Now().Add(time.Hour), "")
	soldOut, duplicate := code(409, "sold_out"), code(409, "already_redeemed")
	for name, test := range map[string]struct {
		script  parts
		list    http.Handler
		taken   string
		want    client.Known
		replay  bool
		earlier bool
		found   bool
		unread  bool
	}{
		"answered":                                      {script: parts{granted}, want: client.Redeemed},
		"answered with a replay":                        {script: parts{replay}, want: client.Redeemed, replay: true},
		"refused":                                       {script: parts{soldOut}, want: client.NotRedeemed},
		"refused, then answered":                        {script: parts{status(401), granted}, want: client.Redeemed},
		"refused for its key":                           {script: parts{withKey(code(422, "idempotency_key_reused"))}, want: client.NotRedeemed},
		"lost, and in the list":                         {script: parts{cut}, list: listOf(ours), want: client.Redeemed, earlier: true, found: true},
		"failed, and in the list":                       {script: parts{status(500)}, list: listOf(ours), want: client.Redeemed, earlier: true, found: true},
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
		"lost, then a duplicate of its own": {script: parts{cut, withKey(duplicate)}, want: client.Redeemed, earlier: true, found: true,
			list: &late{empty: 1, then: listOf(ours)}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.list == nil {
				test.list = listOf()
			}
			service := &counter{script: test.script, list: test.list}
			c := serve(t, service)
			r := client.Redeeming{PerkID: "p", Request: api.RedeemRequest{UserID: "ann"}, Key: "key"}
			for range test.script {
				r = r.Send(t.Context(), c, func(id string) bool { return id == test.taken })
			}
			if r.Known != test.want || r.Replayed != test.replay || r.Earlier != test.earlier || r.Found != test.found || (r.LookErr != nil) != test.unread {
				t.Errorf("it is %+v", r)
			}
			if done := r.Known == client.Redeemed; done != (r.Failure() == nil) || done != (r.Redemption.ID == "ours") || (r.Known == client.Unknown) == r.Since().IsZero() {
				t.Errorf("it is %+v", r)
			}
			if slices.ContainsFunc(service.keys, func(key string) bool { return key != "key" }) {
				t.Errorf("the keys were %q", service.keys)
			}
			sent := len(service.keys)
			if r.Known == client.Redeemed {
				r.Send(t.Context(), c, nil)
			}
			if len(service.keys) != sent {
				t.Error("what is done was sent again")
			}
		})
	}
}

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
		first http.HandlerFunc
		want  client.Known
	}{
		"after an attempt that was lost":    {cut, client.Redeemed},
		"after an attempt that was refused": {status(401), client.Unknown}, // somebody else has made it
	} {
		list := &redeemed{}
		clock := &patient{}
		c := serve(t, &counter{script: []http.HandlerFunc{test.first, cut}, list: list}, clock.config, func(c *client.Config) { c.Patience = 0 })
		r := client.Redeeming{PerkID: "p", Request: api.RedeemRequest{UserID: "ann"}, Key: "key"}.Send(t.Context(), c, nil)
		began := clock.now
		clock.now, list.ahead = clock.now.Add(time.Minute), time.Minute
		list.items = []map[string]any{made("ours", "p", began.Add(time.Second), "")}
		if r = r.Send(t.Context(), c, nil); r.Known != test.want {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestRedeemingFoundLaterByLookingAgain(t *testing.T) {
	c := serve(t, &counter{script: []http.HandlerFunc{cut}, list: &late{empty: 2, then: listOf(made("ours", "p", time.Now(), ""))}})
	r := client.Redeeming{PerkID: "p", Request: api.RedeemRequest{UserID: "ann"}, Key: "key"}
	if r = r.Look(t.Context(), c, nil); r.Known != client.NotRedeemed {
		t.Fatalf("nothing was sent, and yet %+v", r)
	}
	r = r.Send(t.Context(), c, nil)
	for _, want := range []client.Known{client.Unknown, client.Redeemed, client.Redeemed} {
		if r = r.Look(t.Context(), c, nil); r.Known != want {
			t.Fatalf("looked, and it is %+v", r)
		}
	}
}
