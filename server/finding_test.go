package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

func searching(keys ...string) func(*server.Config) {
	return func(c *server.Config) { c.SearchMetadata, c.CreateUsers = keys, true }
}

func TestRedemptionsAreFoundByTheirMetadata(t *testing.T) {
	d := &desks{t: t, clock: clockAt(10)}
	d.Server = fixture(t, servertest.WithClock(d.clock), searching("ticket", "Order"))
	lead := d.Token(api.ScopeRedemptionsRead, api.ScopeRedemptionsReadAll)
	var made []string
	for i := range d.tokens {
		d.id[i], d.tokens[i] = d.Caller(api.ScopePerksRedeem, api.ScopeRedemptionsRead)
		var r api.Redemption
		d.Do(redeemRequest(d.Server, d.tokens[i], "tea", fmt.Sprintf(
			`{"user_id":"user%d","metadata":{"ticket":"T-1","Order":%d}}`, i, i), ""), &r)
		made = append(made, r.ID)
		d.clock.Advance(time.Minute)
	}
	for query, want := range map[string][]string{
		"?metadata.ticket=t-1": {made[1], made[0]}, "?metadata.ticket=T-1&metadata.Order=1": {made[1]},
		"?metadata.ticket=T": {}, "?metadata.ticket=t-1&user=user0": {made[0]}, "?metadata.Order=0&status=approved": {made[0]},
	} {
		if diff := cmp.Diff(want, recordIDs(d.list(lead, query))); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", query, diff)
		}
	}
	if got := recordIDs(d.list(d.tokens[0], "?metadata.ticket=t-1")); len(got) != 1 || got[0] != made[0] {
		t.Errorf("a desk finds %v, want only its own %s", got, made[0])
	}
	response, _ := d.Get(lead, d.LiveURL()+"/redemptions")
	if got := response.Header.Get("X-Searched-Metadata"); got != "ticket, Order" {
		t.Errorf("the keys are %q", got)
	}
	response, _ = d.Get(lead, d.LiveURL()+"/redemptions?metadata.ticket=t-1&per_page=1")
	if !strings.Contains(response.Header.Get("Link"), "metadata.ticket=t-1") {
		t.Errorf("the links are %q", response.Header.Get("Link"))
	}
	for query, want := range map[string]string{
		"metadata.till=4": "these keys of metadata are: ticket, Order", "metadata.order=1": "ticket, Order",
		"metadata.ticket=": "must have a value", "metadata.ticket=%20": "must have a value",
		"metadata.ticket=" + strings.Repeat("x", 201): "at most 200 characters", "metadata.ticket=%00": "UTF-8",
	} {
		name, _, _ := strings.Cut(query, "=")
		_, body := wantError(t, d.Server, d.Request(lead, "GET", d.LiveURL()+"/redemptions?"+query, ""), 422,
			"application/problem+json", api.CodeValidationFailed)
		if got := strings.Join(body.Errors[name], " "); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	without := fixture(t)
	_, body := wantError(t, without, without.Request(without.Token(), "GET",
		without.LiveURL()+"/redemptions?metadata.ticket=1", ""), 422, "application/problem+json", api.CodeValidationFailed)
	if got := strings.Join(body.Errors["metadata.ticket"], " "); !strings.Contains(got, "--search-metadata") {
		t.Errorf("without keys: %q", got)
	}
}

// indexing is a store whose metadata is being indexed until released.
type indexing struct {
	store.Store
	began   chan struct{}
	release chan struct{}
	steps   *atomic.Int64
}

func (i indexing) IndexMetadata(ctx context.Context, keys []string) (int, error) {
	switch i.steps.Add(1) {
	case 1:
		return 43, nil
	case 2:
		close(i.began)
		select {
		case <-i.release:
		case <-ctx.Done():
		}
	}
	return i.Store.IndexMetadata(ctx, keys)
}

func TestAListByMetadataSaysThatItMayBeIncomplete(t *testing.T) {
	slow := indexing{began: make(chan struct{}), release: make(chan struct{}), steps: new(atomic.Int64)}
	s := fixture(t, searching("ticket"), func(c *server.Config) {
		slow.Store = c.Live
		c.Live = slow
	})
	token := s.Token()
	indexed := func(query string) string {
		response, _ := s.Get(token, s.LiveURL()+"/redemptions"+query)
		return response.Header.Get("X-Metadata-Indexed")
	}
	<-slow.began
	if got := indexed("?metadata.ticket=1"); got != "43" {
		t.Errorf("%q %% are indexed", got)
	}
	if got := indexed(""); got != "" {
		t.Errorf("a list without metadata says that %q %% are indexed", got)
	}
	close(slow.release)
	for indexed("?metadata.ticket=1") != "" { // until the test's time is over
	}
}

func TestRefusedRedemptionsAreFound(t *testing.T) {
	d := &desks{t: t, clock: clockAt(10)}
	d.Server = fixture(t, servertest.WithClock(d.clock))
	lead := d.Token(api.ScopeRedemptionsRead, api.ScopeRedemptionsReadAll)
	for i := range d.tokens {
		d.id[i], d.tokens[i] = d.Caller(api.ScopePerksRedeem, api.ScopeRedemptionsRead)
	}
	refuse := func(desk int, perk, user string) {
		if status := d.Do(redeemRequest(d.Server, d.tokens[desk], perk, `{"user_id":"`+user+`"}`, ""), nil); status < 400 {
			t.Errorf("%s for %s: %d", perk, user, status)
		}
		d.clock.Advance(time.Minute)
	}
	refuse(0, "out", "alice")
	refuse(1, "soon", "alice")
	refuse(0, "late", "bob")
	refuse(0, "nothing", "bob")
	refuse(0, "tea", "nobody")
	refuse(0, "tea", "a b") // an invalid request is not a refusal
	list := func(token, query string) (codes []string) {
		page, _ := servertest.Read[api.Page[api.RefusedRedemption]](d.Server, token,
			d.LiveURL()+"/redemptions/refused"+query)
		for _, r := range page.Data {
			codes = append(codes, string(r.Code)+" "+r.PerkID+" "+r.UserID)
		}
		return codes
	}
	all := []string{"not_found tea nobody", "not_found nothing bob", "perk_expired late bob", "perk_not_started soon alice",
		"sold_out out alice"}
	for _, test := range []struct {
		token, query string
		want         []string
	}{
		{lead, "", all},
		{lead, "?sort=at&per_page=1", all[4:]},
		{lead, "?own=true", nil},
		{d.tokens[1], "", all[3:4]},
		{lead, "?user=alice", all[3:]},
		{lead, "?perk=late", all[2:3]},
		{lead, "?reason=sold_out", all[4:]},
		{lead, "?since=" + day(10).Add(90*time.Second).Format(time.RFC3339), all[:3]},
	} {
		if diff := cmp.Diff(test.want, list(test.token, test.query), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", test.query, diff)
		}
	}
	var walked []string
	for page := range walk[api.RefusedRedemption](d.Server, lead, d.LiveURL()+"/redemptions/refused?per_page=2") {
		for _, r := range page.Data {
			walked = append(walked, string(r.Code)+" "+r.PerkID+" "+r.UserID)
		}
	}
	if diff := cmp.Diff(all, walked); diff != "" {
		t.Errorf("walked: %s", diff)
	}
	id, secret := d.ClientWith(func(c *store.Client) { c.NamesActors = true })
	request := redeemRequest(d.Server, d.TokenFor(id, secret), "out", `{"user_id":"bob"}`, "")
	request.Header.Set("Perks-Actor", "Alice")
	d.Do(request, nil)
	if got := list(lead, "?actor=Alice"); len(got) != 1 || got[0] != "sold_out out bob" {
		t.Errorf("of an actor: %v", got)
	}
	page, _ := servertest.Read[api.Page[api.RefusedRedemption]](d.Server, lead,
		d.LiveURL()+"/redemptions/refused?reason=sold_out&user=alice")
	want := api.RefusedRedemption{PerkID: "out", UserID: "alice", Code: api.CodeSoldOut, ClientID: d.id[0], At: day(10)}
	if got := page.Data[0]; got.Message == "" {
		t.Error("the message is empty")
	} else if got.Message = ""; !cmp.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	wantError(t, d.Server, d.Request(lead, "GET", d.LiveURL()+"/redemptions/refused?reason=no", ""),
		http.StatusUnprocessableEntity, "application/problem+json", api.CodeValidationFailed)
}

func TestWhoeverIsRefusedAgainAndAgainFillsNothing(t *testing.T) {
	clock := clockAt(10)
	s := fixture(t, servertest.WithClock(clock))
	ids, tokens := [2]string{}, [2]string{}
	for i := range ids {
		ids[i], tokens[i] = s.Caller(api.ScopePerksRedeem, api.ScopeRedemptionsRead)
	}
	refuse := func(desk int) { s.Do(redeemRequest(s, tokens[desk], "out", `{"user_id":"alice"}`, ""), nil) }
	kept := func(desk int) int64 {
		page, _ := servertest.Read[api.Page[api.RefusedRedemption]](s, tokens[desk], s.LiveURL()+"/redemptions/refused")
		return page.Meta.Total
	}
	for range 200 {
		refuse(0)
	}
	refuse(1)
	if hostile, other := kept(0), kept(1); hostile != 120 || other != 1 {
		t.Errorf("%d and %d refusals are kept, want those of a minute, and the other client's", hostile, other)
	}
	clock.Advance(time.Second)
	for range 10 {
		refuse(0)
	}
	if hostile := kept(0); hostile != 122 {
		t.Errorf("a second later, %d are kept, want two more", hostile)
	}
}
