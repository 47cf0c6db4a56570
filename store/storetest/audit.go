package storetest

import (
	"fmt"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// UpdatesAreWholeForADay checks that entries of updates have the whole listing for a day after the migration of a
// database that older servers may still use, and the changed fields from then on.
func UpdatesAreWholeForADay(t *testing.T, db store.Store) {
	t.Helper()
	now := time.Now()
	if err := db.CreateClient(t.Context(), store.Client{ID: "owner", Name: "Owner"}, store.Operator); err != nil {
		t.Fatal(err)
	}
	creation := store.PropertyCreation{Property: api.Property{Title: "Flat", Images: []string{}}, Owner: "owner", At: now}
	if _, err := db.CreateProperty(t.Context(), creation); err != nil {
		t.Fatal(err)
	}
	for i, after := range []time.Duration{0, 23 * time.Hour, 25 * time.Hour} {
		retitle := func(p *store.PropertyRecord) error { p.Title = fmt.Sprint("Title ", i); return nil }
		if err := db.UpdateProperty(t.Context(), 1, "client/owner", now.Add(after), retitle); err != nil {
			t.Fatal(err)
		}
	}
	var whole []bool
	for entry, err := range db.Audit(t.Context(), store.AuditQuery{Action: store.ActionUpdateProperty}) {
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, len(entry.Before) > 100 && len(entry.After) > 100)
	}
	if fmt.Sprint(whole) != "[true true false]" {
		t.Errorf("the entries are whole: %v", whole)
	}
}
