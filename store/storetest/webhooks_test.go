package storetest_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// hook is a webhook of a client that begins at the start of the audit log.
func hook(id, clientID string) store.Webhook {
	return store.Webhook{Webhook: api.Webhook{ID: id, URL: "https://" + clientID + ".example/" + id,
		Types: []api.EventType{api.EventRedemptionMade, api.EventPerkChanged}, Description: "The till.", CreatedAt: now},
		ClientID: clientID, Secrets: []byte{0, 1, 255}, Position: store.AuditPlace{Since: "1", Until: "2", Read: 3}}
}

func (f *fixture) addHooks(hooks ...store.Webhook) {
	f.Helper()
	for _, h := range hooks {
		must(f.CreateWebhook(f.ctx, store.WebhookCreation{Webhook: h, By: store.ClientActor(h.ClientID, "")}))(f)
	}
}

// sync is SyncWebhooks at the time of the tests.
func (f *fixture) sync(s store.WebhookSync) store.WebhookState {
	f.Helper()
	s.At = now
	return must(f.SyncWebhooks(f.ctx, s))(f)
}

func held(state store.WebhookState) []string { return slices.Sorted(maps.Keys(state.Held)) }

func failure(number int64, subject string, attempt int) store.WebhookFailure {
	return store.WebhookFailure{Number: number, Subject: subject, Cursor: fmt.Sprint("cursor ", number), At: now,
		Attempt: attempt, NextAt: now.Add(time.Minute)}
}

// without is failures as they are read to deliver them.
func without(failures ...store.WebhookFailure) []store.WebhookFailure {
	for i := range failures {
		failures[i].Cursor = ""
	}
	return failures
}

var webhookTests = []test{
	{"a webhook is found and changed by its client alone", func(f *fixture) {
		f.addHooks(hook("a", "shop"), hook("b", "shop"), hook("c", "desk"))
		want := hook("a", "shop")
		want.Enabled, want.Version, want.UpdatedAt = true, 1, now
		f.equal("the webhook", must(f.Webhook(f.ctx, "shop", "a"))(f), want)
		page := must(f.ListWebhooks(f.ctx, "shop", store.Window{Page: 2, PerPage: 1}))(f)
		f.equal("the page", []any{len(page.Items), page.Items[0].ID, page.Total}, []any{1, "b", int64(2)})
		f.fails("of another", errOf(f.Webhook(f.ctx, "desk", "a")), api.CodeNotFound)
		change := func(w *store.Webhook) (string, error) {
			w.URL, w.Types, w.Description, w.Secrets = "https://new.example", nil, "", []byte("new")
			w.Enabled, w.Position = false, store.AuditPlace{Since: "9"}
			return store.ActionUpdateWebhook, nil
		}
		later := now.Add(time.Hour)
		f.fails("change of another", errOf(f.UpdateWebhook(f.ctx, "desk", "a", "x", later, change)), api.CodeNotFound)
		f.fails("deletion of another", f.DeleteWebhook(f.ctx, "desk", "a", "x", later), api.CodeNotFound)
		want.URL, want.Types, want.Description, want.Secrets = "https://new.example", nil, "", []byte("new")
		want.Enabled, want.Position, want.Version, want.UpdatedAt = false, store.AuditPlace{Since: "9"}, 2, later
		f.equal("changed", must(f.UpdateWebhook(f.ctx, "shop", "a", "client/shop", later, change))(f), want)
		f.equal("read", must(f.Webhook(f.ctx, "shop", "a"))(f), want)
		f.must(f.DeleteWebhook(f.ctx, "shop", "a", "client/shop", later))
		f.fails("deleted", errOf(f.Webhook(f.ctx, "shop", "a")), api.CodeNotFound)
		f.equal("the log", f.actions(store.WebhookSubject("a")), []string{store.ActionCreateWebhook,
			store.ActionUpdateWebhook, store.ActionDeleteWebhook})
		f.equal("there are some", must(f.HasWebhooks(f.ctx))(f), true)
	}},
	{"a key creates one webhook, and a client has a hundred at most", func(f *fixture) {
		creation := store.WebhookCreation{Webhook: hook("a", "shop"), By: "client/shop",
			Key: &store.IdempotencyKey{Key: "k", Fingerprint: [32]byte{1}}}
		made := must(f.CreateWebhook(f.ctx, creation))(f)
		creation.Webhook = hook("b", "shop")
		again := must(f.CreateWebhook(f.ctx, creation))(f)
		f.equal("replayed", []any{made.Replayed, again.Replayed, again.Webhook}, []any{false, true, made.Webhook})
		creation.Key = &store.IdempotencyKey{Key: "k", Fingerprint: [32]byte{2}}
		f.fails("another request", errOf(f.CreateWebhook(f.ctx, creation)), api.CodeIdempotencyKeyReused)
		f.must(f.DeleteWebhook(f.ctx, "shop", "a", "client/shop", now))
		creation.Key.Fingerprint = [32]byte{1}
		f.fails("deleted since", errOf(f.CreateWebhook(f.ctx, creation)), api.CodeConflict)
		for i := range api.MaxWebhooks {
			f.addHooks(hook(fmt.Sprint("h", i), "shop"))
		}
		f.fails("one more", errOf(f.CreateWebhook(f.ctx, store.WebhookCreation{Webhook: hook("x", "shop")})),
			api.CodeConflict)
		f.addHooks(hook("x", "desk"))
	}},
	{"a webhook has one holder, whose death another one notices", func(f *fixture) {
		f.equal("there are some", must(f.HasWebhooks(f.ctx))(f), false)
		f.addHooks(hook("a", "shop"), hook("b", "shop"), hook("c", "shop"))
		one := f.sync(store.WebhookSync{Server: "one", Take: 2})
		f.equal("one takes", held(one), []string{"a", "b"})
		two := f.sync(store.WebhookSync{Server: "two", Take: 3})
		f.equal("two takes", held(two), []string{"c"})
		f.equal("the servers", two.Servers, []store.WebhookServer{{Server: "one", Beats: 1}, {Server: "two", Beats: 1}})
		f.equal("counted", []int{two.Enabled, two.Disabled}, []int{3, 0})
		f.sync(store.WebhookSync{Server: "one"})
		f.equal("one has beaten since", held(f.sync(store.WebhookSync{Server: "two", Take: 3,
			Dead: two.Servers[:1]})), []string{"c"})
		died := store.WebhookServer{Server: "one", Beats: 2}
		f.equal("one has not", held(f.sync(store.WebhookSync{Server: "two", Take: 1,
			Dead: []store.WebhookServer{died}})), []string{"a", "c"})
		back := f.sync(store.WebhookSync{Server: "one", Progress: []store.WebhookProgress{
			{ID: "a", Position: store.AuditPlace{Since: "lost"}}, {ID: "b", Position: store.AuditPlace{Since: "kept"}}}})
		f.equal("one is back", held(back), []string{"b"})
		f.equal("its progress with what it lost", must(f.Webhook(f.ctx, "shop", "a"))(f).Position,
			hook("a", "shop").Position)
		f.equal("its progress with what it has", must(f.Webhook(f.ctx, "shop", "b"))(f).Position,
			store.AuditPlace{Since: "kept"})
		released := f.sync(store.WebhookSync{Server: "two", Release: []string{"a", "b", "c"}, Leaves: true})
		f.equal("after the end", []any{len(released.Held), released.Servers},
			[]any{0, []store.WebhookServer{{Server: "one", Beats: 1}}})
		f.equal("one takes all", held(f.sync(store.WebhookSync{Server: "one", Take: 9})), []string{"a", "b", "c"})
	}},
	{"progress, failures and what was sent are kept together", func(f *fixture) {
		f.addHooks(hook("a", "shop"))
		f.sync(store.WebhookSync{Server: "one", Take: 1})
		since, status := now.Add(-time.Hour), 500
		sent := api.WebhookDelivery{ID: "1", WebhookID: "a", EventID: "e", Type: api.EventPerkChanged, Subject: "perk/A",
			Attempt: 1, At: now, Duration: 12, Status: &status, Error: ptr("no"), Answer: "oops", NextAt: &now}
		other := api.WebhookDelivery{ID: "2", WebhookID: "a", EventID: "f", Type: api.EventPerkChanged, Subject: "perk/A",
			At: now.Add(time.Second)}
		entry := failure(2, "perk/A", 1)
		entry.Entry = 7
		f.sync(store.WebhookSync{Server: "one", Deliveries: []api.WebhookDelivery{sent}, Progress: []store.WebhookProgress{
			{ID: "a", Position: store.AuditPlace{Since: "5"}, FailingSince: &since,
				Failures: []store.WebhookFailure{failure(1, "redemption/r", 1), entry}}}})
		f.must(f.AddWebhookDeliveries(f.ctx, []api.WebhookDelivery{other, sent}))
		read, failures, err := f.HeldWebhook(f.ctx, "a")
		f.must(err)
		f.equal("the webhook", []any{read.Position, read.FailingSince}, []any{store.AuditPlace{Since: "5"}, &since})
		f.equal("the cursor", must(f.WebhookFailureCursor(f.ctx, "a", 2))(f), "cursor 2")
		f.equal("failures", failures, without(failure(1, "redemption/r", 1), entry))
		f.equal("their keys", []store.AuditKey{failures[0].Key(), failures[1].Key()},
			[]store.AuditKey{{ID: "r"}, {Entry: 7}})
		entry.Attempt, entry.NextAt = 2, now.Add(time.Hour)
		f.sync(store.WebhookSync{Server: "one", Progress: []store.WebhookProgress{{ID: "a", Ended: []int64{1},
			Failures: []store.WebhookFailure{entry}}}})
		read, failures, err = f.HeldWebhook(f.ctx, "a")
		f.must(err)
		f.equal("failures then", failures, without(entry))
		query := store.WebhookQuery{ID: "a", Window: store.Window{Page: 1, PerPage: 1}}
		first := must(f.ListWebhookDeliveries(f.ctx, query))(f)
		query.After = first.Next
		second := must(f.ListWebhookDeliveries(f.ctx, query))(f)
		f.equal("what was sent", slices.Concat(first.Items, second.Items), []api.WebhookDelivery{other, sent})
		f.equal("how much", []any{first.Total, second.Next == nil, read.ID}, []any{int64(2), true, "a"})
		f.equal("purged", must(f.PurgeWebhookDeliveries(f.ctx, now.Add(time.Second)))(f), int64(1))
		f.must(f.DeleteWebhook(f.ctx, "shop", "a", "client/shop", now))
		f.equal("purged after the deletion", must(f.PurgeWebhookDeliveries(f.ctx, now.Add(time.Hour)))(f), int64(0))
		f.equal("left", must(f.ListWebhookDeliveries(f.ctx, store.WebhookQuery{ID: "a", Window: query.Window}))(f).Total,
			int64(0))
	}},
	{"the service disables a webhook once, and its client enables it with nothing failed", func(f *fixture) {
		f.addHooks(hook("a", "shop"))
		f.sync(store.WebhookSync{Server: "one", Take: 1})
		given := store.WebhookProgress{ID: "a", Disabled: "It answered 410.",
			Failures: []store.WebhookFailure{failure(1, "perk/A", 9)}}
		state := f.sync(store.WebhookSync{Server: "one", Progress: []store.WebhookProgress{given}})
		f.equal("held", []any{len(state.Held), state.Enabled, state.Disabled}, []any{0, 0, 1})
		f.equal("there are some", must(f.HasWebhooks(f.ctx))(f), false)
		f.sync(store.WebhookSync{Server: "one", Take: 1, Progress: []store.WebhookProgress{given}})
		read := must(f.Webhook(f.ctx, "shop", "a"))(f)
		f.equal("disabled", []any{read.Enabled, *read.Reason, read.Version}, []any{false, "It answered 410.", int64(2)})
		entries := collect(f, f.Audit(f.ctx, store.AuditQuery{Subject: "webhook/a", Action: store.ActionDisableWebhook}))
		if len(entries) != 1 || entries[0].Actor != store.Service {
			f.Fatalf("the entries are %v", entries)
		}
		later := now.Add(time.Hour)
		must(f.UpdateWebhook(f.ctx, "shop", "a", "client/shop", later, func(w *store.Webhook) (string, error) {
			w.Enabled, w.Reason = true, nil
			return store.ActionUpdateWebhook, nil
		}))(f)
		_, failures, err := f.HeldWebhook(f.ctx, "a")
		f.must(err)
		f.equal("what failed", []any{failures[0].Attempt, failures[0].NextAt}, []any{0, later})
	}},
	{"an entry is found by its key", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		f.redeem(attempt("p", "ann"))
		made, found, err := f.AuditEntry(f.ctx, store.KeyOfRedemption("redemption/p-ann"))
		f.must(err)
		f.equal("made", []any{found, made.Action, made.Subject}, []any{true, store.ActionRedeem, "redemption/p-ann"})
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		f.must(f.UpdateProperty(f.ctx, 1, "client/owner", now, func(p *store.PropertyRecord) error {
			p.Title = "New"
			return nil
		}))
		changed := collect(f, f.Audit(f.ctx, store.AuditQuery{Subject: "property/1", Action: store.ActionUpdateProperty}))
		whole, found, err := f.AuditEntry(f.ctx, store.AuditKey{Entry: changed[0].Number})
		f.must(err)
		if !found || len(whole.After) < 2*len(changed[0].After) {
			f.Errorf("the entry is %v, %s", found, whole.After)
		}
		_, found, err = f.AuditEntry(f.ctx, store.AuditKey{Entry: changed[0].Number + 1000})
		f.must(err)
		f.equal("none", found, false)
	}},
}

// A server that is deemed dead while it syncs either keeps its webhooks or loses them all.
func TestWebhooksHaveOneHolder(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, d database) {
		f := newFixture(t, d.opened(t))
		for i := range 20 {
			f.addHooks(hook(fmt.Sprint("h", i), "shop"))
		}
		states := make(chan store.WebhookState)
		for _, name := range []string{"one", "two"} {
			go func() {
				var state store.WebhookState
				for range 20 {
					dead := slices.DeleteFunc(slices.Clone(state.Servers),
						func(s store.WebhookServer) bool { return s.Server == name })
					state, _ = f.SyncWebhooks(f.ctx, store.WebhookSync{Server: name, At: now, Dead: dead, Take: 20})
				}
				states <- state
			}()
		}
		<-states
		<-states
		one, two := f.sync(store.WebhookSync{Server: "one"}), f.sync(store.WebhookSync{Server: "two"})
		for id := range one.Held {
			if _, isHeld := two.Held[id]; isHeld {
				t.Errorf("both hold %s", id)
			}
		}
		if n := len(one.Held) + len(two.Held); n > 20 {
			t.Errorf("they hold %d webhooks", n)
		}
	})
}
