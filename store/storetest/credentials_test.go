package storetest_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var credentialTests = []test{
	{"a client is read as it was created", func(f *fixture) {
		for _, want := range []store.Client{
			client("plain"),
			{ID: "odd", Name: "Ünïcode 'n' more", Secret: store.SecretHash{31: 0xff},
				Scopes:      api.Scopes{api.ScopePerksRead},
				SandboxOnly: true, NamesActors: true, Disabled: true, CreatedAt: now},
			{ID: "bare", CreatedAt: now},
			{ID: "full", CreatedAt: now, SecretAt: now.Add(time.Hour), ExpiresAt: now.Add(2 * time.Hour),
				LastTokenAt: now.Add(3 * time.Hour), OldSecrets: []store.OldSecret{
					{Secret: store.SecretHash{1: 7}, Until: now.Add(time.Microsecond)}, {Until: now.Add(time.Hour)}}},
		} {
			f.must(f.CreateClient(f.ctx, want, store.Operator))
			f.equal("client", must(f.Client(f.ctx, want.ID))(f), want)
		}
	}},
	{"a client's id is unique", func(f *fixture) {
		f.addClients("a")
		again := client("a")
		again.Name = "Impostor"
		f.fails("create", f.CreateClient(f.ctx, again, store.Operator), api.CodeConflict)
		f.equal("client", must(f.Client(f.ctx, "a"))(f), client("a"))
	}},
	{"an unknown client is not found", func(f *fixture) {
		f.fails("read", errOf(f.Client(f.ctx, "missing")), api.CodeNotFound)
		f.fails("new secret", errOf(f.ChangeClient(f.ctx, "missing", store.Operator, now, store.DropOldSecrets)),
			api.CodeNotFound)
		f.fails("disable", f.SetClientDisabled(f.ctx, "missing", true, store.Operator, now), api.CodeNotFound)
	}},
	{"clients are sorted by creation, then id", func(f *fixture) {
		for _, c := range []struct {
			id string
			at time.Time
		}{{"late", now.Add(time.Second)}, {"b", now}, {"a", now}, {"early", now.Add(-time.Second)}} {
			made := client(c.id)
			made.CreatedAt = c.at
			f.must(f.CreateClient(f.ctx, made, store.Operator))
		}
		clients := must(f.Clients(f.ctx))(f)
		var ids []string
		for _, c := range clients {
			ids = append(ids, c.ID)
		}
		f.equal("ids", ids, []string{"early", "a", "b", "late"})
	}},
	{"a new secret replaces the old one and nothing else", func(f *fixture) {
		f.addClients("a", "b")
		f.change("a", store.Rotation(store.SecretHash{9}, time.Time{}, now.Add(time.Hour)))
		want := client("a")
		want.Secret, want.SecretAt = store.SecretHash{9}, now.Add(time.Hour)
		clients := must(f.Clients(f.ctx))(f)
		f.equal("clients", clients, []store.Client{want, client("b")})
	}},
	{"a rotation keeps old secrets if it is told to, and others end them", func(f *fixture) {
		f.addClients("a")
		first, second, third := client("a").Secret, store.SecretHash{2}, store.SecretHash{3}
		hour := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
		until := func(secret store.SecretHash, end int) store.OldSecret {
			return store.OldSecret{Secret: secret, Until: hour(end)}
		}
		for _, step := range []struct {
			what   string
			change func(*store.Client) string
			want   []store.OldSecret
		}{
			{"kept", store.Rotation(second, hour(10), hour(0)), []store.OldSecret{until(first, 10)}},
			{"another kept beside it", store.Rotation(third, hour(5), hour(1)),
				[]store.OldSecret{until(first, 10), until(second, 5)}},
			{"without one that has ended", store.Rotation(first, hour(20), hour(5)),
				[]store.OldSecret{until(first, 10), until(third, 20)}},
			{"dropped", store.DropOldSecrets, nil},
			{"dropped again", store.DropOldSecrets, nil},
			{"kept again", store.Rotation(second, hour(30), hour(6)), []store.OldSecret{until(first, 30)}},
			{"replaced", store.Rotation(third, time.Time{}, hour(7)), nil},
		} {
			f.change("a", step.change)
			f.equal(step.what, must(f.Client(f.ctx, "a"))(f).OldSecrets, step.want)
		}
		f.change("a", store.Rotation(second, hour(30), hour(8)))
		f.must(f.SetClientDisabled(f.ctx, "a", true, store.Operator, now))
		f.equal("disabled", must(f.Client(f.ctx, "a"))(f).OldSecrets, []store.OldSecret{})
		f.change("a", store.Rotation(third, hour(30), hour(9)))
		f.equal("rotated while disabled", must(f.Client(f.ctx, "a"))(f).OldSecrets, []store.OldSecret{})
		entries := collect(f, f.Audit(f.ctx, store.AuditQuery{Subject: "client/a"}))
		rotate, drop := store.ActionRotateSecret, store.ActionDropOldSecret
		f.equal("audit", f.actions("client/a"), []string{store.ActionCreateClient, rotate, rotate, rotate, drop, rotate,
			rotate, rotate, store.ActionDisableClient, rotate})
		kept := client("a")
		kept.OldSecrets = []store.OldSecret{until(first, 10)}
		f.equal("after the first rotation", string(entries[1].After), string(asJSON(kept.Public())))
	}},
	{"it is noted at most once an hour when a client got a token", func(f *fixture) {
		f.addClients("a", "b", "c")
		minute := func(n int) time.Time { return now.Add(time.Duration(n) * time.Minute) }
		for _, step := range []struct{ at, a, b int }{{1, 1, 1}, {60, 1, 1}, {61, 61, 61}, {0, 61, 61}} {
			f.must(f.NoteTokens(f.ctx, map[string]time.Time{"a": minute(step.at), "b": minute(step.at),
				"missing": now}))
			for id, want := range map[string]time.Time{"a": minute(step.a), "b": minute(step.b), "c": {}} {
				f.equal(fmt.Sprint(id, " at ", step.at), must(f.Client(f.ctx, id))(f).LastTokenAt, want)
			}
		}
		f.must(f.NoteTokens(f.ctx, nil))
		f.equal("audit", f.actions("client/a"), []string{store.ActionCreateClient})
	}},
	{"a client's expiry is set and removed", func(f *fixture) {
		f.addClients("a")
		for _, expires := range []time.Time{now.Add(time.Hour), now.Add(time.Hour), {}} {
			got := must(f.UpdateClient(f.ctx, "a", store.ClientChange{ExpiresAt: &expires}, store.Operator, now))(f)
			want := client("a")
			want.ExpiresAt = expires
			f.equal("returned", got, want)
			f.equal("stored", must(f.Client(f.ctx, "a"))(f), want)
		}
		f.equal("audit", f.actions("client/a"),
			[]string{store.ActionCreateClient, store.ActionUpdateClient, store.ActionUpdateClient})
	}},
	{"a client is disabled and enabled", func(f *fixture) {
		f.addClients("a")
		for _, disabled := range []bool{true, true, false, false} {
			f.must(f.SetClientDisabled(f.ctx, "a", disabled, store.Operator, now))
			f.equal("disabled", must(f.Client(f.ctx, "a"))(f).Disabled, disabled)
		}
		f.equal("audit", f.actions("client/a"),
			[]string{store.ActionCreateClient, store.ActionDisableClient, store.ActionEnableClient})
	}},
	{"the first signing key is the only one until a rotation", func(f *fixture) {
		f.must(f.EnsureSigningKey(f.ctx, signingKey("first", now)))
		f.must(f.EnsureSigningKey(f.ctx, signingKey("second", now.Add(time.Hour))))
		f.equal("keys", f.signingKeys(now), []store.SigningKey{signingKey("first", now)})
	}},
	{"a rotation adds a key, and the old ones expire no later than the overlap", func(f *fixture) {
		f.must(f.EnsureSigningKey(f.ctx, signingKey("a", now)))
		f.must(f.RotateSigningKey(f.ctx, signingKey("b", now.Add(time.Hour)), now.Add(3*time.Hour), store.Operator))
		f.must(f.RotateSigningKey(f.ctx, signingKey("c", now.Add(2*time.Hour)), now.Add(4*time.Hour), store.Operator))
		a, b, c := signingKey("a", now), signingKey("b", now.Add(time.Hour)), signingKey("c", now.Add(2*time.Hour))
		a.ExpiresAt, b.ExpiresAt = now.Add(3*time.Hour), now.Add(4*time.Hour)
		f.equal("all three", f.signingKeys(now.Add(2*time.Hour)), []store.SigningKey{c, b, a})
		f.equal("a key is expired at its expiry", f.signingKeys(now.Add(3*time.Hour)), []store.SigningKey{c, b})
		f.equal("the newest one is kept", f.signingKeys(now.Add(1000*time.Hour)), []store.SigningKey{c})
	}},
	{"a client's name, scopes and leave to name actors are changed, and nothing else", func(f *fixture) {
		f.addClients("a", "b")
		want := client("a")
		want.Scopes = api.Scopes{api.ScopePerksRead}
		got := must(f.UpdateClient(f.ctx, "a", store.ClientChange{Scopes: want.Scopes}, store.Operator, now))(f)
		f.equal("with other scopes", got, want)
		want.Name, want.NamesActors = "Another", true
		for range 2 { // the second time nothing changes
			got = must(f.UpdateClient(f.ctx, "a", store.ClientChange{Name: &want.Name, NamesActors: ptr(true)},
				store.Operator, now.Add(time.Second)))(f)
			f.equal("with another name, and leave to name actors", got, want)
		}
		clients := must(f.Clients(f.ctx))(f)
		f.equal("clients", clients, []store.Client{want, client("b")})
		narrow, first := want, client("a").Public()
		narrow.Name, narrow.NamesActors = client("a").Name, false
		entries := collect(f, f.Audit(f.ctx, store.AuditQuery{Subject: "client/a", Action: store.ActionUpdateClient}))
		f.equal("entries", values(f, entries), values(f, []store.AuditEntry{
			{At: now, Actor: store.Operator, Action: "client.update", Subject: "client/a", Before: asJSON(first),
				After: asJSON(narrow.Public())},
			{At: now.Add(time.Second), Actor: store.Operator, Action: "client.update", Subject: "client/a",
				Before: asJSON(narrow.Public()), After: asJSON(want.Public())},
		}))
		f.fails("missing", errOf(f.UpdateClient(f.ctx, "missing", store.ClientChange{}, store.Operator, now)),
			api.CodeNotFound)
	}},
	{"a dropped key is gone, and is replaced if it was the last that does not expire", func(f *fixture) {
		f.must(f.EnsureSigningKey(f.ctx, signingKey("a", now)))
		f.must(f.RotateSigningKey(f.ctx, signingKey("b", now.Add(time.Hour)), now.Add(3*time.Hour), store.Operator))
		f.must(f.RotateSigningKey(f.ctx, signingKey("c", now.Add(2*time.Hour)), now.Add(4*time.Hour), store.Operator))
		b, c, d := signingKey("b", now.Add(time.Hour)), signingKey("c", now.Add(2*time.Hour)),
			signingKey("d", now.Add(150*time.Minute))
		b.ExpiresAt = now.Add(4 * time.Hour)
		drop := func(id string, wantSuccessor bool, want ...store.SigningKey) {
			f.Helper()
			f.equal("a successor for "+id, must(f.DropSigningKey(f.ctx, id, d, store.Operator))(f), wantSuccessor)
			f.equal("keys without "+id, f.signingKeys(now.Add(150*time.Minute)), want)
		}
		drop("a", false, c, b)
		drop("c", true, d, b)
		f.fails("again", errOf(f.DropSigningKey(f.ctx, "c", signingKey("e", now), store.Operator)), api.CodeNotFound)
		f.equal("log of c", f.actions("key/c"), []string{store.ActionRotateSigningKey, store.ActionDropSigningKey})
		f.equal("log of d", f.actions("key/d"), []string{store.ActionRotateSigningKey})
	}},
	{"keys are deleted some time after they expire", func(f *fixture) {
		f.must(f.EnsureSigningKey(f.ctx, signingKey("a", now)))
		f.must(f.RotateSigningKey(f.ctx, signingKey("b", now), now.Add(time.Hour), store.Operator))
		for _, step := range []struct {
			before time.Time
			want   int64
		}{{now.Add(time.Hour), 0}, {now.Add(time.Hour + time.Second), 1}, {now.Add(1000 * time.Hour), 0}} {
			f.equal("deleted", must(f.PurgeSigningKeys(f.ctx, step.before))(f), step.want)
		}
		f.equal("keys", f.signingKeys(now), []store.SigningKey{signingKey("b", now)})
	}},
	{"a new key is made when all have expired", func(f *fixture) {
		old := signingKey("old", now)
		old.ExpiresAt = now.Add(time.Hour)
		f.must(f.EnsureSigningKey(f.ctx, old))
		f.must(f.EnsureSigningKey(f.ctx, signingKey("early", now.Add(time.Hour-time.Microsecond))))
		f.equal("before", f.signingKeys(now), []store.SigningKey{old})
		f.must(f.EnsureSigningKey(f.ctx, signingKey("new", now.Add(time.Hour))))
		f.equal("after", f.signingKeys(now.Add(time.Hour)), []store.SigningKey{signingKey("new", now.Add(time.Hour))})
	}},
}

// change changes a client.
func (f *fixture) change(id string, change func(*store.Client) string) {
	f.Helper()
	must(f.ChangeClient(f.ctx, id, store.Operator, now, change))(f)
}

func (f *fixture) signingKeys(at time.Time) []store.SigningKey {
	f.Helper()
	return must(f.SigningKeys(f.ctx, at))(f)
}

// TestWhatAFormerVersionRotatesOrDisablesKeepsNoOldSecret changes clients by the statement of a version that does not
// know old secrets.
func TestWhatAFormerVersionRotatesOrDisablesKeepsNoOldSecret(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, d database) {
		f := newFixture(t, d.opened(t))
		f.addClients("rotated", "disabled", "renamed", "other")
		other := "(SELECT secret FROM clients WHERE id = 'other')"
		for _, row := range []struct {
			id, name, secret, disabled string
			keeps                      int
		}{
			{"rotated", "name", other, "disabled", 0},
			{"disabled", "name", "secret", "true", 0},
			{"renamed", "'Another'", "secret", "false", 1},
		} {
			f.change(row.id, store.Rotation(store.SecretHash{2}, now.Add(time.Hour), now))
			const update = `UPDATE clients SET name = %s, secret = %s, scopes = scopes, sandbox_only = sandbox_only,
				disabled = %s WHERE id = '%s'`
			d.execute(t, d.address, fmt.Sprintf(update, row.name, row.secret, row.disabled, row.id))
			f.equal(row.id, len(must(f.Client(f.ctx, row.id))(f).OldSecrets), row.keeps)
		}
	})
}
