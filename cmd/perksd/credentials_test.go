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

	"example.com/perks/api"
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

func TestClientCreatePrintsIDAndSecretOnce(t *testing.T) {
	o := newOperator(t)
	golden(t, "client_create.txt", o.must("client", "create", "--name", "Front Desk, Ground Floor"))
	golden(t, "client_create.json", o.must("client", "create", "--name", "Importer", "--id", "importer", "--scope",
		"perks:redeem,perks:read", "--sandbox-only", "-o", "json"))
	golden(t, "client_list.txt", o.must("client", "list"))
	golden(t, "client_list.json", o.must("client", "list", "-o", "json"))
}

func TestClientCreateRefuses(t *testing.T) {
	o := newOperator(t)
	o.must("client", "create", "--name", "First", "--id", "taken")
	const more = " (see 'perksd client create --help')"
	o.refuses(exitFailure, `There is a client "taken" already. Choose another id.`, "client", "create", "--name",
		"Second", "--id", "taken")
	o.refuses(exitUsage, "--name is required"+more, "client", "create")
	o.refuses(exitUsage, "--name must not contain control characters"+more, "client", "create", "--name", "red\x1b[31m")
	o.refuses(exitUsage, "--name must not contain control characters"+more, "client", "create", "--name",
		"left\u202eright")
	o.refuses(exitUsage, "--name must be at most 120 characters long"+more, "client", "create", "--name",
		strings.Repeat("é", 121))
	o.refuses(exitUsage, "--id must be 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-'"+more, "client", "create",
		"--name", "X", "--id", "a:b")
	o.refuses(exitUsage, "--scope names no scope; leave it out for "+
		"perks:read,perks:redeem,properties:read,properties:write,redemptions:read"+more, "client", "create", "--name",
		"X", "--scope", " ")
	o.refuses(exitUsage,
		`Some values are not valid. (scope "perks:all" is not a scope; the scopes are `+
			api.AllScopes().String()+`)`+more,
		"client", "create", "--name", "X", "--scope", "perks:all")
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

func TestDisableAndEnable(t *testing.T) {
	o := newOperator(t)
	o.must("client", "create", "--name", "X", "--id", "x")
	equal(t, "disable", "Client x is disabled.\n", o.must("client", "disable", "x"))
	if !o.client("x").Disabled {
		t.Error("the client is not disabled")
	}
	equal(t, "enable", "Client x is enabled.\n", o.must("client", "enable", "x"))
	if o.client("x").Disabled {
		t.Error("the client is still disabled")
	}
	o.refuses(exitFailure, `There is no client "y".`, "client", "disable", "y")
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

func TestClientUpdateChangesNameAndScope(t *testing.T) {
	o := newOperator(t)
	o.must("client", "create", "--name", "X", "--id", "x")
	before := o.client("x")
	equal(t, "scope", "CLIENT_ID  NAME  SCOPE                    SANDBOX_ONLY  DISABLED  CREATED_AT\n"+
		"x          X     perks:read perks:redeem  false         false     2026-06-15T12:00:00Z\n", o.must("client",
		"update", "x", "--scope", "perks:redeem,perks:read"))
	if updated := o.must("client", "update", "x", "--name", "Y", "-o", "json"); !strings.Contains(updated,
		`"name": "Y"`) || strings.Contains(updated, "secret") {
		t.Errorf("update prints %s", updated)
	}
	if after := o.client("x"); after.Secret != before.Secret || after.Name != "Y" ||
		after.Scopes.String() != "perks:read perks:redeem" {
		t.Errorf("the client is %+v", after)
	}
	const more = " (see 'perksd client update --help')"
	o.refuses(exitUsage, "say what to change with --name or --scope"+more, "client", "update", "x")
	o.refuses(exitUsage, "--scope names no scope; use 'perksd client disable' to disable a client"+more, "client",
		"update", "x", "--scope", "")
	o.refuses(exitUsage, "--name is required"+more, "client", "update", "x", "--name", " ")
	o.refuses(exitFailure, `There is no client "y".`, "client", "update", "y", "--name", "Y")
}

func TestAGeneratedClientIDDoesNotLookLikeAFlag(t *testing.T) {
	o := newOperator(t)
	o.refuses(exitUsage, `--id must not begin with '-', like a flag: "--help" (see 'perksd client create --help')`,
		"client", "create", "--name", "X", "--id", "--help")
	o.hasNoDatabase()
}

func TestMistypedCommandsGetASuggestion(t *testing.T) {
	o := newOperator(t)
	o.refuses(exitUsage, `there is no flag --nme; did you mean --name? (see 'perksd client create --help')`, "client",
		"create", "--nme", "X")
	o.refuses(exitUsage, `there is no command "lst": did you mean "list"? The commands are create, disable, enable, `+
		`list, rotate-secret, update (see 'perksd client --help')`, "client", "lst")
}

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
