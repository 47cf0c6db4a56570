package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// orderFilters are the filters that are combined with every order. Each matches a fixed share of the perks.
var orderFilters = []struct {
	name   string
	filter api.PerkFilter
}{
	{"city", api.PerkFilter{City: listPlaces[0].city}},
	{"category", api.PerkFilter{Category: "Wellness"}},
	{"10 km", api.PerkFilter{Near: &api.Circle{Lat: listPlaces[0].lat, Lng: listPlaces[0].lng, RadiusKM: 10}}},
	{"words", api.PerkFilter{Query: "coffee"}},
}

// orderRequests is how often each page is asked for in each of orderRounds, the first time included, which may take longer.
const orderRequests, orderRounds = 5, 3

// slowest is the list that takes longest of those with one filter, and that grows most.
type slowest struct {
	ratio        float64
	grows, lasts string
	small, large time.Duration // of the one that grows most
	longest      time.Duration
	matches      int64
}

// measureOrders compares pages of every filter in every order at a million perks with the same at ten thousand, on both stores.
func measureOrders(ctx context.Context, l *harness) (*table, error) {
	t := newTable("Every filter in every order (`orders`)", "filter", "page", "store", "matches", "grows most", "10,000 perks", "1,000,000 perks", "longest", "p50")
	for _, kind := range []string{"PostgreSQL", "SQLite"} {
		var services []*service
		for _, perks := range []int64{listSizes[0], listSizes[len(listSizes)-1]} {
			s, err := l.serveList(ctx, kind, perks)
			if err != nil {
				return nil, err
			}
			services = append(services, s)
		}
		for _, f := range orderFilters {
			for _, place := range []string{"first", "middle", "last"} {
				found, err := l.compareOrders(ctx, services, f.filter, place)
				if err != nil {
					return nil, fmt.Errorf("%s, %s page on %s: %w", f.name, place, kind, err)
				}
				t.add(found.ratio, noSlower, f.name, place, kind, grouped(found.matches), found.grows,
					milliseconds(found.small), milliseconds(found.large), found.lasts, milliseconds(found.longest))
				l.logf("orders: %s, %s page on %s: %s grows %.2f times; %s takes %s", f.name, place, kind, found.grows, found.ratio, found.lasts, milliseconds(found.longest))
			}
		}
	}
	t.note("Each of the %d orders by one key; over HTTP, one connection, pages of %d perks; p50 of %d requests each, alternating, the first included.",
		2*len(api.PerkSortFields()), api.DefaultPerPage, orderRounds*orderRequests)
	return t, nil
}

// compareOrders asks for a page of a filter in every order.
func (l *harness) compareOrders(ctx context.Context, services []*service, filter api.PerkFilter, place string) (worst slowest, err error) {
	for _, field := range api.PerkSortFields() {
		for _, descending := range []bool{false, true} {
			query := page(1)
			query.PerkFilter, query.Sort = filter, []api.SortKey{{Field: field, Desc: descending}}
			if !filter.CanSortBy(field) {
				continue
			}
			var asked [2][]store.PerkQuery
			for i, s := range services {
				body, err := s.fetch(ctx, path(query))
				if err != nil {
					return worst, err
				}
				var first api.Page[json.RawMessage]
				if err := json.Unmarshal(body, &first); err != nil {
					return worst, err
				}
				number := map[string]int64{"first": 1, "middle": (first.Meta.TotalPages + 1) / 2, "last": first.Meta.TotalPages}[place]
				one := query
				one.Window.Page = number
				asked[i] = slices.Repeat([]store.PerkQuery{one}, orderRequests)
				worst.matches = first.Meta.Total
			}
			var times [2][]time.Duration
			for range orderRounds { // in turn, so that what else the machine does slows down both
				for i, s := range services {
					took, err := s.askLists(ctx, asked[i])
					if err != nil {
						return worst, err
					}
					times[i] = append(times[i], took...)
				}
			}
			p50s := [2]time.Duration{percentile(times[0], 50), percentile(times[1], 50)}
			name := api.FormatSort(query.Sort)
			if ratio := float64(p50s[1]) / float64(p50s[0]); ratio > worst.ratio {
				worst.ratio, worst.grows, worst.small, worst.large = ratio, name, p50s[0], p50s[1]
			}
			if p50s[1] > worst.longest {
				worst.longest, worst.lasts = p50s[1], name
			}
		}
	}
	return worst, nil
}

// serveList starts a server over a store with so many sample perks.
func (l *harness) serveList(ctx context.Context, kind string, perks int64) (*service, error) {
	database, err := l.databaseWith(ctx, kind, perks)
	if err != nil {
		return nil, err
	}
	return l.serve(ctx, database)
}
