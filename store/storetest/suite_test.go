package storetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// testStore checks that the stores that open returns follow the contract of store.Store. Each call returns an empty
// store, which open closes after its test; several are open at once. Only the tests of some groups are run if any are
// named.
func testStore(t *testing.T, open func(t *testing.T) store.Store, groups ...string) {
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Catalog", catalogTests},
		{"PerkChanges", perkChangeTests},
		{"Filter", filterTests},
		{"Order", orderTests},
		{"Costs", costTests},
		{"Redeem", redeemTests},
		{"Idempotency", idempotencyTests},
		{"Redemptions", redemptionTests},
		{"Expiry", expiryTests},
		{"Finding", findingTests},
		{"Reports", reportTests},
		{"Users", userTests},
		{"Properties", propertyTests},
		{"PropertyLists", propertyListTests},
		{"PropertyHistory", propertyHistoryTests},
		{"Credentials", credentialTests},
		{"IDs", idTests},
		{"Webhooks", webhookTests},
		{"Import", importTests},
		{"ImportPartly", partialImportTests},
		{"Audit", auditTests},
		{"AuditChanges", auditChangesTests},
		{"AuditArchive", auditArchiveTests},
		{"Audit in batches", auditBatchTests},
		{"AuditRead", auditReadTests},
		{"Reset", resetTests},
		{"Race", raceTests},
		{"Health", healthTests},
	} {
		if len(groups) > 0 && !slices.Contains(groups, group.name) {
			continue
		}
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel() // each waits for its own disk
					test.run(newFixture(t, open(t)))
				})
			}
		})
	}
}

// test checks one rule of the contract, which is its name.
type test struct {
	name string
	run  func(*fixture)
}

// fixture is an empty store with steps that tests share. A failing step stops the test.
type fixture struct {
	*testing.T
	store.Store
	ctx context.Context
}

func newFixture(t *testing.T, s store.Store) *fixture {
	return &fixture{T: t, Store: s, ctx: t.Context()}
}

// by selects perks with a filter.
func by(filter api.PerkFilter) store.PerkQuery { return store.PerkQuery{PerkFilter: filter} }

func (f *fixture) noNewID() string {
	f.Error("a new id was requested, but every record has one")
	return "unexpected"
}

func (f *fixture) addPerks(perks ...store.PerkRecord) {
	f.Helper()
	taken := must(f.ImportPerks(f.ctx, rows(perks...), f.noNewID, store.Operator, now))(f)
	ids := map[string]bool{}
	for _, p := range perks {
		ids[p.ID] = true
	}
	if taken.Count != int64(len(ids)) {
		f.Fatalf("%d of %d perks were imported", taken.Count, len(ids))
	}
}

func (f *fixture) addUsers(ids ...string) {
	f.Helper()
	var users []store.User
	for _, id := range ids {
		users = append(users, store.User{ID: id})
	}
	must(f.ImportUsers(f.ctx, rows(users...), store.Operator, now))(f)
}

// numbered returns n ids.
func numbered(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(prefix, i))
	}
	return ids
}

func (f *fixture) addCategories(categories ...api.Category) {
	f.Helper()
	must(f.ImportCategories(f.ctx, rows(categories...), store.Operator, now))(f)
}

func (f *fixture) addClients(ids ...string) {
	f.Helper()
	for _, id := range ids {
		f.must(f.CreateClient(f.ctx, client(id), store.Operator))
	}
}

func (f *fixture) addProperties(properties ...store.PropertyRecord) {
	f.Helper()
	must(f.ImportProperties(f.ctx, rows(properties...), store.Operator, now))(f)
}

func (f *fixture) redeem(a store.RedeemAttempt) store.RedeemResult {
	f.Helper()
	return must(f.Redeem(f.ctx, a))(f)
}

// list returns the ids of one page of at most 100, and the total.
func (f *fixture) list(query store.PerkQuery) ([]string, int64) {
	f.Helper()
	if query.At.IsZero() {
		query.At = now
	}
	if query.Window == (store.Window{}) {
		query.Window = store.Window{Page: 1, PerPage: api.MaxPerPage}
	}
	page := must(f.ListPerks(f.ctx, query))(f)
	if page.Items == nil {
		f.Error("the items are nil, want an empty list")
	}
	ids := []string{}
	for _, p := range page.Items {
		ids = append(ids, p.ID)
	}
	return ids, page.Total
}

// finds checks which perks a query returns, all on one page and in the order of their ids.
func (f *fixture) finds(what string, query store.PerkQuery, want ...string) {
	f.Helper()
	ids, total := f.list(query)
	f.equal(what, ids, want)
	f.equal(what+": total", total, int64(len(want)))
}

func (f *fixture) must(err error) {
	f.Helper()
	noError(f, err)
}

var noError = storetest.NoError

func must[T any](value T, err error) func(testing.TB) T { return storetest.Must(value, err) }

// errOf returns the error of a call and drops its value.
func errOf[T any](_ T, err error) error { return err }

// refuses checks why an attempt to redeem fails.
func (f *fixture) refuses(what string, a store.RedeemAttempt, want api.Code) {
	f.Helper()
	f.fails(what, errOf(f.Redeem(f.ctx, a)), want)
}

// fails checks an error's code.
func (f *fixture) fails(what string, err error, want api.Code) {
	f.Helper()
	if got := api.CodeOf(err); got != want {
		f.Errorf("%s: the error is %v (%q), want code %q", what, err, got, want)
	}
}

// equal treats an empty list as nil.
func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	same := []cmp.Option{cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b api.Price) bool { return a.String() == b.String() })}
	if diff := cmp.Diff(want, got, same...); diff != "" {
		f.Errorf("%s (- want, + got):\n%s", what, diff)
	}
}

// collect reads a stream to its end.
func collect[T any](f *fixture, records iter.Seq2[T, error]) []T {
	f.Helper()
	var list []T
	for record, err := range records {
		f.must(err)
		list = append(list, record)
	}
	return list
}

// now is the time of the tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](value T) *T { return &value }

// perk returns a minimal valid record, with the given changes.
func perk(id string, with ...func(*store.PerkRecord)) store.PerkRecord {
	p := store.PerkRecord{
		Perk: api.Perk{ID: id, Title: "Perk " + id, Description: "About it.", City: "Leeds", CreatedAt: now,
			UpdatedAt: now},
		Approval: store.ApprovalAuto,
	}
	for _, change := range with {
		change(&p)
	}
	return p
}

type perkChange = func(*store.PerkRecord)

func title(s string) perkChange       { return func(p *store.PerkRecord) { p.Title = s } }
func description(s string) perkChange { return func(p *store.PerkRecord) { p.Description = s } }
func category(s string) perkChange    { return func(p *store.PerkRecord) { p.Category = &s } }
func merchant(s string) perkChange    { return func(p *store.PerkRecord) { p.MerchantName = &s } }
func city(s string) perkChange        { return func(p *store.PerkRecord) { p.City = s } }
func from(t time.Time) perkChange     { return func(p *store.PerkRecord) { p.ValidFrom = &t } }
func to(t time.Time) perkChange       { return func(p *store.PerkRecord) { p.ValidTo = &t } }
func created(t time.Time) perkChange  { return func(p *store.PerkRecord) { p.CreatedAt = t } }
func stock(n int64) perkChange        { return func(p *store.PerkRecord) { p.Stock = &n } }
func manual(p *store.PerkRecord)      { p.Approval = store.ApprovalManual }
func holding(h api.Hold) perkChange   { return func(p *store.PerkRecord) { p.HoldFor = &h } }

func position(lat, lng float64) perkChange {
	return func(p *store.PerkRecord) { p.Lat, p.Lng = &lat, &lng }
}

// fullPerk has a value in every field.
func fullPerk(id string) store.PerkRecord {
	p := perk(id, title("Free Coffee"), description("One cup, any size."), category("Food & Drink"),
		merchant("Café Röst"),
		city("York"), from(now.Add(-time.Hour)), to(now.Add(time.Hour)), stock(7), position(53.96, -1.08), manual,
		holding(48*60*60))
	p.ImageURL, p.DiscountText, p.Terms = ptr("https://example.com/cup.png"), ptr("100%"), ptr("Once a day.")
	p.CreatedAt, p.UpdatedAt = now.Add(-48*time.Hour), now.Add(-24*time.Hour)
	return p
}

// property returns a valid record of a client, with the given changes.
func property(id int64, owner string, with ...func(*store.PropertyRecord)) store.PropertyRecord {
	price, err := api.ParsePrice("120.50")
	if err != nil {
		panic(err)
	}
	p := store.PropertyRecord{
		Property: api.Property{
			ID: id, Title: fmt.Sprint("Flat ", id), Description: "Bright.", Address: "1 High St", City: "Leeds",
			Postcode: "LS1 1AA", Images: []string{"https://example.com/a.png", "https://example.com/b.png?x=1,2"},
			PricePW: price, Bedrooms: 2, Bathrooms: 1, Lat: ptr(53.8), Lng: ptr(-1.55), Deposit: 99.99,
		},
		Owner: owner,
	}
	for _, change := range with {
		change(&p)
	}
	return p
}

func client(id string) store.Client {
	return store.Client{ID: id, Name: "The " + id, Secret: store.SecretHash{1, 2, 3}, Scopes: api.AllScopes(),
		CreatedAt: now}
}

func signingKey(id string, at time.Time) store.SigningKey {
	return store.SigningKey{ID: id, Secret: []byte("secret of " + id), CreatedAt: at}
}

// attempt is a request of client "shop" to redeem without a key; its id is made of perk and user.
func attempt(perkID, userID string) store.RedeemAttempt {
	return store.RedeemAttempt{
		ID: perkID + "-" + userID, PerkID: perkID, UserID: userID, ClientID: "shop", Metadata: json.RawMessage(`{}`),
		At: now,
	}
}

// creating returns the attempt with permission to create its user.
func creating(a store.RedeemAttempt) store.RedeemAttempt {
	a.CreateUser = true
	return a
}

// keyed returns the attempt with an idempotency key and another id, as a client's retry has one.
func keyed(a store.RedeemAttempt, id, key string, fingerprint byte) store.RedeemAttempt {
	a.ID = id
	a.Key = &store.IdempotencyKey{Key: key, Fingerprint: [32]byte{fingerprint}}
	return a
}

// rows returns the records as an import takes them.
func rows[T any](records ...T) iter.Seq2[T, error] { return storetest.Rows(records...) }

// rowsThen yields the error after the records.
func rowsThen[T any](err error, records ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for record := range rows(records...) {
			if !yield(record, nil) {
				return
			}
		}
		var none T
		yield(none, err)
	}
}

// foreignIDs are texts that not every database can store: NUL, and invalid UTF-8.
var foreignIDs = []string{"\x00", "p\x00", "p\x00q", "\xff", "p\xc3", "\xed\xa0\x80"}

var idTests = []test{
	{"an id that is not valid text is not found", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		f.addClients("p")
		window := store.Window{Page: 1, PerPage: 1}
		for _, id := range foreignIDs {
			for what, call := range map[string]func() error{
				"read a perk":        func() error { return errOf(f.Perk(f.ctx, id)) },
				"redeem a perk":      func() error { return errOf(f.Redeem(f.ctx, attempt(id, "ann"))) },
				"redeem for a user":  func() error { return errOf(f.Redeem(f.ctx, attempt("p", id))) },
				"redeem for neither": func() error { return errOf(f.Redeem(f.ctx, attempt(id, id))) },
				"what is available": func() error {
					return errOf(f.ListPerks(f.ctx, store.PerkQuery{AvailableTo: id, At: now, Window: window}))
				},
				"redemptions": func() error {
					return errOf(f.ListRedemptions(f.ctx,
						store.RedemptionQuery{RedemptionFilter: api.RedemptionFilter{UserID: id}, Window: window}))
				},
				"decide": func() error {
					return errOf(f.DecideRedemption(f.ctx, id, store.Decision{Status: api.StatusApproved},
						store.Operator, now))
				},
				"read a client": func() error { return errOf(f.Client(f.ctx, id)) },
				"give a secret": func() error {
					return errOf(f.ChangeClient(f.ctx, id, store.Operator, now, store.DropOldSecrets))
				},
				"disable client": func() error { return f.SetClientDisabled(f.ctx, id, true, store.Operator, now) },
			} {
				f.fails(fmt.Sprintf("%s %q", what, id), call(), api.CodeNotFound)
			}
			for _, subject := range []string{id, store.RedemptionSubject(id), store.ClientSubject(id)} {
				f.equal("entries", f.actions(subject), []string{})
			}
		}
	}},
	{"a filter that is not valid text finds nothing", func(f *fixture) {
		f.addPerks(perk("p", category("p"), city("p")))
		for _, text := range foreignIDs {
			f.finds(fmt.Sprintf("city %q", text), by(api.PerkFilter{City: text}))
			f.finds(fmt.Sprintf("category %q", text), by(api.PerkFilter{Category: text}))
		}
	}},
}
