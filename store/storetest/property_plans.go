package storetest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// AddListings adds a client "owner" and as many properties of it, with every price, number of bedrooms and word spread
// evenly.
func AddListings(t *testing.T, db store.Store, count int) {
	t.Helper()
	NoError(t, db.CreateClient(t.Context(), store.Client{ID: "owner", Name: "Owner"}, store.Operator))
	records := Numbered(count, func(i int) store.PropertyRecord {
		p := store.PropertyRecord{Owner: "owner", Property: api.Property{ID: int64(i + 1), Title: "Flat",
			City: fmt.Sprint("City ", i%7), Bedrooms: i % 5, Images: []string{}}}
		if i%3 == 0 {
			p.Title = "Sunny loft"
		}
		p.PricePW = *listingPrice(t, fmt.Sprint(100+i*11%97))
		return p
	})
	Must(db.ImportProperties(t.Context(), records, store.Operator, time.UnixMicro(1)))(t)
}

// PropertyStatement is one that a list of properties runs.
type PropertyStatement struct {
	store.Querier
	List, Text string
	Args       []any
	HasWords   bool // the list does
}

// mostStatements is how many statements a list takes, of listings with five numbers of bedrooms.
const mostStatements = 16

// PropertyStatements runs lists of the properties that AddListings has added: each filter, and some together, in every
// order, from the start and from the middle. It shows each statement before it is run, and fails if a list takes many,
// or reads all listings of an order.
func PropertyStatements(t *testing.T, d *store.Dialect, latest store.Querier,
	snapshot func(func(store.Querier) error) error,
	show func(PropertyStatement)) {
	t.Helper()
	var shown PropertyStatement
	var count int
	operations := shownOperations(d, latest, snapshot, &shown, func(s PropertyStatement) {
		count++
		if strings.Contains(s.Text, "@budget") && s.Args[0].(store.Named)["budget"] == int64(math.MaxInt64) {
			t.Errorf("a list with %s reads all:\n%s", s.List, s.Text)
		}
		show(s)
	})
	one, three := 1, 3
	for _, filter := range []api.PropertyFilter{
		{}, {City: "City 1"}, {MinPrice: listingPrice(t, "110")}, {MaxPrice: listingPrice(t, "110")},
		{MinPrice: listingPrice(t, "195")},
		{MinBedrooms: &three}, {MaxBedrooms: &one}, {MinBedrooms: &one, MaxPrice: listingPrice(t, "110")},
		{City: "City 1", MaxPrice: listingPrice(t, "150")}, {City: "City 1", MinBedrooms: &one,
			MaxPrice: listingPrice(t, "150")}, {City: "City 1", MinBedrooms: &one}, {City: "City 1", Query: "sunny"},
		{Query: "sunny"}, {Query: "su"}, {Query: "sunny loft"}, {Query: "rare"},
		{Query: "sunny", MaxPrice: listingPrice(t, "110")},
	} {
		for _, owner := range []string{"", "owner"} {
			for _, field := range api.PropertySortFields() {
				for _, descending := range []bool{false, true} {
					query := store.PropertyQuery{PropertyFilter: filter, Owner: owner,
						Window: store.Window{Page: 1, PerPage: 25}}
					query.Sort = []api.SortKey{{Field: field, Desc: descending}}
					middle := map[string]any{"propertyId": int64(300), "price_pw": listingPrice(t, "150").SortKey(),
						"bedrooms": int64(2)}[field]
					for _, query.After = range []*store.Cursor{nil, {Values: []any{middle}, ID: "300"}} {
						shown = PropertyStatement{HasWords: filter.Query != ""}
						shown.List = fmt.Sprintf("%s of %q by %s after %v", filter.Values().Encode(), owner,
							api.FormatSort(query.Sort), query.After)
						count = 0
						if _, err := operations.ListProperties(t.Context(), query); err != nil {
							t.Fatalf("%s: %v", shown.List, err)
						}
						if count > mostStatements {
							t.Errorf("a list with %s takes %d statements, want at most %d", shown.List, count,
								mostStatements)
						}
					}
				}
			}
		}
	}
}

// HistoryStatements reads the history of listing 1: the first page, one far inside, and what it was long ago. It shows
// each statement before it is run.
func HistoryStatements(t *testing.T, d *store.Dialect, latest store.Querier,
	snapshot func(func(store.Querier) error) error, show func(PropertyStatement)) {
	t.Helper()
	shown := PropertyStatement{List: "history"}
	operations := shownOperations(d, latest, snapshot, &shown, show)
	anybody := func(string) error { return nil }
	query := store.PropertyHistoryQuery{ID: 1, Window: store.Window{Page: 1, PerPage: 100}, Check: anybody}
	for range 3 {
		page := Must(operations.PropertyHistory(t.Context(), query))(t)
		Equal(t, "versions", len(page.Items), 100)
		query.After = page.Next
	}
	Must(operations.PropertyAsOf(t.Context(), 1, time.Unix(100, 0), anybody))(t)
}

// shownOperations shows each statement in shown before it is run.
func shownOperations(d *store.Dialect, latest store.Querier, snapshot func(func(store.Querier) error) error,
	shown *PropertyStatement, show func(PropertyStatement)) store.Operations {
	return store.NewOperations(store.Database{
		Dialect: d,
		Latest:  func(context.Context) store.Querier { return latest },
		Snapshot: func(_ context.Context, work func(store.Querier) error) error {
			return snapshot(func(q store.Querier) error {
				shown.Querier = q
				return work(shownQuerier{q, shown, show})
			})
		},
		Retry: func(error) bool { return false },
		Fault: func(_ string, err error) error { return err },
	})
}

type shownQuerier struct {
	store.Querier
	shown *PropertyStatement
	show  func(PropertyStatement)
}

func (s shownQuerier) Query(text string, args ...any) (store.Rows, error) {
	s.shown.Text, s.shown.Args = text, args
	s.show(*s.shown)
	return s.Querier.Query(text, args...)
}

func listingPrice(t *testing.T, digits string) *api.Price {
	t.Helper()
	p := Must(api.ParsePrice(digits))(t)
	return &p
}
