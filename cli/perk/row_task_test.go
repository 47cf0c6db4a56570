package perk

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// newTestServer starts a server with the perk coffee, the users alice and bob, and a perk and a user for each other
// id. It returns a client of it.
func newTestServer(t *testing.T, others ...string) *client.Client {
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "coffee"}})
	server.ImportUsers("alice", "bob")
	for _, id := range others {
		server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: id}})
		server.ImportUsers(id)
	}
	c, err := client.New(client.Config{BaseURL: server.URL, Tokens: client.StaticToken(server.Token())})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRedemptionIsDoneAndFound(t *testing.T) {
	c := newTestServer(t)
	before := time.Now().Add(-time.Second)
	notTaken := func(string) bool { return false }
	task := redeemRow(t, "perk,user,metadata.ticket\ncoffee,alice,4711\n")
	if task.Subject() != "coffee\x00alice" {
		t.Errorf("the subject is %q", task.Subject())
	}
	if _, event, err := task.LookUp(t.Context(), c, before, notTaken); event != operation.Absent || err != nil {
		t.Fatalf("before: %d, %v", event, err)
	}
	outcome, _, err := task.Send(t.Context(), c, "k-1")
	if err != nil || outcome.ID == "" || outcome.Status != 201 {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if again, _, err := task.Send(t.Context(), c, "k-1"); !reflect.DeepEqual(again, outcome) || err != nil {
		t.Errorf("under the same key: %+v, %v", again, err)
	}
	if found, event, err := task.LookUp(t.Context(), c, before, notTaken); !reflect.DeepEqual(found, outcome) ||
		event != operation.Match || err != nil {
		t.Errorf("after: %+v, %d, %v", found, event, err)
	}
	if _, event, err := task.LookUp(t.Context(), c, before,
		func(id string) bool { return id == outcome.ID }); event != operation.Absent || err != nil {
		t.Errorf("taken by another row: %d, %v", event, err)
	}
	if _, _, err := task.Send(t.Context(), c, "k-2"); api.CodeOf(err) != api.CodeAlreadyRedeemed {
		t.Errorf("under another key: %v", err)
	}
}

func TestRedemptionIsFoundByUUIDsInAnotherCase(t *testing.T) {
	const perkID, userID = "0195b2c4-6f1e-7c3a-9d52-3b1f6e0c7a11", "0195b2c4-6f1e-7c3a-9d52-3b1f6e0c7a22"
	c := newTestServer(t, perkID, userID)
	before := time.Now().Add(-time.Second)
	task := redeemRow(t, "perk,user\n"+strings.ToUpper(perkID)+","+strings.ToUpper(userID)+"\n")
	if p := task.Predict(t.Context(), c); p.Err != nil || !strings.Contains(p.Message, "can redeem") {
		t.Errorf("before: %q, %v", p.Message, p.Err)
	}
	if lower := redeemRow(t, "perk,user\n"+perkID+","+userID+"\n"); lower.Subject() != task.Subject() {
		t.Errorf("the subjects are %q and %q", lower.Subject(), task.Subject())
	}
	outcome, _, err := task.Send(t.Context(), c, "k-1")
	if err != nil {
		t.Fatal(err)
	}
	found, event, err := task.LookUp(t.Context(), c, before, func(string) bool { return false })
	if !reflect.DeepEqual(found, outcome) ||
		event != operation.Match || err != nil {
		t.Errorf("%+v, %d, %v, want %+v", found, event, err, outcome)
	}
	if p := task.Predict(t.Context(), c); api.CodeOf(p.Err) != api.CodeAlreadyRedeemed {
		t.Errorf("after: %q, %v", p.Message, p.Err)
	}
}

// redeemRow returns the task of a file's first row.
func redeemRow(t *testing.T, file string) operation.Task {
	t.Helper()
	task, err := newRedeemer().parse(firstRow(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return task
}
