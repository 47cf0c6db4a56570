package server_test

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// TestAClientCannotTakeAllConnections lets one client send lists that do not end, as many as it can, and another one
// work beside it.
func TestAClientCannotTakeAllConnections(t *testing.T) {
	held := &heldLists{began: make(chan struct{}, 1000), release: make(chan struct{})}
	s := servertest.Start(t, func(c *server.Config) { held.Store, c.Live = c.Live, held })
	s.ImportUsers("alice")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}})
	id, secret := s.Client()
	greedy := s.TokenFor(id, secret)
	modest := s.Token()
	const requests = 100
	statuses := make(chan int, requests)
	var running sync.WaitGroup
	for range requests {
		running.Go(func() {
			response, err := http.DefaultClient.Do(s.Request(greedy, "GET", s.LiveURL()+"/perks?sort=description", ""))
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
			if response.StatusCode == http.StatusTooManyRequests && response.Header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
			statuses <- response.StatusCode
		})
	}
	const share = 4 // a quarter of 16
	for range share {
		<-held.began
	}
	const refused = requests - share - 64
	for range refused { // each reply is there at once
		if got := <-statuses; got != http.StatusTooManyRequests {
			t.Errorf("a list beyond those that wait: %d", got)
		}
	}
	for name, do := range map[string]func() int{
		"list":   func() int { return s.Do(s.Request(modest, "GET", s.LiveURL()+"/perks", ""), nil) },
		"get":    func() int { return s.Do(s.Request(modest, "GET", s.LiveURL()+"/perks/tea", ""), nil) },
		"redeem": func() int { return s.Do(redeemRequest(s, modest, "tea", `{"user_id":"alice"}`, ""), nil) },
		"ready":  func() int { return s.Do(s.Request("", "GET", s.Root()+"/readyz", ""), nil) },
		"token":  func() int { s.Token(); return http.StatusOK },
	} {
		begin := time.Now()
		if got := do(); got != http.StatusOK && got != http.StatusCreated || time.Since(begin) > 5*time.Second {
			t.Errorf("%s of another client: %d after %s", name, got, time.Since(begin))
		}
	}
	if begun := len(held.began); begun != 0 {
		t.Errorf("%d lists of the greedy client more than its share have begun", begun)
	}
	close(held.release)
	running.Wait()
	for range requests - refused {
		if got := <-statuses; got != http.StatusOK {
			t.Errorf("a list that had waited: %d", got)
		}
	}
}

// heldLists holds a connection for each list by description, until it is released.
type heldLists struct {
	store.Store
	began, release chan struct{}
}

func (h *heldLists) ListPerks(ctx context.Context, query store.PerkQuery) (store.List[api.Perk], error) {
	if len(query.Sort) == 0 || query.Sort[0].Field != "description" {
		return h.Store.ListPerks(ctx, query)
	}
	next, stop := iter.Pull2(h.Store.ExportPerks(ctx)) // a read that lasts
	defer stop()
	next()
	h.began <- struct{}{}
	select {
	case <-h.release:
	case <-ctx.Done():
	}
	return h.Store.ListPerks(ctx, query)
}

func TestAListThatTakesTooLongNamesCheaperOnes(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Live = tooLong{c.Live} })
	request := s.Request(s.Token(), "GET", s.LiveURL()+"/perks?sort=terms,title", "")
	_, body := wantError(t, s, request, http.StatusUnprocessableEntity, problemType, api.CodeTooExpensive)
	const want = "This list takes longer than 5s. No index has the order by terms: " +
		"sort by title, city, created_at or valid_to, or add a filter."
	if body.Response != want {
		t.Errorf("the response is %q", body.Response)
	}
}

// tooLong is a store in which each list takes too long.
type tooLong struct{ store.Store }

func (tooLong) ListPerks(context.Context, store.PerkQuery) (list store.List[api.Perk], err error) {
	return list, store.ErrTimeLimit
}
