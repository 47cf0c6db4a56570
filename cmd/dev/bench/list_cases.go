package main

import (
	"fmt"
	"net/url"
	"strconv"

	"example.com/perks/api"
	"example.com/perks/store"
)

// listCase is one kind of list that people ask for. Its queries differ in what they look for, so that no single page
// answers all of them from a cache.
type listCase struct {
	name   string
	target target
	query  func(n int, lastPage int64) store.PerkQuery
}

var newestFirst = []api.SortKey{{Field: "created_at", Desc: true}} // as the service sorts when it is not told

var listCases = []listCase{
	{"first page", noSlower, func(int, int64) store.PerkQuery { return page(1) }},
	{"city filter", noSlower, func(n int, _ int64) store.PerkQuery {
		q := page(1)
		q.City = listPlaces[n%len(listPlaces)].city
		return q
	}},
	{"10 km around a point", noSlower, func(n int, _ int64) store.PerkQuery {
		q := page(1)
		at := listPlaces[n%len(listPlaces)]
		q.Near = &store.Circle{Lat: at.lat, Lng: at.lng, RadiusKM: 10}
		return q
	}},
	{"last page", noSlower, func(_ int, lastPage int64) store.PerkQuery { return page(lastPage) }},
	// What matches these words grows with the catalog, and no index has it in the order that is asked for.
	{"words", target{}, func(n int, _ int64) store.PerkQuery {
		q := page(1)
		q.Text = listWords[n%len(listWords)]
		return q
	}},
	{"sorted by title", noSlower, func(int, int64) store.PerkQuery {
		q := page(1)
		q.Sort = []api.SortKey{{Field: "title"}}
		return q
	}},
}

// noSlower is the target of a list at a hundred times as many perks.
var noSlower = target{2, atMost}

// Where sample perks are, and words that begin some of theirs.
var (
	listPlaces = []struct {
		city     string
		lat, lng float64
	}{
		{"Berlin", 52.52, 13.405}, {"Paris", 48.8566, 2.3522}, {"London", 51.5072, -0.1276}, {"Tokyo", 35.6762, 139.6503},
		{"New York", 40.7128, -74.006}, {"Sydney", -33.8688, 151.2093}, {"Nairobi", -1.2921, 36.8219}, {"Suva", -18.1248, 178.4501},
	}
	listWords = []string{"coffee", "pizza friend", "spa golden", "guid tour", "lantern", "haircut members", "museum", "red fox shoe"}
)

func page(n int64) store.PerkQuery {
	return store.PerkQuery{Sort: newestFirst, Window: store.Window{Page: n, PerPage: api.DefaultPerPage}}
}

// path is the address of a list, as the API's description has its parameters.
func path(q store.PerkQuery) string {
	parameters := url.Values{
		"page":     {strconv.FormatInt(q.Window.Page, 10)},
		"per_page": {strconv.Itoa(q.Window.PerPage)},
		"sort":     {api.FormatSort(q.Sort)},
	}
	if q.City != "" {
		parameters.Set("city", q.City)
	}
	if q.Text != "" {
		parameters.Set("q", q.Text)
	}
	if q.Near != nil {
		parameters.Set("lat", fmt.Sprint(q.Near.Lat))
		parameters.Set("lng", fmt.Sprint(q.Near.Lng))
		parameters.Set("radius", fmt.Sprint(q.Near.RadiusKM))
	}
	return "/partners/perks?" + parameters.Encode()
}
