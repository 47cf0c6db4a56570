package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// environment is the live or the sandbox set of perk routes, with its store.
type environment struct {
	*servertest.Server
	name, url string
	store     store.Store
	perks     func(...store.PerkRecord)
}

// environments have the same ids of perks, users and categories, with different content. Perk last has one unit, and
// spa is approved by hand.
func environments(t *testing.T, options ...func(*server.Config)) (live, sandbox environment) {
	s := servertest.Start(t, options...)
	live = environment{s, "live", s.LiveURL(), s.Live, s.ImportPerks}
	sandbox = environment{s, "sandbox", s.SandboxURL(), s.Sandbox, s.ImportSandboxPerks}
	s.ImportUsers("alice", "bob")
	for _, w := range []environment{live, sandbox} {
		one, food := int64(1), "Food "+w.name
		perk := func(id string) store.PerkRecord {
			return store.PerkRecord{Perk: api.Perk{ID: id, Title: id + " " + w.name, Category: &food}}
		}
		last, spa := perk("last"), perk("spa")
		last.Stock, spa.Approval = &one, store.ApprovalManual
		w.perks(perk("tea"), last, spa, perk("only-"+w.name))
	}
	return live, sandbox
}

// seen returns everything visible of an environment: the responses of its routes, and the records of its store.
func (w environment) seen(t *testing.T, token string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, path := range []string{
		"/perks?sort=title", "/perks?per_page=1", "/perks?category=food-live", "/perks?category=food-sandbox",
		"/perks?q=tea", "/perks/categories",
		"/perks/tea", "/perks/last", "/perks/spa", "/perks/only-live", "/perks/only-sandbox", "/perks/new",
		"/perks/users/alice", "/perks/users/bob", "/perks/users/carol", "/perks/users/alice?type=redeemed",
		"/perks/users/bob?type=redeemed",
	} {
		response, body := w.Get(token, w.url+path)
		seen[path] = fmt.Sprintf("%d, %s in all: %s", response.StatusCode, response.Header.Get("X-Total-Count"), body)
	}
	ctx := context.Background()
	seen["stock"] = exported(t, w.store.ExportPerks(ctx))
	seen["users"] = exported(t, w.store.ExportUsers(ctx))
	seen["categories"] = exported(t, w.store.ExportCategories(ctx))
	seen["redemptions"] = exported(t, w.store.ExportRedemptions(ctx, ""))
	seen["audit"] = exported(t, w.store.Audit(ctx, store.AuditQuery{}))
	return seen
}

func collected[T any](t *testing.T, records iter.Seq2[T, error]) []T {
	t.Helper()
	all := []T{}
	for record, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, record)
	}
	return all
}

func exported[T any](t *testing.T, records iter.Seq2[T, error]) string {
	t.Helper()
	text, err := json.MarshalIndent(collected(t, records), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// redeem returns the status, the redemption's id, and whether it is a replay.
func (w environment) redeem(token, perk, user, key string) (status int, id string, replayed bool) {
	request := w.Request(token, "POST", w.url+"/perks/"+perk+"/redeem", fmt.Sprintf(`{"user_id":%q}`, user))
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, body := w.Send(request)
	var made api.Redemption
	_ = json.Unmarshal(body, &made) // an error has no id
	return response.StatusCode, made.ID, response.Header.Get("Idempotent-Replayed") == "true"
}

// changeEverything makes every kind of change, over HTTP and as the operator.
func (w environment) changeEverything(t *testing.T, token string) {
	t.Helper()
	wants := func(want int, perk, user, key string) (id string) {
		t.Helper()
		status, id, _ := w.redeem(token, perk, user, key)
		if status != want {
			t.Errorf("%s: redeeming %s for %s: status %d, want %d", w.name, perk, user, status, want)
		}
		return id
	}
	first := wants(http.StatusCreated, "tea", "alice", "key")
	if again := wants(http.StatusCreated, "tea", "alice", "key"); again != first {
		t.Errorf("%s: the key's second answer is %s, want %s", w.name, again, first)
	}
	wants(http.StatusUnprocessableEntity, "tea", "bob", "key")
	wants(http.StatusConflict, "tea", "alice", "")
	wants(http.StatusCreated, "last", "alice", "")
	wants(http.StatusConflict, "last", "bob", "")
	for user, decision := range map[string]api.RedemptionStatus{"alice": api.StatusApproved,
		"bob": api.StatusRejected} {
		if _, err := w.store.DecideRedemption(t.Context(), wants(http.StatusCreated, "spa", user, ""),
			store.Decision{Status: decision}, store.Operator, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	w.perks(store.PerkRecord{Perk: api.Perk{ID: "new"}},
		store.PerkRecord{Perk: api.Perk{ID: "only-" + w.name, Title: "Changed"}})
	if _, err := w.store.ImportUsers(t.Context(), servertest.Rows([]store.User{{ID: "carol"}}), store.Operator,
		time.Now()); err != nil {
		t.Fatal(err)
	}
	wants(http.StatusCreated, "new", "carol", "")
}

func TestLiveAndSandboxAreSeparate(t *testing.T) {
	for _, name := range []string{"live", "sandbox"} {
		t.Run("changes in "+name, func(t *testing.T) {
			changed, other := environments(t)
			if name == "sandbox" {
				changed, other = other, changed
			}
			token := changed.Token()
			if diff := cmp.Diff(changed.seen(t, token), other.seen(t, token)); diff == "" {
				t.Fatal("both are the same initially, so this test shows nothing")
			}
			here, there := changed.seen(t, token), other.seen(t, token)
			changed.changeEverything(t, token)
			if diff := cmp.Diff(there, other.seen(t, token)); diff != "" {
				t.Errorf("changes in %s are visible in the other environment (-before +after):\n%s", changed.name, diff)
			}
			for what, before := range changed.seen(t, token) {
				if before == here[what] && slices.Contains([]string{"stock", "redemptions", "audit", "users",
					"/perks?sort=title", "/perks/users/alice"}, what) {
					t.Errorf("%s: %s is unchanged: the test changes too little", changed.name, what)
				}
			}
			// The same perks, users and keys can be used there: what is refused and replayed here is not.
			other.changeEverything(t, token)
		})
	}
}

func TestTheRateLimitsOfLiveAndSandboxAreSeparate(t *testing.T) {
	clock := clockAt(10)
	live, sandbox := environments(t, servertest.WithClock(clock),
		func(c *server.Config) { c.RateLimit, c.RateBurst = 1, 2 })
	token := live.Token()
	ask := func(w environment) int { return w.Status(token, "GET", w.url+"/perks/tea", "") }
	for _, step := range []struct {
		in   environment
		want int
	}{
		{sandbox, 200}, {sandbox, 200}, {sandbox, 429}, // too many requests in the sandbox
		{live, 200}, {live, 200}, {live, 429}, // do not limit the live ones
	} {
		if got := ask(step.in); got != step.want {
			t.Errorf("%s: status %d, want %d", step.in.name, got, step.want)
		}
	}
}

func TestWithoutASandboxItsRoutesAreNotFound(t *testing.T) {
	s := fixture(t, func(c *server.Config) { c.Sandbox = nil })
	confined := s.TokenFor(s.ClientWith(func(c *store.Client) { c.SandboxOnly = true }))
	for _, p := range accessPoints() {
		if !strings.HasPrefix(p.column, "sandbox ") || p.method() == http.MethodHead {
			continue
		}
		for _, token := range []string{"", s.Token(), confined} {
			_, body := wantError(t, s, p.request(s, token, routeParams{user: "alice", hook: "none"}), http.StatusNotFound,
				problemType, api.CodeNotFound)
			if !strings.HasPrefix(body.Response, "There is no sandbox here") {
				t.Errorf("%s: the response does not say that there is no sandbox: %s", p.column, body.Response)
			}
		}
	}
	if redeemed := exported(t, s.Live.ExportRedemptions(t.Context(), "")); redeemed != "[]" {
		t.Errorf("something was redeemed: %s", redeemed)
	}
}
