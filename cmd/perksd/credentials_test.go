package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/store"
)

// client reads a client from the database.
func (o *operator) client(id string) store.Client {
	o.t.Helper()
	db := o.store()
	defer db.Close()
	client, err := db.Client(context.Background(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	return client
}

func TestAClientWithoutAnIDGetsAReadableOne(t *testing.T) {
	o := newOperator(t)
	for name, start := range map[string]string{"Front Desk": "front-desk-", "日本": "client-",
		strings.Repeat("long ", 20): "long-long-long-long-long-long-lo-", "--": "client-"} {
		id, err := newClientID(name, o.random)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(id, start) || len(id) != len(start)+8 || !clientID.MatchString(id) {
			t.Errorf("the id for %q is %q", name, id)
		}
	}
}

func TestRotateSecretReplacesIt(t *testing.T) {
	o := newOperator(t)
	o.must("client", "create", "--name", "X", "--id", "x")
	before := o.client("x").Secret
	var rotated clientView
	if err := json.Unmarshal([]byte(o.must("client", "rotate-secret", "x", "-o", "json")), &rotated); err != nil {
		t.Fatal(err)
	}
	if after := o.client("x").Secret; after == before || after != sha256.Sum256([]byte(rotated.Secret)) {
		t.Error("the new secret is not the printed one")
	}
	o.refuses(exitFailure, `There is no client "y".`, "client", "rotate-secret", "y")
}

type noRandom struct{}

func (noRandom) Read([]byte) (int, error) { return 0, errors.New("no entropy") }

func TestSecretsNeedRandomness(t *testing.T) {
	p := &program{random: noRandom{}}
	if _, _, err := p.newSecret(); err == nil {
		t.Error("a secret was made without randomness")
	}
	if _, err := newClientID("X", noRandom{}); err == nil {
		t.Error("an id was made without randomness")
	}
}

func (o *operator) keys() (keys []keyView) {
	o.t.Helper()
	if err := json.Unmarshal([]byte(o.must("keys", "list", "-o", "json")), &keys); err != nil {
		o.t.Fatal(err)
	}
	return keys
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
	if strings.Contains(o.must("audit", "-o", "json"), base64.StdEncoding.EncodeToString(older.Secret)) {
		t.Error("the audit log has a signing key")
	}
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
