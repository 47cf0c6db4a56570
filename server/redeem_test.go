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
	clock := clockAt(10)
	s := servertest.Start(t, servertest.WithClock(clock))
	s.ImportUsers("alice")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}},
		store.PerkRecord{Perk: api.Perk{ID: "spa"}, Approval: store.ApprovalManual})
	rows := []struct {
		perk, body, metadata string
		status               api.RedemptionStatus
	}{
		{"tea", `{"user_id":"alice","metadata":{"till": 7, "note":"a<b"}}`, `{"till":7,"note":"a<b"}`,
			api.StatusApproved},
		{"spa", `{"user_id":"alice"}`, `{}`, api.StatusPending},
	}
	for _, r := range rows {
		response, raw := s.Send(redeemRequest(s, s.Token(), r.perk, r.body, ""))
		if response.StatusCode != http.StatusCreated {
			t.Fatalf("%d %s", response.StatusCode, raw)
		}
		var got api.Redemption
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		want := api.Redemption{ID: got.ID, PerkID: r.perk, UserID: "alice", RedeemedAt: clock.Now(), Status: r.status,
			Metadata: json.RawMessage(r.metadata)}
		if diff := cmp.Diff(want, got); diff != "" || got.ID == "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
	}
}

func TestTheFirstRedemptionCreatesItsUserWhereAllowed(t *testing.T) {
	s := servertest.Start(t, servertest.WithClock(clockAt(10)), func(c *server.Config) { c.CreateUsers = true })
	perks := []store.PerkRecord{{Perk: api.Perk{ID: "tea"}}, {Perk: api.Perk{ID: "none"}, Stock: units(0)}}
	s.ImportPerks(perks...)
	s.ImportSandboxPerks(perks...)
	token := s.Token()
	for name, at := range map[string]struct {
		address string
		store   store.Store
	}{"live": {s.LiveURL(), s.Live}, "sandbox": {s.SandboxURL(), s.Sandbox}} {
		lists := func(kind string, want int) {
			t.Helper()
			var page struct{ Data []any }
			status := s.Do(s.Request(token, "GET", at.address+"/perks/users/alice?type="+kind, ""), &page)
			if status != http.StatusOK || len(page.Data) != want {
				t.Errorf("%s: %s gives %d and %d items, want 200 and %d", name, kind, status, len(page.Data), want)
			}
		}
		redeem := func(perk string, want int) {
			t.Helper()
			request := s.Request(token, "POST", at.address+"/perks/"+perk+"/redeem", `{"user_id":"alice"}`)
			if status := s.Do(request, nil); status != want {
				t.Errorf("%s: redeeming %s gives %d, want %d", name, perk, status, want)
			}
		}
		lists("available", 1)
		lists("redeemed", 0)
		redeem("none", http.StatusConflict)
		for user, err := range at.store.ExportUsers(t.Context()) {
			t.Errorf("%s: a refusal created the user %q (%v)", name, user.ID, err)
		}
		redeem("tea", http.StatusCreated)
		lists("available", 0)
		lists("redeemed", 1)
		redeem("tea", http.StatusConflict)
	}
}

func TestRefusedRedemptionsSayWhyAndChangeNothing(t *testing.T) {
	s := servertest.Start(t, servertest.WithClock(clockAt(10)))
	s.ImportUsers("alice", "bob")
	s.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "once"}},
		store.PerkRecord{Perk: api.Perk{ID: "soon", ValidFrom: at(day(11))}},
		store.PerkRecord{Perk: api.Perk{ID: "late", ValidTo: at(day(10))}},
		store.PerkRecord{Perk: api.Perk{ID: "none"}, Stock: units(0)},
		store.PerkRecord{Perk: api.Perk{ID: "last"}, Stock: units(1)},
	)
	token := s.Token()
	for _, perk := range []string{"once", "last"} {
		if got := s.Do(redeemRequest(s, token, perk, `{"user_id":"alice"}`, ""), nil); got != http.StatusCreated {
			t.Fatalf("%s: %d", perk, got)
		}
	}
	for _, r := range []struct {
		perk, user string
		code       api.Code
	}{
		{"once", "alice", api.CodeAlreadyRedeemed},
		{"last", "alice", api.CodeAlreadyRedeemed}, // not sold out: the user has it
		{"last", "bob", api.CodeSoldOut},
		{"none", "bob", api.CodeSoldOut},
		{"soon", "bob", api.CodePerkNotStarted},
		{"late", "bob", api.CodePerkExpired},
	} {
		wantError(t, s, redeemRequest(s, token, r.perk, `{"user_id":"`+r.user+`"}`, ""), http.StatusConflict,
			problemType, r.code)
	}
	var bobs api.Page[api.Redemption]
	s.Do(s.Request(token, "GET", s.LiveURL()+"/perks/users/bob?type=redeemed", ""), &bobs)
	if len(bobs.Data) != 0 {
		t.Errorf("refused requests left %+v", bobs.Data)
	}
}

func TestSameKeyReplaysTheFirstResponse(t *testing.T) {
	clock := clockAt(10)
	s := servertest.Start(t, servertest.WithClock(clock))
	s.ImportUsers("alice", "bob")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "spa"}, Approval: store.ApprovalManual},
		store.PerkRecord{Perk: api.Perk{ID: "tea"}})
	id, secret := s.Client()
	token := s.TokenFor(id, secret)

	first, firstBody := s.Send(redeemRequest(s, token, "spa", `{"user_id":"alice","metadata":{"a":1,"b":2.50}}`, "k1"))
	if first.StatusCode != http.StatusCreated || first.Header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("first: %d, replayed %q", first.StatusCode, first.Header.Get("Idempotent-Replayed"))
	}
	var made api.Redemption
	if err := json.Unmarshal(firstBody, &made); err != nil {
		t.Fatal(err)
	}
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
	s := servertest.Start(t, servertest.WithClock(clockAt(10)))
	s.ImportUsers("alice")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}},
		store.PerkRecord{Perk: api.Perk{ID: "none"}, Stock: units(0)})
	token := s.Token()
	for _, r := range []struct {
		name, token, perk, body, key string
		status                       int
		repeats                      bool
	}{
		{"made", token, "tea", `{"user_id":"alice"}`, "k 1", 201, true},
		{"replayed", token, "tea", `{"user_id":"alice"}`, "k 1", 201, true},
		{"used for another request", token, "none", `{"user_id":"alice"}`, "k 1", 422, true},
		{"already redeemed", token, "tea", `{"user_id":"alice"}`, "k2", 409, true},
		{"sold out", token, "none", `{"user_id":"alice"}`, "k3", 409, true},
		{"no such user", token, "tea", `{"user_id":"nobody"}`, "k4", 404, true},
		{"no such perk", token, "nowhere", `{"user_id":"alice"}`, "k5", 404, true},
		{"an id that no perk can have", token, "no%20perk", `{"user_id":"alice"}`, "k6", 404, true},
		{"no key", token, "none", `{"user_id":"alice"}`, "", 409, false},
		{"a key that is too long", token, "none", `{"user_id":"alice"}`, strings.Repeat("k", 256), 422, false},
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
	s := servertest.Start(t, servertest.WithClock(clock))
	s.ImportUsers("alice")
	s.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "a", Title: "tea", CreatedAt: day(1)}},
		store.PerkRecord{Perk: api.Perk{ID: "b", CreatedAt: day(2)}},
		store.PerkRecord{Perk: api.Perk{ID: "spa", Title: "Spa", CreatedAt: day(3)}, Approval: store.ApprovalManual},
		store.PerkRecord{Perk: api.Perk{ID: "soon", ValidFrom: at(day(11))}},
		store.PerkRecord{Perk: api.Perk{ID: "none"}, Stock: units(0)},
	)
	token := s.Token()
	available := func() []string {
		p, _ := page(t, s, token, s.LiveURL()+"/perks/users/alice")
		return ids(p.Data)
	}
	if diff := cmp.Diff([]string{"spa", "b", "a"}, available()); diff != "" {
		t.Errorf("before: %s", diff)
	}
	var made []api.Redemption
	for _, perk := range []string{"a", "spa"} {
		var r api.Redemption
		s.Do(redeemRequest(s, token, perk, `{"user_id":"alice"}`, ""), &r)
		made = append(made, r)
		clock.Advance(time.Second)
	}
	if diff := cmp.Diff([]string{"b"}, available()); diff != "" {
		t.Errorf("after: %s", diff)
	}
	if _, err := s.Live.DecideRedemption(t.Context(), made[1].ID, store.Decision{Status: api.StatusRejected},
		store.Operator, clock.Now()); err != nil {
		t.Fatal(err)
	}
	made[1].Status = api.StatusRejected
	if diff := cmp.Diff([]string{"spa", "b"}, available()); diff != "" {
		t.Errorf("a rejected perk is available again: %s", diff)
	}
	var redeemed api.Page[api.Redemption]
	s.Do(s.Request(token, "GET", s.LiveURL()+"/perks/users/alice?type=redeemed", ""), &redeemed)
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
		var perk api.Perk
		if status := s.Do(s.Request(token, "GET", s.LiveURL()+"/perks/"+asked, ""), &perk); status != http.StatusOK ||
			perk.ID != want {
			t.Errorf("perk %s: %d, %q, want %q", asked, status, perk.ID, want)
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
	for _, perk := range []string{lowUUID, highUUID} {
		for _, user := range []string{lowUUID, highUUID} {
			i := 0
			for askedPerk, storedPerk := range spelled { // the same request under one key
				for askedUser, storedUser := range spelled {
					if storedPerk != perk || storedUser != user {
						continue
					}
					response, raw := s.Send(redeemRequest(s, token, askedPerk, `{"user_id":"`+askedUser+`"}`,
						perk+user))
					var made api.Redemption
					err := json.Unmarshal(raw, &made)
					if err != nil || made.PerkID != perk || made.UserID != user ||
						(response.Header.Get("Idempotent-Replayed") != "") != (i > 0) {
						t.Errorf("%s by %s: %d %s", askedPerk, askedUser, response.StatusCode, raw)
					}
					wantError(t, s, redeemRequest(s, token, askedPerk, `{"user_id":"`+askedUser+`"}`, ""),
						http.StatusConflict, problemType, api.CodeAlreadyRedeemed)
					i++
				}
			}
		}
	}
	for asked := range spelled {
		for kind, want := range map[string]int{"available": 1, "redeemed": 2} {
			var page struct{ Data []any }
			if status := s.Do(s.Request(token, "GET", s.LiveURL()+"/perks/users/"+asked+"?type="+kind, ""),
				&page); status != http.StatusOK || len(page.Data) != want {
				t.Errorf("user %s, %s: %d, %d items, want %d", asked, kind, status, len(page.Data), want)
			}
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
	for user, err := range s.Live.ExportUsers(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		users = append(users, user.ID)
	}
	// the first is the import's
	if want := []string{strings.ToUpper(lowUUID), highUUID, lowUUID}; !cmp.Equal(users, want) {
		t.Errorf("the users are %q, want %q", users, want)
	}
	unknown := strings.Replace(lowUUID, "1", "2", 1)
	for kind, want := range map[string]int{"available": 2, "redeemed": 0} {
		var page struct{ Data []any }
		if status := s.Do(s.Request(token, "GET", s.LiveURL()+"/perks/users/"+unknown+"?type="+kind, ""),
			&page); status != http.StatusOK || len(page.Data) != want {
			t.Errorf("an unknown user, %s: %d, %d items, want %d", kind, status, len(page.Data), want)
		}
	}
}
