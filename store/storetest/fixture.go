package storetest

import (
	"context"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/perks/api"
	"example.com/perks/store"
)

// fixture is an empty store, and the steps that tests have in common. A step that fails ends the test.
type fixture struct {
	*testing.T
	store.Store
	ctx context.Context
}

func newFixture(t *testing.T, s store.Store) *fixture {
	return &fixture{T: t, Store: s, ctx: t.Context()}
}

func (f *fixture) noNewID() string {
	f.Error("an id was asked for though every record has one")
	return "unexpected"
}

func (f *fixture) addPerks(perks ...store.PerkRecord) {
	f.Helper()
	taken, err := f.ImportPerks(f.ctx, rows(perks...), f.noNewID, store.Operator, now)
	f.must(err)
	ids := map[string]bool{}
	for _, p := range perks {
		ids[p.ID] = true
	}
	if taken.Count != int64(len(ids)) {
		f.Fatalf("%d of %d perks were taken", taken.Count, len(ids))
	}
}

func (f *fixture) addUsers(ids ...string) {
	f.Helper()
	var users []store.User
	for _, id := range ids {
		users = append(users, store.User{ID: id})
	}
	_, err := f.ImportUsers(f.ctx, rows(users...), store.Operator, now)
	f.must(err)
}

func (f *fixture) addCategories(categories ...api.Category) {
	f.Helper()
	_, err := f.ImportCategories(f.ctx, rows(categories...), store.Operator, now)
	f.must(err)
}

func (f *fixture) addClients(ids ...string) {
	f.Helper()
	for _, id := range ids {
		f.must(f.CreateClient(f.ctx, client(id), store.Operator))
	}
}

func (f *fixture) addProperties(properties ...store.PropertyRecord) {
	f.Helper()
	_, err := f.ImportProperties(f.ctx, rows(properties...), store.Operator, now)
	f.must(err)
}

func (f *fixture) redeem(a store.RedeemAttempt) store.RedeemResult {
	f.Helper()
	result, err := f.Redeem(f.ctx, a)
	f.must(err)
	return result
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
	page, err := f.ListPerks(f.ctx, query)
	f.must(err)
	if page.Items == nil {
		f.Error("the items are nil, want an empty list")
	}
	ids := []string{}
	for _, p := range page.Items {
		ids = append(ids, p.ID)
	}
	return ids, page.Total
}

// finds checks which perks a query gives, all of them on one page and in the order of their ids.
func (f *fixture) finds(what string, query store.PerkQuery, want ...string) {
	f.Helper()
	ids, total := f.list(query)
	f.equal(what, ids, want)
	f.equal(what+": total", total, int64(len(want)))
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// fails checks an error's code.
func (f *fixture) fails(what string, err error, want api.Code) {
	f.Helper()
	if got := api.CodeOf(err); got != want {
		f.Errorf("%s: the error is %v (%q), want code %q", what, err, got, want)
	}
}

// equal takes an empty list for nil.
func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	same := []cmp.Option{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b api.Price) bool { return a.String() == b.String() })}
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
