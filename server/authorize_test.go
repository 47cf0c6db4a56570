package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/store/postgres"
	"example.com/perks/store/storetest"
)

// watched is a store that signals reads of the signing keys.
type watched struct {
	store.Store
	asked chan struct{}
}

func (w watched) SigningKeys(ctx context.Context, at time.Time) ([]store.SigningKey, error) {
	keys, err := w.Store.SigningKeys(ctx, at)
	select {
	case w.asked <- struct{}{}:
	default:
	}
	return keys, err
}

// TestAChangeWaitsForAnUnavailableDatabase lets the cached keys expire, so that they have to be read again from a
// database that is unavailable.
func TestAChangeWaitsForAnUnavailableDatabase(t *testing.T) {
	machine, err := storetest.StartPostgres(t.Context(), storetest.PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = machine.Stop() })
	db, err := postgres.Open(t.Context(), machine.DSN("postgres"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	clock, asked := clockAt(10), make(chan struct{})
	s := servertest.Start(t, servertest.WithClock(clock), func(c *server.Config) { c.Live = watched{db, asked} })
	s.Live = db
	s.ImportUsers("alice")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}})
	id, secret := s.Client()
	token := s.TokenFor(id, secret)
	if err := machine.Kill(); err != nil {
		t.Fatal(err)
	}
	clock.Advance(server.KeyActivationDelay)

	_, body := wantError(t, s, s.Request(token, "GET", s.LiveURL()+"/perks/tea", ""), http.StatusServiceUnavailable,
		problemType, api.CodeUnavailable)
	if !strings.Contains(body.Response, "Nothing was started") {
		t.Errorf("a read got %q", body.Response)
	}
	answered := make(chan int, 1)
	go func() {
		answered <- s.Do(redeemRequest(s, token, "tea", `{"user_id":"alice"}`, "k"), nil)
	}()
	for range 3 {
		select {
		case <-asked:
		case status := <-answered:
			t.Fatalf("a redemption that should wait got %d", status)
		}
	}
	if err := machine.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for status := 0; status == 0; {
		select {
		case <-asked:
		case status = <-answered:
			if status != http.StatusCreated {
				t.Errorf("a redemption that waited got %d", status)
			}
		}
	}
}
