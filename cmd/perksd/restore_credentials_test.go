package main

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// revoked is a database with a backup, and later changes of its credentials.
type revoked struct {
	*operator
	untouched, rotated, dropped string           // the keys of the backup
	secret                      store.SecretHash // the new one, made after the backup
}

// revokeAfter makes clients and keys, backs them up, and then revokes some of them.
func revokeAfter(o *operator, backUp func()) revoked {
	o.t.Helper()
	for _, id := range []string{"disabled", "leaked", "narrowed", "same", "ended", "kept", "expiring", "extended"} {
		o.must("client", "create", "--name", "The "+id, "--id", id, "--scope", "perks:read,perks:redeem")
	}
	o.must("client", "rotate-secret", "ended", "--keep-old", "48h")
	o.must("client", "update", "extended", "--expires", "2026-07-01")
	o.must("keys", "rotate")
	o.must("keys", "rotate")
	o.must("keys", "rotate")
	keys := o.keys() // newest first, in any order if made at the same time
	r := revoked{operator: o}
	for _, k := range keys {
		switch {
		case k.ExpiresAt == nil:
			r.rotated = k.ID
		case r.dropped == "":
			r.dropped = k.ID
		default:
			r.untouched = k.ID
		}
	}
	backUp()
	o.now = o.now.Add(time.Minute)
	o.must("client", "disable", "disabled")
	o.must("client", "rotate-secret", "leaked")
	o.must("client", "rotate-secret", "ended", "--drop-old")
	o.must("client", "rotate-secret", "kept", "--keep-old", "48h")
	o.must("client", "update", "expiring", "--expires", "2026-07-01")
	o.must("client", "update", "extended", "--expires", "never")
	o.must("client", "update", "narrowed", "--scope", "perks:read")
	o.must("client", "create", "--name", "The new", "--id", "new", "--scope", "perks:read")
	o.must("keys", "drop", r.dropped, "--yes")
	o.must("keys", "rotate")
	o.now = o.now.Add(time.Minute)
	r.secret = o.client("leaked").Secret
	return r
}

// staysRevoked checks the output of a restore, and the database after it.
func (r revoked) staysRevoked(said string) {
	r.t.Helper()
	_, report, _ := strings.Cut(said, "Different from the backup:\n")
	var lines []string
	for line := range strings.Lines(report) {
		lines = append(lines, strings.TrimSpace(line))
	}
	var successor string
	for _, k := range r.keys() {
		switch k.ID {
		case r.untouched:
		case r.dropped, r.rotated:
			r.t.Errorf("key %s is back", k.ID)
		default:
			successor = k.ID
		}
	}
	want := []string{
		"client disabled stays disabled", "client leaked keeps its newer secret",
		"client ended stays without its old secret", "client kept keeps its newer secret",
		"client expiring still expires at 2026-07-01T00:00:00Z", "client extended still never expires",
		`client narrowed stays "The narrowed" with the scopes perks:read`,
		"client new, made after the backup, stays",
	}
	for _, id := range []string{r.dropped, r.rotated} {
		want = append(want, "signing key "+id+" was dropped, and its tokens are refused")
	}
	want = append(want, "signing key "+successor+" replaces it")
	for _, sentence := range want {
		if !strings.Contains(report, "  "+sentence+"\n") {
			r.t.Errorf("the restore does not say %q but\n%s", sentence, said)
		}
	}
	if len(lines) != len(want) {
		r.t.Errorf("the restore says %q, want %d sentences", lines, len(want))
	}
	if !r.client("disabled").Disabled || r.client("same").Disabled {
		r.t.Error("the disabled clients have changed")
	}
	if r.client("leaked").Secret != r.secret {
		r.t.Error("the secret is the one before the rotation")
	}
	if ended, kept := r.client("ended").OldSecrets, r.client("kept").OldSecrets; len(ended) > 0 || len(kept) != 1 {
		r.t.Errorf("the old secrets are %v, which was dropped, and %v, which was kept", ended, kept)
	}
	set, removed := r.client("expiring").ExpiresAt, r.client("extended").ExpiresAt
	if set.IsZero() || !removed.IsZero() {
		r.t.Errorf("the expiry that was set is %s, and the removed one %s", set, removed)
	}
	if scopes := r.client("narrowed").Scopes.String(); scopes != "perks:read" {
		r.t.Errorf("the scopes are %q", scopes)
	}
	log := r.must("audit", "-o", "jsonl", "--limit", "1")
	for _, part := range append([]string{`"action":"database.restore"`, `"revocations_known":true`,
		`"at":"2026-06-15T12:02:00Z"`}, "client disabled stays disabled") {
		if !strings.Contains(log, part) {
			r.t.Errorf("the audit log's last entry is %s, want %s in it", log, part)
		}
	}
	if log := r.must("audit", "--subject", "client/disabled"); !strings.Contains(log, store.ActionDisableClient) {
		r.t.Errorf("the audit log has no entry of the disabled client:\n%s", log)
	}
	if dropped := r.operator.dropped(); !strings.Contains(dropped, r.dropped) {
		r.t.Errorf("the audit log has no entry of the dropped key:\n%s", dropped)
	}
}

func TestARestoreKeepsRevocations(t *testing.T) {
	o := newSQLiteOperator(t)
	r := revokeAfter(o, func() { o.must("backup", o.path("copy.db")) })
	r.staysRevoked(o.must("restore", o.path("copy.db")))

	// Restoring an older backup by mistake keeps them too, and restoring again changes nothing.
	o.now = o.now.Add(time.Minute)
	if said := o.must("restore", o.path("copy.db")); !strings.Contains(said, "client disabled stays disabled") {
		t.Errorf("a second restore says %q", said)
	}
}

// TestThePrintedRestoreCommandKeepsRevocations runs the commands that backup and restore print.
func TestThePrintedRestoreCommandKeepsRevocations(t *testing.T) {
	address := storetest.PostgresDatabase(t)
	o := newOperatorOf(t, address)
	r := revokeAfter(o, func() {
		said := o.run("backup", o.path("copy.dump")).stderr
		version := regexp.MustCompile(
			`with a pg_dump of version (\d+) or newer, as the server is of version \d+, with: `)
		if !version.MatchString(said) {
			t.Errorf("it does not name the version of pg_dump: %s", said)
		}
		o.shell(said[version.FindStringIndex(said)[1]:])
	})
	said := o.run("restore", o.path("copy.dump"))
	_, line, _ := strings.Cut(strings.TrimSpace(said.stderr), "with: ")
	createAndFill, _, _ := strings.Cut(line, " && perksd restore ")
	restored, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(restored.Path, "/") + "_restored"
	restored.Path = "/" + name
	defer executeIn(t, address, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")

	o.shell(createAndFill)
	o.env["PERKSD_DATABASE"] = restored.String()
	o.refuses(exitUsage, "--former and --database name the same database", "restore", "--former", restored.String())
	if said := o.run("restore", "--forget-revocations", "x"); said.code != exitUsage ||
		!strings.Contains(said.stderr, "pg_restore") {
		t.Errorf("another file was accepted: %+v", said)
	}
	r.staysRevoked(o.must("restore", "--former", address))

	// The first attempt's entry is newer than the former database: a second attempt must not lose the revocations.
	if again := o.run("restore", "--former", address); again.code != exitFailure ||
		!strings.Contains(again.stderr, "drop the database "+o.database().name()+", make and fill it again") {
		t.Errorf("a second attempt: %+v", again)
	}

	// The complete command line.
	executeIn(t, address, "DROP DATABASE "+name+" WITH (FORCE)")
	if said := o.shell(line); !strings.Contains(said, "client disabled stays disabled") ||
		!o.client("disabled").Disabled {
		t.Errorf("the complete command line prints %q", said)
	}
}

// TestRevocationsSurviveARecovery recovers a base backup, which has the numbers of its original, beside the former
// server.
func TestRevocationsSurviveARecovery(t *testing.T) {
	server, err := storetest.StartPostgres(t.Context(), storetest.PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	if err := server.CreateDatabase(t.Context(), "perks"); err != nil {
		t.Fatal(err)
	}
	former := server.DSN("perks")
	o := newOperatorOf(t, former)
	r := revokeAfter(o, func() {
		if err := server.Save(t.Context(), o.path("saved")); err != nil {
			t.Fatal(err)
		}
	})
	recover := func() *storetest.PostgresServer {
		recovered, err := storetest.StartPostgresFrom(t.Context(), o.path("saved"), storetest.PostgresOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = recovered.Stop() })
		o.env["PERKSD_DATABASE"] = recovered.DSN("perks")
		return recovered
	}
	recovered := recover()
	if o.client("disabled").Disabled {
		t.Fatal("the backup was made too late")
	}
	o.refuses(exitUsage, "--former and --database name the same database", "restore", "--former",
		recovered.DSN("perks"))
	r.staysRevoked(o.must("restore", "--former", former))

	// Of the former server only a standby is left. What it knows and the copy does not cannot come from there.
	standby, err := server.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = standby.Stop() })
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	copied := recover()
	r.staysRevoked(o.must("restore", "--former", standby.DSN("perks")))

	// A standby of the copy itself knows nothing of the revocations.
	ownStandby, err := copied.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ownStandby.Stop() })
	if said := o.run("restore", "--former", ownStandby.DSN("perks")); said.code != exitFailure ||
		!strings.Contains(said.stderr,
			"nothing was done: the former database is on a standby, perhaps of the restored one") {
		t.Errorf("%+v", said)
	}
}
