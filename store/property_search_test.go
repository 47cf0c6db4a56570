package store_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/sqlite"
	"example.com/perks/store/storetest"
)

// TestASearchThatUsesUpItsBudgetsFindsTheSame lists where matches are neither few nor among the first, so that a search
// walks to the end.
func TestASearchThatUsesUpItsBudgetsFindsTheSame(t *testing.T) {
	db := must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "perks.db"), sqlite.Options{}))(t)
	defer db.Close()
	noError(t, db.CreateClient(t.Context(), store.Client{ID: "owner", Name: "Owner"}, store.Operator))
	records := storetest.Numbered(1000, func(i int) store.PropertyRecord {
		p := store.PropertyRecord{Owner: "owner", Property: api.Property{ID: int64(i + 1), Title: "Early", City: "Bath",
			Bedrooms: i % 7, Images: []string{}}}
		if i >= 500 {
			p.Title, p.City = "Late", "York"
		}
		p.PricePW = *searchedPrice(t, fmt.Sprint(100+i))
		return p
	})
	must(db.ImportProperties(t.Context(), records, store.Operator, time.Now()))(t)
	two := 2
	for _, query := range []store.PropertyQuery{
		{PropertyFilter: api.PropertyFilter{Query: "late"}},
		{PropertyFilter: api.PropertyFilter{MinPrice: searchedPrice(t, "700")}},
		{PropertyFilter: api.PropertyFilter{MaxPrice: searchedPrice(t, "400")}},
		{Owner: "owner", PropertyFilter: api.PropertyFilter{City: "york"}},
		{PropertyFilter: api.PropertyFilter{MinPrice: searchedPrice(t, "700"), MinBedrooms: &two}},
		{PropertyFilter: api.PropertyFilter{City: "york", Query: "la", MaxBedrooms: &two}},
		{PropertyFilter: api.PropertyFilter{Query: "late yor"}},
		{Owner: "owner", PropertyFilter: api.PropertyFilter{MinPrice: searchedPrice(t, "700"), Query: "late"}},
	} {
		for _, field := range api.PropertySortFields() {
			for _, descending := range []bool{false, true} {
				query.Sort, query.Window = []api.SortKey{{Field: field, Desc: descending}},
					store.Window{Page: 1, PerPage: 20}
				t.Run(query.Values().Encode()+" by "+api.FormatSort(query.Sort), func(t *testing.T) {
					want := propertyPages(t, db, query)
					store.WithPropertyBudgets(t, 2, 30)
					if got := propertyPages(t, db, query); !slices.Equal(got, want) {
						t.Errorf("with small budgets: %v, want %v", got, want)
					}
				})
			}
		}
	}
}

// propertyPages returns the total of a list and the ids on its first pages.
func propertyPages(t *testing.T, db store.Store, query store.PropertyQuery) (pages []string) {
	t.Helper()
	for range 3 {
		list := must(db.ListProperties(t.Context(), query))(t)
		page := []string{fmt.Sprint(list.Total, list.IsMore)}
		for _, p := range list.Items {
			page = append(page, fmt.Sprint(p.ID))
		}
		pages = append(pages, strings.Join(page, " "))
		if query.After = list.Next; list.Next == nil {
			break
		}
	}
	return pages
}

func searchedPrice(t *testing.T, digits string) *api.Price {
	t.Helper()
	p := must(api.ParsePrice(digits))(t)
	return &p
}
