package storetest

import (
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var credentialTests = []test{
	{"a client is read as it was created", func(f *fixture) {
		for _, want := range []store.Client{
			client("plain"),
			{ID: "odd", Name: "Ünïcode 'n' more", Secret: store.SecretHash{31: 0xff}, Scopes: api.Scopes{api.ScopePerksRead},
				SandboxOnly: true, Disabled: true, CreatedAt: now},
			{ID: "bare", CreatedAt: now},
		} {
			f.must(f.CreateClient(f.ctx, want, store.Operator))
			got, err := f.Client(f.ctx, want.ID)
			f.must(err)
			f.equal("client", got, want)
		}
	}},
	{"a client's id is taken once", func(f *fixture) {
		f.addClients("a")
		again := client("a")
		again.Name = "Impostor"
		f.fails("create", f.CreateClient(f.ctx, again, store.Operator), api.CodeConflict)
		got, err := f.Client(f.ctx, "a")
		f.must(err)
		f.equal("client", got, client("a"))
	}},
	{"a client that is not there is not found", func(f *fixture) {
		_, err := f.Client(f.ctx, "missing")
		f.fails("read", err, api.CodeNotFound)
		f.fails("new secret", f.SetClientSecret(f.ctx, "missing", store.SecretHash{}, store.Operator, now), api.CodeNotFound)
		f.fails("disable", f.SetClientDisabled(f.ctx, "missing", true, store.Operator, now), api.CodeNotFound)
	}},
	{"clients come by creation, then id", func(f *fixture) {
		for _, c := range []struct {
			id string
			at time.Time
		}{{"late", now.Add(time.Second)}, {"b", now}, {"a", now}, {"early", now.Add(-time.Second)}} {
			made := client(c.id)
			made.CreatedAt = c.at
			f.must(f.CreateClient(f.ctx, made, store.Operator))
		}
		clients, err := f.Clients(f.ctx)
		f.must(err)
		var ids []string
		for _, c := range clients {
			ids = append(ids, c.ID)
		}
		f.equal("ids", ids, []string{"early", "a", "b", "late"})
	}},
	{"a new secret replaces the old one and nothing else", func(f *fixture) {
		f.addClients("a", "b")
		f.must(f.SetClientSecret(f.ctx, "a", store.SecretHash{9}, store.Operator, now))
		want := client("a")
		want.Secret = store.SecretHash{9}
		clients, err := f.Clients(f.ctx)
		f.must(err)
		f.equal("clients", clients, []store.Client{want, client("b")})
	}},
	{"a client is disabled and enabled", func(f *fixture) {
		f.addClients("a")
		for _, disabled := range []bool{true, true, false, false} {
			f.must(f.SetClientDisabled(f.ctx, "a", disabled, store.Operator, now))
			got, err := f.Client(f.ctx, "a")
			f.must(err)
			f.equal("disabled", got.Disabled, disabled)
		}
		f.equal("audit", f.actions("client/a"), []string{store.ActionCreateClient, store.ActionDisableClient, store.ActionEnableClient})
	}},
	{"the first signing key stays the only one until it is rotated", func(f *fixture) {
		f.must(f.EnsureSigningKey(f.ctx, signingKey("first", now)))
		f.must(f.EnsureSigningKey(f.ctx, signingKey("second", now.Add(time.Hour))))
		f.equal("keys", f.signingKeys(now), []store.SigningKey{signingKey("first", now)})
	}},
	{"a rotation adds a key, and the old ones expire unless they expire before", func(f *fixture) {
		f.must(f.EnsureSigningKey(f.ctx, signingKey("a", now)))
		f.must(f.RotateSigningKey(f.ctx, signingKey("b", now.Add(time.Hour)), now.Add(3*time.Hour), store.Operator))
		f.must(f.RotateSigningKey(f.ctx, signingKey("c", now.Add(2*time.Hour)), now.Add(4*time.Hour), store.Operator))
		a, b, c := signingKey("a", now), signingKey("b", now.Add(time.Hour)), signingKey("c", now.Add(2*time.Hour))
		a.ExpiresAt, b.ExpiresAt = now.Add(3*time.Hour), now.Add(4*time.Hour)
		f.equal("all three", f.signingKeys(now.Add(2*time.Hour)), []store.SigningKey{c, b, a})
		f.equal("a key has expired at its last instant", f.signingKeys(now.Add(3*time.Hour)), []store.SigningKey{c, b})
		f.equal("the newest stays", f.signingKeys(now.Add(1000*time.Hour)), []store.SigningKey{c})
	}},
	{"a key is made anew when all have expired", func(f *fixture) {
		old := signingKey("old", now)
		old.ExpiresAt = now.Add(time.Hour)
		f.must(f.EnsureSigningKey(f.ctx, old))
		f.must(f.EnsureSigningKey(f.ctx, signingKey("early", now.Add(time.Hour-time.Microsecond))))
		f.equal("before", f.signingKeys(now), []store.SigningKey{old})
		f.must(f.EnsureSigningKey(f.ctx, signingKey("new", now.Add(time.Hour))))
		f.equal("after", f.signingKeys(now.Add(time.Hour)), []store.SigningKey{signingKey("new", now.Add(time.Hour))})
	}},
}

func (f *fixture) signingKeys(at time.Time) []store.SigningKey {
	f.Helper()
	keys, err := f.SigningKeys(f.ctx, at)
	f.must(err)
	return keys
}
