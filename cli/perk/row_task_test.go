package perk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/bulk"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// shop is a server with the perk coffee and the user alice, a redeemer at it, and a count of the requests.
func shop(t *testing.T) (*redeemer, *counter) {
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "coffee"}})
	server.ImportUsers("alice", "bob")
	requests := &counter{}
	c, err := client.New(client.Config{BaseURL: server.URL, Tokens: client.StaticToken(server.Token()), Transport: requests})
	if err != nil {
		t.Fatal(err)
	}
	return newRedeemer(func() (*client.Client, error) { return c, nil }), requests
}

// counter counts requests, and fails those that are to fail.
type counter struct {
	count   atomic.Int64
	failing atomic.Bool
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count.Add(1)
	if c.failing.Load() {
		return nil, errors.New("the line is down")
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestARedeemIsDoneOnceAndFound(t *testing.T) {
	r, _ := shop(t)
	before := time.Now().Add(-time.Second)
	nobody := func(string) bool { return false }
	task := r.task(t, "perk,user,metadata.ticket\ncoffee,alice,4711\n")
	if task.Subject() != "coffee\x00alice" {
		t.Errorf("the subject is %q", task.Subject())
	}
	if _, done, err := task.Done(t.Context(), before, nobody); done || err != nil {
		t.Fatalf("before: %t, %v", done, err)
	}
	outcome, err := task.Do(t.Context(), "k-1")
	if err != nil || outcome.ID == "" || outcome.Status != 201 {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if again, err := task.Do(t.Context(), "k-1"); again != outcome || err != nil {
		t.Errorf("under the same key: %+v, %v", again, err)
	}
	if found, done, err := task.Done(t.Context(), before, nobody); found != outcome || !done || err != nil {
		t.Errorf("after: %+v, %t, %v", found, done, err)
	}
	if _, done, err := task.Done(t.Context(), before, func(id string) bool { return id == outcome.ID }); done || err != nil {
		t.Errorf("what belongs to another row: %t, %v", done, err)
	}
	if _, err := task.Do(t.Context(), "k-2"); api.CodeOf(err) != api.CodeAlreadyRedeemed {
		t.Errorf("under another key: %v", err)
	}
}

func TestEachPerkIsCheckedOnce(t *testing.T) {
	r, requests := shop(t)
	var checks sync.WaitGroup
	for user := range 100 {
		coffee := r.task(t, fmt.Sprintf("perk,user\ncoffee,u%d\n", user))
		tea := r.task(t, fmt.Sprintf("perk,user\ntea,u%d\n", user))
		checks.Go(func() {
			if err := coffee.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
		checks.Go(func() {
			if err := tea.Check(t.Context()); api.CodeOf(err) != api.CodeNotFound {
				t.Errorf("a perk that is not there: %v", err)
			}
		})
	}
	checks.Wait()
	if n := requests.count.Load(); n != 2 {
		t.Errorf("%d requests for two perks", n)
	}
}

func TestAFailureIsNotRememberedOfAPerk(t *testing.T) {
	r, requests := shop(t)
	task := r.task(t, "perk,user\ncoffee,alice\n")
	requests.failing.Store(true)
	if err := task.Check(t.Context()); err == nil {
		t.Fatal("the line is up")
	}
	requests.failing.Store(false)
	if err := task.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestKnownPerksAreBounded(t *testing.T) {
	var p knownPerks
	for i := range maxKnownPerks + 1 {
		p.remember(fmt.Sprint(i), nil)
	}
	if len(p.answers) != 1 {
		t.Errorf("%d answers are kept", len(p.answers))
	}
}

func TestATaskWithoutAConnectionFails(t *testing.T) {
	broken := errors.New("no connection")
	r := newRedeemer(func() (*client.Client, error) { return nil, broken })
	task := r.task(t, "perk,user\ncoffee,alice\n")
	_, do := task.Do(context.Background(), "k")
	_, _, done := task.Done(context.Background(), time.Now(), nil)
	for _, err := range []error{do, done, task.Check(context.Background())} {
		if err != broken {
			t.Errorf("%v", err)
		}
	}
}

// task is the task of a file's first row.
func (r *redeemer) task(t *testing.T, file string) bulk.Task {
	t.Helper()
	task, err := r.parse(firstRow(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return task
}
