package perk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// newTestRedeemer starts a server with the perk coffee, the users alice and bob, and a perk and a user for each other
// id. It returns a redeemer for it and a counter of requests.
func newTestRedeemer(t *testing.T, others ...string) (*redeemer, *counter) {
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "coffee"}})
	server.ImportUsers("alice", "bob")
	for _, id := range others {
		server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: id}})
		server.ImportUsers(id)
	}
	requests := &counter{}
	c, err := client.New(client.Config{BaseURL: server.URL, Tokens: client.StaticToken(server.Token()),
		Transport: requests})
	if err != nil {
		t.Fatal(err)
	}
	return newRedeemer(func() (*client.Client, error) { return c, nil }), requests
}

// counter counts the requests for perks. It can fail all requests.
type counter struct {
	perks   atomic.Int64 // not of users
	failing atomic.Bool
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "/users/") {
		c.perks.Add(1)
	}
	if c.failing.Load() {
		return nil, errors.New("connection failed")
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestRedemptionIsDoneAndFound(t *testing.T) {
	r, _ := newTestRedeemer(t)
	before := time.Now().Add(-time.Second)
	notTaken := func(string) bool { return false }
	task := r.task(t, "perk,user,metadata.ticket\ncoffee,alice,4711\n")
	if task.Subject() != "coffee\x00alice" {
		t.Errorf("the subject is %q", task.Subject())
	}
	if _, event, err := task.LookUp(t.Context(), before, notTaken); event != operation.Absent || err != nil {
		t.Fatalf("before: %d, %v", event, err)
	}
	outcome, _, err := task.Send(t.Context(), "k-1")
	if err != nil || outcome.ID == "" || outcome.Status != 201 {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if again, _, err := task.Send(t.Context(), "k-1"); again != outcome || err != nil {
		t.Errorf("under the same key: %+v, %v", again, err)
	}
	if found, event, err := task.LookUp(t.Context(), before, notTaken); found != outcome || event != operation.Match ||
		err != nil {
		t.Errorf("after: %+v, %d, %v", found, event, err)
	}
	if _, event, err := task.LookUp(t.Context(), before,
		func(id string) bool { return id == outcome.ID }); event != operation.Absent || err != nil {
		t.Errorf("taken by another row: %d, %v", event, err)
	}
	if _, _, err := task.Send(t.Context(), "k-2"); api.CodeOf(err) != api.CodeAlreadyRedeemed {
		t.Errorf("under another key: %v", err)
	}
}

func TestRedemptionIsFoundByUUIDsInAnotherCase(t *testing.T) {
	const perkID, userID = "0195b2c4-6f1e-7c3a-9d52-3b1f6e0c7a11", "0195b2c4-6f1e-7c3a-9d52-3b1f6e0c7a22"
	r, _ := newTestRedeemer(t, perkID, userID)
	before := time.Now().Add(-time.Second)
	task := r.task(t, "perk,user\n"+strings.ToUpper(perkID)+","+strings.ToUpper(userID)+"\n")
	if message, _, err := task.Check(t.Context()); err != nil || !strings.Contains(message, "can redeem") {
		t.Errorf("before: %q, %v", message, err)
	}
	if lower := r.task(t, "perk,user\n"+perkID+","+userID+"\n"); lower.Subject() != task.Subject() {
		t.Errorf("the subjects are %q and %q", lower.Subject(), task.Subject())
	}
	outcome, _, err := task.Send(t.Context(), "k-1")
	if err != nil {
		t.Fatal(err)
	}
	if found, event, err := task.LookUp(t.Context(), before, func(string) bool { return false }); found != outcome ||
		event != operation.Match || err != nil {
		t.Errorf("%+v, %d, %v, want %+v", found, event, err, outcome)
	}
	if message, _, err := task.Check(t.Context()); api.CodeOf(err) != api.CodeAlreadyRedeemed {
		t.Errorf("after: %q, %v", message, err)
	}
}

func TestPerkIsFoundWithSpacesAroundItsCity(t *testing.T) {
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea", City: " York "}})
	server.ImportUsers("alice")
	c, err := client.New(client.Config{BaseURL: server.URL, Tokens: client.StaticToken(server.Token())})
	if err != nil {
		t.Fatal(err)
	}
	task := newRedeemer(func() (*client.Client, error) { return c, nil }).task(t, "perk,user\ntea,alice\n")
	message, err := task.(*redeemTask).guess(t.Context(), c)
	if err != nil || !strings.Contains(message, "can probably redeem") {
		t.Errorf("%q, %v", message, err)
	}
}

func TestEachPerkIsReadOnce(t *testing.T) {
	r, requests := newTestRedeemer(t)
	guess := func(task *redeemTask) error {
		c, err := task.connect()
		if err == nil {
			_, err = task.guess(t.Context(), c)
		}
		return err
	}
	var checks sync.WaitGroup
	for i := range 30 { // fewer than the service lets one client wait with
		user := []string{"alice", "bob"}[i%2]
		coffee := r.task(t, "perk,user\ncoffee,"+user+"\n")
		tea := r.task(t, "perk,user\ntea,"+user+"\n")
		checks.Go(func() {
			if err := guess(coffee.(*redeemTask)); err != nil {
				t.Error(err)
			}
		})
		checks.Go(func() {
			if err := guess(tea.(*redeemTask)); api.CodeOf(err) != api.CodeNotFound {
				t.Errorf("a missing perk: %v", err)
			}
		})
	}
	checks.Wait()
	if n := requests.perks.Load(); n != 2 {
		t.Errorf("%d requests for two perks", n)
	}
}

func TestFailureIsNotCached(t *testing.T) {
	r, requests := newTestRedeemer(t)
	task := r.task(t, "perk,user\ncoffee,alice\n")
	requests.failing.Store(true)
	if _, _, err := task.Check(t.Context()); err == nil {
		t.Fatal("the check succeeded")
	}
	requests.failing.Store(false)
	if _, _, err := task.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	r := newRedeemer(nil)
	for i := range maxKnownPerks + 1 {
		r.perks.Add(fmt.Sprint(i), knownPerk{})
	}
	if got := r.perks.Len(); got != maxKnownPerks {
		t.Errorf("%d perks cached", got)
	}
}

func TestTaskWithoutConnectionFails(t *testing.T) {
	broken := errors.New("no connection")
	r := newRedeemer(func() (*client.Client, error) { return nil, broken })
	task := r.task(t, "perk,user\ncoffee,alice\n")
	_, _, do := task.Send(context.Background(), "k")
	_, _, done := task.LookUp(context.Background(), time.Now(), nil)
	_, _, check := task.Check(context.Background())
	for _, err := range []error{do, done, check} {
		if err != broken {
			t.Errorf("%v", err)
		}
	}
}

// task returns the task of a file's first row.
func (r *redeemer) task(t *testing.T, file string) bulk.Task {
	t.Helper()
	task, err := r.parse(firstRow(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return task
}
