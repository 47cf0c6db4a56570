package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/store"
)

func (o *operator) keys() (keys []keyView) {
	o.t.Helper()
	if err := json.Unmarshal([]byte(o.must("keys", "list", "-o", "json")), &keys); err != nil {
		o.t.Fatal(err)
	}
	return keys
}

func TestKeysListShowsTheStateOfEachKey(t *testing.T) {
	o := withClient(t)
	equal(t, "without a key", "[]\n", o.must("keys", "list", "-o", "json"))
	o.must("keys", "rotate")
	first := o.keys()[0].ID
	o.now = testNow.Add(time.Hour)
	o.must("keys", "rotate")
	second := o.keys()[0].ID
	equal(t, "just rotated", "KEY_ID                                STATE     CREATED_AT            EXPIRES_AT\n"+
		second+"  settling  2026-06-15T13:00:00Z  -\n"+
		first+"  signing   2026-06-15T12:00:00Z  2026-06-16T15:00:00Z\n", o.must("keys", "list"))
	o.now = o.now.Add(10 * time.Second)
	equal(t, "settled",
		`{"key_id":"`+second+`","state":"signing","created_at":"2026-06-15T13:00:00Z","expires_at":null}`+"\n"+
			`{"key_id":"`+first+`","state":"verifying","created_at":"2026-06-15T12:00:00Z",`+
			`"expires_at":"2026-06-16T15:00:00Z"}`+"\n",
		o.must("keys", "list", "-o", "jsonl"))
	o.now = o.now.Add(26 * time.Hour)
	if keys := o.keys(); len(keys) != 1 {
		t.Errorf("when the first has expired, the keys are %+v", keys)
	}
}

func TestKeysDrop(t *testing.T) {
	o := withClient(t)
	o.must("keys", "rotate")
	o.now = testNow.Add(time.Hour)
	o.must("keys", "rotate")
	o.now = testNow.Add(2 * time.Hour)
	newest, older := o.keys()[0].ID, o.keys()[1].ID
	o.refuses(exitUsage, "cannot ask for confirmation without a terminal: add --yes to drop the key (see 'perksd keys "+
		"drop --help')", "keys", "drop", older)
	o.refuses(exitFailure, `There is no signing key "x". List the keys: perksd keys list`, "keys", "drop", "x", "--yes")
	equal(t, "an older one", "Dropped key "+older+"; running servers refuse its tokens within 5s.\n",
		o.must("keys", "drop", older, "--yes"))
	said := o.must("keys", "drop", newest, "--yes")
	keys := o.keys()
	if len(keys) != 1 || keys[0].State != "signing" || keys[0].ExpiresAt != nil || keys[0].ID == newest {
		t.Errorf("after the only key was dropped there is %+v", keys)
	}
	equal(t, "the newest",
		"Dropped key "+newest+"; running servers refuse its tokens within 5s.\nKey "+keys[0].ID+" replaces it.\n", said)
	equal(t, "the log", "key.drop key/"+older+"\nkey.drop key/"+newest+"\n", o.dropped())
}

func (o *operator) dropped() string {
	o.t.Helper()
	var list strings.Builder
	for line := range strings.Lines(o.must("audit", "--action", "key.drop", "-o", "jsonl")) {
		var entry store.AuditEntry
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			o.t.Fatal(err)
		}
		list.WriteString(entry.Action + " " + entry.Subject + "\n")
	}
	return list.String()
}

func TestKeysDropExplainsTheConsequences(t *testing.T) {
	made, expires := testNow, testNow.Add(time.Hour)
	for want, k := range map[string]keyView{
		"Key k, made at 2026-06-15T12:00:00Z, is signing. All tokens that it signed become invalid at once, and " +
			"clients have to get new ones. A new key will replace it.": {ID: "k", State: "signing", CreatedAt: made},
		"Key k, made at 2026-06-15T12:00:00Z, is verifying. All tokens that it signed become invalid at once, and " +
			"clients have to get new ones.": {ID: "k", State: "verifying", CreatedAt: made,
			ExpiresAt: &expires},
		"Key k, made at 2026-06-15T12:00:00Z, is settling. It has not signed any token yet. " +
			"A new key will replace it.": {ID: "k", State: "settling", CreatedAt: made},
	} {
		equal(t, "the question", want, describeDrop(k))
	}
}

// TestSecretsAreInNoDatabaseFile searches the bytes of the file and its log.
func TestSecretsAreInNoDatabaseFile(t *testing.T) {
	o := newSQLiteOperator(t)
	var created clientView
	if err := json.Unmarshal([]byte(o.must("client", "create", "--name", "X", "--id", "x", "-o", "json")),
		&created); err != nil {
		t.Fatal(err)
	}
	o.must("keys", "rotate")
	o.must("keys", "rotate")
	db := o.store()
	defer db.Close() // keeps the log on the disk, to be read
	keys, err := db.SigningKeys(t.Context(), testNow)
	if err != nil {
		t.Fatal(err)
	}
	var rotated clientView
	if err := json.Unmarshal([]byte(o.must("client", "rotate-secret", "x", "-o", "json")), &rotated); err != nil {
		t.Fatal(err)
	}
	holds := func(secret []byte) (where []string) {
		files, err := filepath.Glob(o.path("perks.db*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(content, secret) {
				where = append(where, filepath.Base(name))
			}
		}
		return where
	}
	for _, secret := range []string{created.Secret, rotated.Secret} {
		raw, err := base64.RawURLEncoding.DecodeString(secret)
		if err != nil {
			t.Fatal(err)
		}
		if where := append(holds([]byte(secret)), holds(raw)...); len(where) > 0 {
			t.Errorf("a client's secret is in %v", where)
		}
	}
	older := keys[1] // which is not replaced when dropped
	if len(holds(older.Secret)) == 0 {
		t.Error("a signing key is in none of the files, so this test shows nothing")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	o.must("keys", "drop", older.ID, "--yes")
	if where := holds(older.Secret); len(where) > 0 {
		t.Errorf("the dropped key is still in %v", where)
	}
}
