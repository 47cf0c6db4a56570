package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.com/perks/api"
)

// noSlower is the target of a list at a hundred times as many records.
var noSlower = target{2, atMost}

// listRequests is how often a page is asked for in a round, and orderRequests the same where there are many places.
const listRequests, orderRequests = 20, 5

// listFilter is what lists can be asked for, as the query of their address.
type listFilter struct{ name, query string }

// commonLists are the lists of perks that people ask for most. LAST is the number of the last page.
var commonLists = []listFilter{
	{"first page", ""}, {"city filter", "city=Berlin"}, {"10 km around a point", "lat=52.52&lng=13.405&radius=10"},
	{"last page", "page=LAST"}, {"sorted by title", "sort=title"},
}

// listWords begin the words of many perks. What matches them grows with the catalog, and no index has it in the order
// that is asked for.
var listWords = []listFilter{{"words", "q=spa+golden"}}

// listSizes is how many perks there are. The last is compared with the first.
var listSizes = []int64{10_000, 1_000_000}

// measureLists compares lists over HTTP at a million perks with the same at ten thousand, on both stores.
func measureLists(ctx context.Context, l *harness) (*table, error) {
	t := newTable("Lists (`lists`)", "list", "store", "grows most", "10,000 perks", "1,000,000 perks")
	for _, kind := range []string{"PostgreSQL", "SQLite"} {
		ask, err := l.perkLists(ctx, kind, listRequests)
		if err != nil {
			return nil, err
		}
		if err := l.compareFilters(ctx, t, kind, commonLists, []string{""}, ask); err != nil {
			return nil, err
		}
		if err := l.compareAs(ctx, t, target{}, kind, listWords, []string{""}, ask); err != nil {
			return nil, err
		}
	}
	t.note("Over HTTP, one connection, pages of %d perks; p50 of %d requests each, alternating.", api.DefaultPerPage,
		l.rounds*listRequests)
	return t, nil
}

// orderFilters are the filters that are combined with every order. Each matches a fixed share of the perks.
var orderFilters = []struct {
	name   string
	filter api.PerkFilter
}{
	{"city", api.PerkFilter{City: "Berlin"}},
	{"category", api.PerkFilter{Category: "Wellness"}},
	{"10 km", api.PerkFilter{Near: &api.Circle{Lat: 52.52, Lng: 13.405, RadiusKM: 10}}},
	{"words", api.PerkFilter{Query: "coffee"}},
}

// measureOrders is measureLists for every filter in every order: the first page, one in the middle and the last.
func measureOrders(ctx context.Context, l *harness) (*table, error) {
	t := newTable("Every filter in every order (`orders`)", "filter", "store", "grows most", "10,000 perks",
		"1,000,000 perks")
	for _, kind := range []string{"PostgreSQL", "SQLite"} {
		ask, err := l.perkLists(ctx, kind, orderRequests)
		if err != nil {
			return nil, err
		}
		for _, f := range orderFilters {
			var places []string
			for _, field := range api.PerkSortFields() {
				if f.filter.CanSortBy(field) {
					for _, order := range []string{"sort=", "sort=-"} {
						places = append(places, order+field, order+field+"&page=MIDDLE", order+field+"&page=LAST")
					}
				}
			}
			filters := []listFilter{{f.name, f.filter.Values().Encode()}}
			if err := l.compareFilters(ctx, t, kind, filters, places, ask); err != nil {
				return nil, err
			}
		}
	}
	t.note("Each of the orders by one key; over HTTP, one connection, pages of %d perks; p50 of %d requests each, "+
		"alternating.", api.DefaultPerPage, l.rounds*orderRequests)
	return t, nil
}

// perkLists starts a service for each of listSizes, and asks it for lists of perks.
func (l *harness) perkLists(ctx context.Context, kind string, requests int64) (ask []askList, err error) {
	for _, perks := range listSizes {
		database, err := l.databaseWith(ctx, kind, perks)
		if err != nil {
			return nil, err
		}
		s, err := l.serve(ctx, database)
		if err != nil {
			return nil, err
		}
		pages := map[string]int64{} // by the filter
		ask = append(ask, func(ctx context.Context, filter, place string) ([]time.Duration, error) {
			all, _, _ := strings.Cut(filter, "page=")
			if pages[all] == 0 {
				if pages[all], err = s.pages(ctx, "/partners/perks?"+all); err != nil {
					return nil, err
				}
			}
			at := strings.NewReplacer("MIDDLE", fmt.Sprint((pages[all]+1)/2), "LAST", fmt.Sprint(pages[all]))
			return s.askTimes(ctx, "/partners/perks?"+at.Replace(place+"&"+filter), requests)
		})
	}
	return ask, nil
}

// pages is how many pages a list has.
func (s *service) pages(ctx context.Context, path string) (int64, error) {
	body, err := s.fetch(ctx, path)
	if err != nil {
		return 0, err
	}
	var first api.Page[json.RawMessage]
	if err := json.Unmarshal(body, &first); err != nil {
		return 0, fmt.Errorf("reading the first page: %w", err)
	}
	return first.Meta.TotalPages, nil
}
