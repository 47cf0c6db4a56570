package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

func redeemRequest(s *servertest.Server, token, perk, body, key string) *http.Request {
	request := s.Request(token, "POST", s.LiveURL()+"/perks/"+perk+"/redeem", body)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	return request
}

func TestRedeemAnswersWithTheRedemption(t *testing.T) {
	s := fixture(t)
	for _, r := range []struct {
		perk, body, metadata string
		status               api.RedemptionStatus
	}{
		{"tea", `{"user_id":"alice","metadata":{"till": 7, "note":"a<b"}}`, `{"till":7,"note":"a<b"}`,
			api.StatusApproved},
		{"spa", `{"user_id":"alice"}`, `{}`, api.StatusPending},
	} {
		response, raw := s.Send(redeemRequest(s, s.Token(), r.perk, r.body, ""))
		if response.StatusCode != http.StatusCreated {
			t.Fatalf("%d %s", response.StatusCode, raw)
		}
		var got api.Redemption
		decode(t, raw, &got)
		want := api.Redemption{ID: got.ID, PerkID: r.perk, UserID: "alice", RedeemedAt: day(10), Status: r.status,
			Metadata: json.RawMessage(r.metadata)}
		if diff := cmp.Diff(want, got); diff != "" || got.ID == "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
	}
}

func TestTheFirstRedemptionCreatesItsUserWhereAllowed(t *testing.T) {
	live, sandbox := environments(t, func(c *server.Config) { c.CreateUsers = true })
	token := live.Token()
	for _, in := range []environment{live, sandbox} {
		redeem := func(perk, user string, want int) {
			t.Helper()
			if status, _, _ := in.redeem(token, perk, user, ""); status != want {
				t.Errorf("%s: redeeming %s gives %d, want %d", in.name, perk, status, want)
			}
		}
		redeem("last", "alice", http.StatusCreated)
		before := exported(t, in.store.ExportUsers(t.Context()))
		wantPerks(t, in.Server, token, in.url, "carol", 3, 0)
		redeem("last", "carol", http.StatusConflict)
		if after := exported(t, in.store.ExportUsers(t.Context())); after != before {
			t.Errorf("%s: after a refusal there are the users %s", in.name, after)
		}
		redeem("tea", "carol", http.StatusCreated)
		wantPerks(t, in.Server, token, in.url, "carol", 2, 1)
		redeem("tea", "carol", http.StatusConflict)
	}
}

func TestSameKeyReplaysTheFirstResponse(t *testing.T) {
	clock := clockAt(10)
	s := fixture(t, servertest.WithClock(clock))
	id, secret := s.Client()
	token := s.TokenFor(id, secret)

	first, firstBody := s.Send(redeemRequest(s, token, "spa", `{"user_id":"alice","metadata":{"a":1,"b":2.50}}`, "k1"))
	if first.StatusCode != http.StatusCreated || first.Header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("first: %d, replayed %q", first.StatusCode, first.Header.Get("Idempotent-Replayed"))
	}
	var made api.Redemption
	decode(t, firstBody, &made)
	if _, err := s.Live.DecideRedemption(t.Context(), made.ID, store.Decision{Status: api.StatusApproved},
		store.Operator, clock.Now()); err != nil {
		t.Fatal(err)
	}
	clock.Advance(23 * time.Hour)
	token = s.TokenFor(id, secret)
	for _, same := range []string{`{"user_id":"alice","metadata":{"a":1,"b":2.50}}`,
		`{"metadata": {"b":2.50,"a":1}, "user_id":"alice"}`} {
		again, body := s.Send(redeemRequest(s, token, "spa", same, "k1"))
		if again.StatusCode != http.StatusCreated || again.Header.Get("Idempotent-Replayed") != "true" ||
			string(body) != string(firstBody) {
			t.Errorf("again: %d, replayed %q, body %s, want %s", again.StatusCode,
				again.Header.Get("Idempotent-Replayed"), body, firstBody)
		}
	}
	for name, request := range map[string]*http.Request{
		"another user":     redeemRequest(s, token, "spa", `{"user_id":"bob","metadata":{"a":1,"b":2.50}}`, "k1"),
		"another perk":     redeemRequest(s, token, "tea", `{"user_id":"alice","metadata":{"a":1,"b":2.50}}`, "k1"),
		"another metadata": redeemRequest(s, token, "spa", `{"user_id":"alice","metadata":{"a":1,"b":2.5}}`, "k1"),
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, s, request, http.StatusUnprocessableEntity, problemType, api.CodeIdempotencyKeyReused)
		})
	}
}

func TestResponsesRepeatTheIdempotencyKey(t *testing.T) {
	s := fixture(t)
	token := s.Token()
	for _, r := range []struct {
		name, token, perk, body, key string
		status                       int
		repeats                      bool
	}{
		{"made", token, "tea", `{"user_id":"alice"}`, "k 1", 201, true},
		{"replayed", token, "tea", `{"user_id":"alice"}`, "k 1", 201, true},
		{"used for another request", token, "out", `{"user_id":"alice"}`, "k 1", 422, true},
		{"already redeemed", token, "tea", `{"user_id":"alice"}`, "k2", 409, true},
		{"sold out", token, "out", `{"user_id":"alice"}`, "k3", 409, true},
		{"no such user", token, "tea", `{"user_id":"nobody"}`, "k4", 404, true},
		{"no such perk", token, "nowhere", `{"user_id":"alice"}`, "k5", 404, true},
		{"an id that no perk can have", token, "no%20perk", `{"user_id":"alice"}`, "k6", 404, true},
		{"no key", token, "out", `{"user_id":"alice"}`, "", 409, false},
		{"a key that is too long", token, "out", `{"user_id":"alice"}`, strings.Repeat("k", 256), 422, false},
		{"refused before the key", token, "tea", `{"user_id":7}`, "k7", 422, false},
		{"not authenticated", "wrong", "tea", `{"user_id":"alice"}`, "k8", 401, false},
	} {
		t.Run(r.name, func(t *testing.T) {
			response, body := s.Send(redeemRequest(s, r.token, r.perk, r.body, r.key))
			want := ""
			if r.repeats {
				want = r.key
			}
			if got := response.Header.Get("Idempotency-Key"); response.StatusCode != r.status || got != want {
				t.Errorf("%d, key %q; want %d, %q: %s", response.StatusCode, got, r.status, want, body)
			}
		})
	}
}

func TestUserHasAvailableAndRedeemedPerks(t *testing.T) {
	clock := clockAt(10)
	s := fixture(t, servertest.WithClock(clock))
	token := s.Token()
	wantPerks(t, s, token, s.LiveURL(), "alice", 2, 0)
	var made []api.Redemption
	for _, perk := range []string{"tea", "spa"} {
		var r api.Redemption
		s.Do(redeemRequest(s, token, perk, `{"user_id":"alice"}`, ""), &r)
		made = append(made, r)
		clock.Advance(time.Second)
	}
	wantPerks(t, s, token, s.LiveURL(), "alice", 0, 2)
	if _, err := s.Live.DecideRedemption(t.Context(), made[1].ID, store.Decision{Status: api.StatusRejected},
		store.Operator, clock.Now()); err != nil {
		t.Fatal(err)
	}
	made[1].Status = api.StatusRejected
	wantPerks(t, s, token, s.LiveURL(), "alice", 1, 2)
	redeemed := redeemedBy(s, token, "alice")
	if diff := cmp.Diff([]api.Redemption{made[1], made[0]}, redeemed.Data); diff != "" {
		t.Errorf("newest first: want (-), got (+):\n%s", diff)
	}
	for sent, want := range map[string]string{"": "", "do keys count": "do keys count", strings.Repeat("k", 256): ""} {
		request := s.Request(token, "GET", s.LiveURL()+"/perks/users/alice?type=redeemed", "")
		request.Header.Set("Idempotency-Key", sent)
		if response, _ := s.Send(request); response.Header.Get("Idempotency-Key") != want ||
			response.StatusCode != 200 {
			t.Errorf("%d to the key %q, repeated as %q", response.StatusCode, sent,
				response.Header.Get("Idempotency-Key"))
		}
	}
}

const lowUUID, highUUID = "0195b2c4-6f1e-7c3a-9d52-3b1f6e0c7a11", "0195B2C4-6F1E-7C3A-9D52-3B1F6E0C7A22"

func TestUUIDsIgnoreCase(t *testing.T) {
	s := servertest.Start(t)
	s.ImportUsers("alice", lowUUID, highUUID)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: lowUUID}}, store.PerkRecord{Perk: api.Perk{ID: highUUID}},
		store.PerkRecord{Perk: api.Perk{ID: "Tea"}})
	token := s.Token()
	spelled := map[string]string{ // as asked and as stored
		lowUUID: lowUUID, strings.ToUpper(lowUUID): lowUUID, strings.ToUpper(lowUUID[:9]) + lowUUID[9:]: lowUUID,
		highUUID: highUUID, strings.ToLower(highUUID): highUUID, strings.ToLower(highUUID[:9]) + highUUID[9:]: highUUID,
	}
	for asked, want := range spelled {
		if perk, _ := servertest.Read[api.Perk](s, token, s.LiveURL()+"/perks/"+asked); perk.ID != want {
			t.Errorf("perk %s: %q, want %q", asked, perk.ID, want)
		}
	}
	absent := strings.Replace(lowUUID, "1", "2", 1)
	for _, asked := range []string{"TEA", absent, strings.ToUpper(absent),
		strings.ReplaceAll(strings.ToUpper(lowUUID), "-", "")} {
		for _, path := range []string{"/perks/" + asked, "/perks/users/" + asked, "/perks/users/" + asked +
			"?type=redeemed"} {
			_, body := wantError(t, s, s.Request(token, "GET", s.LiveURL()+path, ""), http.StatusNotFound, problemType,
				api.CodeNotFound)
			if !strings.Contains(body.Response, asked) {
				t.Errorf("%s: the answer is %q", path, body.Response)
			}
		}
	}
	isMade := map[string]bool{} // by perk and user
	for askedPerk, perk := range spelled {
		for askedUser, user := range spelled {
			key, body := perk+user, `{"user_id":"`+askedUser+`"}`
			response, raw := s.Send(redeemRequest(s, token, askedPerk, body, key))
			var made api.Redemption
			decode(t, raw, &made)
			if made.PerkID != perk || made.UserID != user ||
				(response.Header.Get("Idempotent-Replayed") != "") != isMade[key] {
				t.Errorf("%s by %s: %d %s", askedPerk, askedUser, response.StatusCode, raw)
			}
			isMade[key] = true
			wantError(t, s, redeemRequest(s, token, askedPerk, body, ""), http.StatusConflict, problemType,
				api.CodeAlreadyRedeemed)
		}
	}
	for asked := range spelled {
		wantPerks(t, s, token, s.LiveURL(), asked, 1, 2)
	}
}

// wantPerks counts the perks that are available to a user, and those that the user has redeemed.
func wantPerks(t *testing.T, s *servertest.Server, token, base, user string, available, redeemed int) {
	t.Helper()
	for kind, want := range map[string]int{"available": available, "redeemed": redeemed} {
		page, _ := servertest.Read[api.Page[any]](s, token, base+"/perks/users/"+user+"?type="+kind)
		if len(page.Data) != want {
			t.Errorf("%s, %s for %s: %d items, want %d", base, kind, user, len(page.Data), want)
		}
	}
}

// barrier starts the redemptions that may create a user only when all of them have arrived.
type barrier struct {
	store.Store
	all sync.WaitGroup
}

func (b *barrier) Redeem(ctx context.Context, attempt store.RedeemAttempt) (store.RedeemResult, error) {
	if attempt.CreateUser {
		b.all.Done()
		b.all.Wait()
	}
	return b.Store.Redeem(ctx, attempt)
}

func TestUUIDsIgnoreCaseWhereRedemptionsCreateUsers(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) {
		both := &barrier{Store: c.Live}
		both.all.Add(2)
		c.Live, c.CreateUsers = both, true
	})
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}}, store.PerkRecord{Perk: api.Perk{ID: "cake"}})
	s.ImportUsers(highUUID)
	token := s.Token()
	for _, id := range []string{lowUUID, highUUID} {
		var statuses [2]int
		var both sync.WaitGroup
		for i, asked := range []string{strings.ToUpper(id), strings.ToLower(id)} {
			both.Go(func() { statuses[i] = s.Do(redeemRequest(s, token, "tea", `{"user_id":"`+asked+`"}`, ""), nil) })
		}
		both.Wait()
		if slices.Sort(statuses[:]); statuses != [2]int{http.StatusCreated, http.StatusConflict} {
			t.Errorf("%s in both cases at once: %v", id, statuses)
		}
	}
	s.ImportUsers(strings.ToUpper(lowUUID)) // importing another spelling allows no second redemption
	for _, asked := range []string{strings.ToUpper(lowUUID), lowUUID} {
		wantError(t, s, redeemRequest(s, token, "tea", `{"user_id":"`+asked+`"}`, ""), http.StatusConflict, problemType,
			api.CodeAlreadyRedeemed)
	}
	var users []string
	for _, user := range collected(t, s.Live.ExportUsers(t.Context())) {
		users = append(users, user.ID)
	}
	// the first is the import's
	if want := []string{strings.ToUpper(lowUUID), highUUID, lowUUID}; !cmp.Equal(users, want) {
		t.Errorf("the users are %q, want %q", users, want)
	}
	unknown := strings.Replace(lowUUID, "1", "2", 1)
	wantPerks(t, s, token, s.LiveURL(), unknown, 2, 0)
}
