package main

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"example.com/perks/store"
)

// deleteProperty deletes a property as its owner, like the server.
func (o *operator) deleteProperty(id int64) {
	o.t.Helper()
	db := o.store()
	defer db.Close()
	anyone := func(store.PropertyRecord) error { return nil }
	if err := db.DeleteProperty(context.Background(), id, store.ClientActor("acme"), o.now, anyone); err != nil {
		o.t.Fatal(err)
	}
}

func TestPropertyRestore(t *testing.T) {
	o := withClient(t)
	o.must("import", "properties", o.file("odd.json", "["+odd["properties"]+"]"))
	before := o.must("export", "properties", "-o", "jsonl")
	o.deleteProperty(1)
	equal(t, "restore", "Restored property 1. It belongs to client acme.\n", o.must("property", "restore", "1"))
	equal(t, "the properties", before, o.must("export", "properties", "-o", "jsonl"))

	o.deleteProperty(1)
	if restored := o.must("property", "restore", "1", "-o", "json"); !strings.Contains(restored,
		`"price_pw": "120.50"`) || !strings.Contains(restored, `"owner": "acme"`) {
		t.Errorf("restore prints %s", restored)
	}
	o.refuses(exitFailure, "Property 1 exists; there is nothing to restore.", "property", "restore", "1")
	o.refuses(exitFailure, "There is no property 2.", "property", "restore", "2")
	o.refuses(exitUsage, `a property's id is a whole number above 0, not "one" (see 'perksd property restore --help')`,
		"property", "restore", "one")
}

func TestAuditShowsActorsAndActions(t *testing.T) {
	o := withRedemptions(t)
	o.must("import", "properties", o.file("properties.csv", importable["properties"]))
	o.must("redemption", "approve", "r-1")
	o.deleteProperty(2)
	o.must("property", "restore", "2")
	o.must("client", "rotate-secret", "acme")
	o.must("client", "disable", "acme")
	o.must("client", "enable", "acme")
	equal(t, "the log", `AT                    ACTOR        ACTION                SUBJECT
2026-06-15T12:00:00Z  operator     client.create         client/acme
2026-06-15T12:00:00Z  operator     users.import          users
2026-06-15T12:00:00Z  operator     perks.import          perks
2026-06-15T12:01:00Z  client/acme  redemption.create     redemption/r-1
2026-06-15T12:02:00Z  client/acme  redemption.create     redemption/r-2
2026-06-15T12:03:00Z  client/acme  redemption.create     redemption/r-3
2026-06-15T12:03:00Z  operator     properties.import     properties
2026-06-15T12:03:00Z  operator     redemption.approve    redemption/r-1
2026-06-15T12:03:00Z  client/acme  property.delete       property/2
2026-06-15T12:03:00Z  operator     property.restore      property/2
2026-06-15T12:03:00Z  operator     client.rotate-secret  client/acme
2026-06-15T12:03:00Z  operator     client.disable        client/acme
2026-06-15T12:03:00Z  operator     client.enable         client/acme
`, o.must("audit"))
	golden(t, "audit_property.json", o.must("audit", "--subject", "property/2", "-o", "json"))
	golden(t, "audit_property.jsonl", o.must("audit", "--subject", "property/2", "-o", "jsonl"))
	equal(t, "the log of nothing", "[]\n", o.must("audit", "--subject", "property/9", "-o", "json"))
}

func TestKeysRotateAddsAKeyAndLetsTheOldOnesExpire(t *testing.T) {
	o := withClient(t)
	first := o.must("keys", "rotate")
	if !strings.HasPrefix(first, "Key ") || !strings.Contains(first, " signs new tokens from ") ||
		!strings.HasSuffix(first, ". Older keys expire at 2026-06-16T14:00:00Z at the latest.\n") {
		t.Errorf("keys rotate prints %q", first)
	}
	o.must("keys", "rotate")
	db := o.store()
	defer db.Close()
	keys, err := db.SigningKeys(context.Background(), o.now)
	if err != nil || len(keys) != 2 {
		t.Fatalf("the keys are %d, %v", len(keys), err)
	}
	expiring := 0
	for _, key := range keys {
		if !key.ExpiresAt.IsZero() {
			expiring++
		}
		if strings.Contains(o.must("audit", "-o", "json"), base64.StdEncoding.EncodeToString(key.Secret)) {
			t.Error("the audit log holds a key")
		}
	}
	if expiring != 1 {
		t.Errorf("%d of 2 keys expire, want the older one", expiring)
	}
}
