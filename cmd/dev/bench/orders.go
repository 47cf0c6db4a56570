package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.com/perks/api"
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

// orderRequests is how often each page is asked for in a round.
const orderRequests = 5

// measureOrders compares pages of every filter in every order at a million perks with the same at ten thousand, on both
// stores: the first page, one in the middle and the last.
func measureOrders(ctx context.Context, l *harness) (*table, error) {
	t := newTable("Every filter in every order (`orders`)", "filter", "store", "grows most", "10,000 perks",
		"1,000,000 perks")
	for _, kind := range []string{"PostgreSQL", "SQLite"} {
		var ask []askList
		for _, perks := range []int64{listSizes[0], listSizes[len(listSizes)-1]} {
			s, err := l.serveList(ctx, kind, perks)
			if err != nil {
				return nil, err
			}
			ask = append(ask, (&perkLists{s, map[string]int64{}}).ask)
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
		"alternating.",
		api.DefaultPerPage, l.rounds*orderRequests)
	return t, nil
}

// perkLists is a service with perks, and how many pages the lists with a filter have.
type perkLists struct {
	*service
	pages map[string]int64
}

func (p *perkLists) ask(ctx context.Context, filter, place string) ([]time.Duration, error) {
	if p.pages[filter] == 0 {
		body, err := p.fetch(ctx, "/partners/perks?"+filter)
		if err != nil {
			return nil, err
		}
		var first api.Page[json.RawMessage]
		if err := json.Unmarshal(body, &first); err != nil {
			return nil, err
		}
		p.pages[filter] = first.Meta.TotalPages
	}
	last := p.pages[filter]
	at := strings.NewReplacer("MIDDLE", fmt.Sprint((last+1)/2), "LAST", fmt.Sprint(last))
	return p.askTimes(ctx, "/partners/perks?"+at.Replace(place)+"&"+filter, orderRequests)
}

// serveList starts a server over a store with so many sample perks.
func (l *harness) serveList(ctx context.Context, kind string, perks int64) (*service, error) {
	database, err := l.databaseWith(ctx, kind, perks)
	if err != nil {
		return nil, err
	}
	return l.serve(ctx, database)
}
