package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
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
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}}, store.PerkRecord{Perk: api.Perk{ID: "spa"}, Approval: store.ApprovalManual})
	rows := []struct {
		perk, body, metadata string
		status               api.RedemptionStatus
	}{
		{"tea", `{"user_id":"alice","metadata":{"till": 7, "note":"a<b"}}`, `{"till":7,"note":"a<b"}`, api.StatusApproved},
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
		want := api.Redemption{ID: got.ID, PerkID: r.perk, UserID: "alice", RedeemedAt: clock.Now(), Status: r.status, Metadata: json.RawMessage(r.metadata)}
		if diff := cmp.Diff(want, got); diff != "" || got.ID == "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
	}
}

func TestRefusedRedemptionsSayWhyAndLeaveNothing(t *testing.T) {
	s := servertest.Start(t, servertest.WithClock(clockAt(10)))
	s.ImportUsers("alice", "bob")
	s.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "once"}},
		store.PerkRecord{Perk: api.Perk{ID: "soon", ValidFrom: at(day(11))}},
		store.PerkRecord{Perk: api.Perk{ID: "over", ValidTo: at(day(10))}},
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
		{"over", "bob", api.CodePerkExpired},
	} {
		wantError(t, s, redeemRequest(s, token, r.perk, `{"user_id":"`+r.user+`"}`, ""), http.StatusConflict, problemType, r.code)
	}
	var bobs api.Page[api.Redemption]
	s.Do(s.Request(token, "GET", s.LiveURL()+"/perks/users/bob?type=redeemed", ""), &bobs)
	if len(bobs.Data) != 0 {
		t.Errorf("refused requests left %+v", bobs.Data)
	}
}

func TestSameKeyReplaysTheFirstAnswer(t *testing.T) {
	clock := clockAt(10)
	s := servertest.Start(t, servertest.WithClock(clock))
	s.ImportUsers("alice", "bob")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "spa"}, Approval: store.ApprovalManual}, store.PerkRecord{Perk: api.Perk{ID: "tea"}})
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
	if _, err := s.Live.DecideRedemption(t.Context(), made.ID, api.StatusApproved, store.Operator, clock.Now()); err != nil {
		t.Fatal(err)
	}
	clock.Advance(23 * time.Hour)
	token = s.TokenFor(id, secret)
	for _, same := range []string{`{"user_id":"alice","metadata":{"a":1,"b":2.50}}`, `{"metadata": {"b":2.50,"a":1}, "user_id":"alice"}`} {
		again, body := s.Send(redeemRequest(s, token, "spa", same, "k1"))
		if again.StatusCode != http.StatusCreated || again.Header.Get("Idempotent-Replayed") != "true" || string(body) != string(firstBody) {
			t.Errorf("again: %d, replayed %q, body %s, want %s", again.StatusCode, again.Header.Get("Idempotent-Replayed"), body, firstBody)
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
	t.Run("another client's key is its own", func(t *testing.T) {
		wantError(t, s, redeemRequest(s, s.Token(), "spa", `{"user_id":"alice","metadata":{"a":1,"b":2.50}}`, "k1"), http.StatusConflict, problemType, api.CodeAlreadyRedeemed)
	})
	t.Run("a key is forgotten after a day", func(t *testing.T) {
		clock.Advance(time.Hour + time.Millisecond)
		token := s.TokenFor(id, secret)
		if got := s.Do(redeemRequest(s, token, "tea", `{"user_id":"bob"}`, "k1"), nil); got != http.StatusCreated {
			t.Errorf("status %d", got)
		}
	})
}

func TestEveryAnswerAfterTheKeyRepeatsIt(t *testing.T) {
	s := servertest.Start(t, servertest.WithClock(clockAt(10)))
	s.ImportUsers("alice")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}}, store.PerkRecord{Perk: api.Perk{ID: "none"}, Stock: units(0)})
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

func TestRefusalFreesItsKey(t *testing.T) {
	s := servertest.Start(t, servertest.WithClock(clockAt(10)))
	s.ImportUsers("alice")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "none"}, Stock: units(0)})
	token := s.Token()
	wantError(t, s, redeemRequest(s, token, "none", `{"user_id":"alice"}`, "k"), http.StatusConflict, problemType, api.CodeSoldOut)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "none"}, Stock: units(1)})
	if got := s.Do(redeemRequest(s, token, "none", `{"user_id":"alice"}`, "k"), nil); got != http.StatusCreated {
		t.Errorf("after the stock was filled: %d", got)
	}
}

func TestUserSeesAvailableAndRedeemedApart(t *testing.T) {
	clock := clockAt(10)
	s := servertest.Start(t, servertest.WithClock(clock))
	s.ImportUsers("alice")
	s.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "a", CreatedAt: day(1)}}, store.PerkRecord{Perk: api.Perk{ID: "b", CreatedAt: day(2)}},
		store.PerkRecord{Perk: api.Perk{ID: "spa", CreatedAt: day(3)}, Approval: store.ApprovalManual},
		store.PerkRecord{Perk: api.Perk{ID: "soon", ValidFrom: at(day(11))}}, store.PerkRecord{Perk: api.Perk{ID: "none"}, Stock: units(0)},
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
	if _, err := s.Live.DecideRedemption(t.Context(), made[1].ID, api.StatusRejected, store.Operator, clock.Now()); err != nil {
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
	response, _ := s.Send(s.Request(token, "GET", s.LiveURL()+"/perks/users/alice?type=redeemed&sort=redeemed_at&per_page=1", ""))
	if got := links(response.Header)["next"]; !strings.Contains(got, "type=redeemed") || !strings.Contains(got, "page=2") {
		t.Errorf("next is %q", got)
	}
}

// The promise that the product stands on: whatever 200 people do at once, a perk with 50 units is redeemed 50 times, by
// 50 users, and every answer that said so is in the store.
func TestTwoHundredAtOnceRedeemExactlyTheStock(t *testing.T) {
	const stock, users = 50, 100
	s := servertest.Start(t)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "hot"}, Stock: units(stock)})
	names := make([]string, users)
	for i := range names {
		names[i] = fmt.Sprintf("user-%03d", i)
	}
	s.ImportUsers(names...)
	token := s.Token()

	type outcome struct {
		status int
		made   api.Redemption
		code   api.Code
	}
	outcomes := make([]outcome, 2*users)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range outcomes {
		done.Go(func() {
			key := ""
			if i%2 == 0 {
				key = fmt.Sprintf("key-%d", i%users) // both tries of a user share it
			}
			request := redeemRequest(s, token, "hot", `{"user_id":"`+names[i%users]+`"}`, key)
			<-start
			response, body := s.Send(request)
			outcomes[i].status = response.StatusCode
			if response.StatusCode == http.StatusCreated {
				_ = json.Unmarshal(body, &outcomes[i].made)
				return
			}
			var failure api.ErrorBody
			_ = json.Unmarshal(body, &failure)
			outcomes[i].code = failure.Code
		})
	}
	close(start)
	done.Wait()

	acknowledged := map[string]string{} // redemption -> user
	for i, o := range outcomes {
		switch {
		case o.status == http.StatusCreated:
			if o.made.UserID != names[i%users] || o.made.ID == "" {
				t.Errorf("request %d for %s was answered with %+v", i, names[i%users], o.made)
			}
			acknowledged[o.made.ID] = o.made.UserID
		case o.code != api.CodeSoldOut && o.code != api.CodeAlreadyRedeemed:
			t.Errorf("request %d: %d %s", i, o.status, o.code)
		}
	}
	stored := map[string]string{}
	holders := map[string]bool{}
	for r, err := range s.Live.ExportRedemptions(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if holders[r.UserID] {
			t.Errorf("user %s redeemed twice", r.UserID)
		}
		holders[r.UserID] = true
		stored[r.ID] = r.UserID
	}
	if len(stored) != stock {
		t.Errorf("%d redemptions of a stock of %d", len(stored), stock)
	}
	if diff := cmp.Diff(stored, acknowledged); diff != "" {
		t.Errorf("stored (-) and acknowledged (+) differ:\n%s", diff)
	}
	wantError(t, s, redeemRequest(s, token, "hot", `{"user_id":"`+missing(names, holders)+`"}`, ""), http.StatusConflict, problemType, api.CodeSoldOut)
}

func missing(names []string, holders map[string]bool) string {
	for _, name := range names {
		if !holders[name] {
			return name
		}
	}
	return ""
}
