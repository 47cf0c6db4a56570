package server_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// TestARotationThatKeepsTheOldSecretFailsNoRequest has workers get tokens from two replicas while the secret is rotated
// twice. Each old secret works until its end, and at no replica from then on.
func TestARotationThatKeepsTheOldSecretFailsNoRequest(t *testing.T) {
	clock := clockAt(10)
	one := servertest.Start(t, servertest.WithClock(clock))
	two := servertest.Start(t, servertest.WithClock(clock), func(c *server.Config) { c.Live = one.Live })
	id, first := one.Client()
	status := func(s *servertest.Server, secret string) int { return s.Do(tokenRequest(s, id, secret, "", ""), nil) }

	var current atomic.Pointer[string] // the secret of half of the workers, which notice a rotation at once
	current.Store(&first)
	var working sync.WaitGroup
	var issued atomic.Int64
	progress, stop := make(chan struct{}, 1), make(chan struct{})
	for n := range 8 {
		working.Go(func() {
			s := []*servertest.Server{one, two}[n%2]
			for {
				select {
				case <-stop:
					return
				default:
				}
				secret := first
				if n < 4 {
					secret = *current.Load()
				}
				if got := status(s, secret); got != http.StatusOK {
					t.Errorf("a request at replica %d got %d", n%2+1, got)
				}
				issued.Add(1)
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	await := func(more int64) {
		for until := issued.Load() + more; issued.Load() < until; {
			<-progress
		}
	}
	start := clock.Now()
	for n, secret := range []string{"second", "third"} {
		await(40)
		keep := start.Add(time.Duration(48-n) * time.Hour) // the second one ends before the first
		if _, err := one.Live.ChangeClient(t.Context(), id, store.Operator, clock.Now(),
			store.Rotation(server.HashSecret(secret), keep, clock.Now())); err != nil {
			t.Fatal(err)
		}
		current.Store(&secret)
	}
	clock.Advance(47*time.Hour - time.Second)
	await(40)
	close(stop)
	working.Wait()

	for _, step := range []struct {
		later                time.Duration
		first, second, third int
	}{
		{0, 200, 200, 200},
		{time.Second, 200, 401, 200},
		{time.Hour - time.Microsecond, 200, 401, 200},
		{time.Microsecond, 401, 401, 200},
	} {
		clock.Advance(step.later)
		for n, s := range []*servertest.Server{one, two} {
			got := [3]int{status(s, first), status(s, "second"), status(s, "third")}
			if want := [3]int{step.first, step.second, step.third}; got != want {
				t.Errorf("after %s the secrets get %v at replica %d, want %v", clock.Now().Sub(start), got, n+1, want)
			}
		}
	}
	for range 20 { // more than a guess may be wrong
		if late, current := status(one, first), status(one, "third"); late != 401 || current != 200 {
			t.Fatalf("while somebody sends an ended secret, it gets %d and the new one %d", late, current)
		}
	}
}

// TestDroppingOldSecretsAndDisablingEndThemAtOnce uses the old secret just before. Enabling does not bring it back.
func TestDroppingOldSecretsAndDisablingEndThemAtOnce(t *testing.T) {
	clock := clockAt(10)
	s := servertest.Start(t, servertest.WithClock(clock))
	for name, end := range map[string]func(id string) error{
		"dropped": func(id string) error {
			_, err := s.Live.ChangeClient(t.Context(), id, store.Operator, clock.Now(), store.DropOldSecrets)
			return err
		},
		"disabled": func(id string) error {
			return errors.Join(s.Live.SetClientDisabled(t.Context(), id, true, store.Operator, clock.Now()),
				s.Live.SetClientDisabled(t.Context(), id, false, store.Operator, clock.Now()))
		},
	} {
		id, old := s.Client()
		if _, err := s.Live.ChangeClient(t.Context(), id, store.Operator, clock.Now(),
			store.Rotation(server.HashSecret("new"), clock.Now().Add(time.Hour), clock.Now())); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			change   func(string) error
			old, new int
		}{{func(string) error { return nil }, 200, 200}, {end, 401, 200}} {
			if err := step.change(id); err != nil {
				t.Fatal(err)
			}
			got := [2]int{s.Do(tokenRequest(s, id, old, "", ""), nil), s.Do(tokenRequest(s, id, "new", "", ""), nil)}
			if want := [2]int{step.old, step.new}; got != want {
				t.Errorf("%s: the old and the new secret get %v, want %v", name, got, want)
			}
		}
	}
}

// TestAnExpiredClientIsRefusedLikeADisabledOne sets the expiry while two replicas have the client in their caches, and
// checks that the caller is told nothing, and the operator all.
func TestAnExpiredClientIsRefusedLikeADisabledOne(t *testing.T) {
	clock := clockAt(10)
	var log bytes.Buffer
	one := servertest.Start(t, servertest.WithClock(clock), servertest.LogTo(&log))
	two := servertest.Start(t, servertest.WithClock(clock), func(c *server.Config) { c.Live = one.Live })
	id, secret := one.Client()
	token := one.TokenFor(id, secret)
	expire := func(at time.Time) {
		t.Helper()
		if _, err := one.Live.UpdateClient(t.Context(), id, store.ClientChange{ExpiresAt: &at}, store.Operator,
			clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(want int) {
		t.Helper()
		for n, s := range []*servertest.Server{one, two} {
			if got := s.Status(token, "GET", s.LiveURL()+"/perks", ""); got != want {
				t.Errorf("replica %d lists perks with %d, want %d", n+1, got, want)
			}
			if got := s.Do(tokenRequest(s, id, secret, "", ""), nil); got != want {
				t.Errorf("replica %d issues a token with %d, want %d", n+1, got, want)
			}
		}
	}
	end := clock.Now().Add(10 * time.Minute)
	wants(http.StatusOK)
	expire(end)
	clock.Advance(10*time.Minute - time.Microsecond)
	wants(http.StatusOK)
	clock.Advance(time.Microsecond)
	wants(http.StatusUnauthorized)
	_, body := wantError(t, one, tokenRequest(one, id, secret, "", ""), http.StatusUnauthorized, jsonType,
		api.CodeInvalidToken)
	if body.Response != api.WrongCredentials {
		t.Errorf("the caller is told %q", body.Response)
	}
	if want := "the credentials are wrong: the client expired at " + end.Format(time.RFC3339); !strings.Contains(
		log.String(), want) {
		t.Errorf("the log lacks %q", want)
	}
	expire(end.Add(time.Hour)) // the replicas have cached the expired one
	clock.Advance(5 * time.Second)
	wants(http.StatusOK)
	expire(clock.Now()) // and now the one that has not expired
	clock.Advance(5 * time.Second)
	wants(http.StatusUnauthorized)
}

// notingStore holds each note until the test takes it, and tells when it has ended.
type notingStore struct {
	store.Store
	begun chan map[string]time.Time
	end   chan error
	ended chan error
}

func (n *notingStore) NoteTokens(ctx context.Context, issued map[string]time.Time) error {
	n.begun <- issued
	err := <-n.end
	if err == nil {
		err = n.Store.NoteTokens(ctx, issued)
	}
	n.ended <- err
	return err
}

// warned is a log that signals each warning.
type warned chan struct{}

func (w warned) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("cannot note when clients got tokens")) {
		w <- struct{}{}
	}
	return len(line), nil
}

// TestTokensAreNotedBesideTheirRequests holds each note, so that a request that waited for it would never end. One
// fails.
func TestTokensAreNotedBesideTheirRequests(t *testing.T) {
	clock, log := clockAt(10), make(warned)
	notes := &notingStore{begun: make(chan map[string]time.Time), end: make(chan error), ended: make(chan error)}
	s := servertest.Start(t, servertest.WithClock(clock), servertest.LogTo(log),
		func(c *server.Config) { notes.Store, c.Live = c.Live, notes })
	type noted = map[string]time.Time
	wantNote := func(what string, want noted, meanwhile func(), end error) {
		t.Helper()
		got := <-notes.begun
		meanwhile()
		notes.end <- end
		<-notes.ended
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	nothing, start := func() {}, clock.Now()
	one, oneSecret := s.Client()
	two, twoSecret := s.Client()

	s.TokenFor(one, oneSecret)
	wantNote("the first", noted{one: start}, func() {
		for range 3 {
			s.TokenFor(one, oneSecret)
			s.TokenFor(two, twoSecret)
		}
	}, nil)
	wantNote("those that came meanwhile", noted{one: start, two: start}, nothing, errors.New("the disk is full"))
	<-log
	s.TokenFor(two, twoSecret) // is not noted: the pause after a failure lasts a minute
	clock.Advance(time.Minute)
	s.TokenFor(two, twoSecret)
	wantNote("after the pause", noted{two: start.Add(time.Minute)}, nothing, nil)
	clock.Advance(58 * time.Minute)
	s.TokenFor(one, oneSecret) // is not noted: the hour is not over
	clock.Advance(time.Minute)
	s.TokenFor(one, oneSecret)
	s.TokenFor(two, twoSecret) // the same
	wantNote("an hour later", noted{one: start.Add(time.Hour)}, nothing, nil)
	last := noted{one: start.Add(time.Hour), two: start.Add(time.Minute)}
	for id, want := range last {
		client, err := s.Live.Client(t.Context(), id)
		if err != nil || !client.LastTokenAt.Equal(want) {
			t.Errorf("the last token of %s was noted at %s (%v), want %s", id, client.LastTokenAt, err, want)
		}
	}
}

// TestOperatorsAreWarnedOfClientsThatExpireSoon counts lines of the log.
func TestOperatorsAreWarnedOfClientsThatExpireSoon(t *testing.T) {
	db, clock, registry := servertest.OpenStore(t), clockAt(10), prometheus.NewRegistry()
	var log bytes.Buffer
	s, err := server.New(t.Context(), server.Config{Live: db, Now: clock.Now, Metrics: registry,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	lasting := map[string]time.Duration{"soon": 14 * day, "later": 14*day + time.Hour, "off": day, "never": 0}
	for id, left := range lasting {
		client := store.Client{ID: id, CreatedAt: clock.Now(), Disabled: id == "off"}
		if left > 0 {
			client.ExpiresAt = clock.Now().Add(left)
		}
		if err := db.CreateClient(t.Context(), client, store.Operator); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ticks, done := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(done)
		s.WatchExpiry(ctx, ticks)
	}()
	for _, step := range []struct {
		pass        time.Duration
		expiring    float64
		soon, later int
	}{
		{0, 1, 1, 0}, {time.Hour, 2, 1, 1}, {22 * time.Hour, 2, 1, 1}, {time.Hour, 2, 2, 1}, {time.Hour, 2, 2, 2},
		{14*day - 25*time.Hour, 1, 2, 3}, {time.Hour, 0, 2, 3},
	} {
		clock.Advance(step.pass)
		ticks <- clock.Now()
		ticks <- clock.Now() // is received when the check of the first is done
		for id, want := range map[string]int{"soon": step.soon, "later": step.later, "off": 0, "never": 0} {
			if got := strings.Count(log.String(), "perksd client update "+id+" --expires DATE"); got != want {
				t.Errorf("%s later there are %d warnings of %s, want %d:\n%s", step.pass, got, id, want, log.String())
			}
		}
		if got := counted(t, registry)["perks_clients_expiring "]; got != step.expiring {
			t.Errorf("%s later the metric is %v, want %v", step.pass, got, step.expiring)
		}
	}
	cancel()
	<-done
}
