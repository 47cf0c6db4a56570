package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// listCase is one kind of list that people ask for. Its queries differ in what they look for, so that no single page
// serves all of them from a cache.
type listCase struct {
	name   string
	target target
	query  func(n int, lastPage int64) store.PerkQuery
}

var listCases = []listCase{
	{"first page", noSlower, func(int, int64) store.PerkQuery { return page(1) }},
	{"city filter", noSlower, firstPage(func(n int,
		q *store.PerkQuery) {
		q.City = listPlaces[n%len(listPlaces)].city
	})},
	{"10 km around a point", noSlower, firstPage(func(n int, q *store.PerkQuery) {
		at := listPlaces[n%len(listPlaces)]
		q.Near = &api.Circle{Lat: at.lat, Lng: at.lng, RadiusKM: 10}
	})},
	{"last page", noSlower, func(_ int, lastPage int64) store.PerkQuery { return page(lastPage) }},
	// What matches these words grows with the catalog, and no index has it in the order that is asked for.
	{"words", target{}, firstPage(func(n int, q *store.PerkQuery) { q.Query = listWords[n%len(listWords)] })},
	{"sorted by title", noSlower, firstPage(func(_ int,
		q *store.PerkQuery) {
		q.Sort = []api.SortKey{{Field: "title"}}
	})},
}

func firstPage(change func(n int, q *store.PerkQuery)) func(int, int64) store.PerkQuery {
	return func(n int, _ int64) store.PerkQuery {
		q := page(1)
		change(n, &q)
		return q
	}
}

// noSlower is the target of a list at a hundred times as many perks.
var noSlower = target{2, atMost}

// Where sample perks are, and words that begin some of theirs.
var (
	listPlaces = []struct {
		city     string
		lat, lng float64
	}{
		{"Berlin", 52.52, 13.405}, {"Paris", 48.8566, 2.3522}, {"London", 51.5072, -0.1276},
		{"Tokyo", 35.6762, 139.6503},
		{"New York", 40.7128, -74.006}, {"Sydney", -33.8688, 151.2093}, {"Nairobi", -1.2921, 36.8219},
		{"Suva", -18.1248, 178.4501},
	}
	listWords = []string{"coffee", "pizza friend", "spa golden", "guid tour", "lantern", "haircut members", "museum",
		"red fox shoe"}
)

// page is what the service lists when it is not told otherwise.
func page(n int64) store.PerkQuery {
	return store.PerkQuery{Sort: []api.SortKey{{Field: "created_at", Desc: true}},
		Window: store.Window{Page: n, PerPage: api.DefaultPerPage}}
}

// path is the address of a list, as the API's description has its parameters.
func path(q store.PerkQuery) string {
	parameters := q.PerkFilter.Values()
	parameters.Set("page", strconv.FormatInt(q.Window.Page, 10))
	parameters.Set("per_page", strconv.Itoa(q.Window.PerPage))
	parameters.Set("sort", api.FormatSort(q.Sort))
	return "/partners/perks?" + parameters.Encode()
}

const listRequests = 20 // of each list in a round

// catalog is one database of perks that can be asked for lists.
type catalog struct {
	store    string
	perks    int64
	lastPage int64
	*service
}

// listSizes is how many perks there are. The last is compared with the first.
var listSizes = []int64{10_000, 100_000, 1_000_000}

// measureLists compares lists over HTTP at a million perks with the same at ten thousand, on both stores.
func measureLists(ctx context.Context, l *harness) (*table, error) {
	catalogs := make([][]catalog, 2) // PostgreSQL's and SQLite's
	for _, perks := range listSizes {
		for i, kind := range []string{"PostgreSQL", "SQLite"} {
			s, err := l.serveList(ctx, kind, perks)
			if err != nil {
				return nil, err
			}
			body, err := s.fetch(ctx, path(page(1)))
			if err != nil {
				return nil, err
			}
			var first api.Page[json.RawMessage]
			if err := json.Unmarshal(body, &first); err != nil {
				return nil, fmt.Errorf("reading the first page: %w", err)
			}
			catalogs[i] = append(catalogs[i], catalog{kind, perks, first.Meta.TotalPages, s})
		}
	}
	result, err := l.compareLists(ctx, catalogs)
	if err != nil {
		return nil, err
	}
	result.note("Over HTTP, one connection, pages of %d perks; p50 of %d requests each, all sizes in turn.",
		api.DefaultPerPage, l.rounds*listRequests)
	return result, nil
}

// askLists asks over one connection.
func (s *service) askLists(ctx context.Context, queries []store.PerkQuery) ([]time.Duration, error) {
	requests := make([][]byte, len(queries))
	for i, q := range queries {
		requests[i] = s.get(path(q))
	}
	report, err := Run(ctx, Plan{
		Address: s.address, Connections: 1, Count: int64(len(queries)), Status: http.StatusOK,
		Request: func(buffer []byte, n int64) []byte { return append(buffer, requests[n]...) },
	})
	return report.Latencies, err
}

// compareLists asks every catalog for every list, round after round, and compares the largest of each store with its
// smallest. The catalogs of a store are in the order of their size.
func (l *harness) compareLists(ctx context.Context, stores [][]catalog) (*table, error) {
	type sample struct {
		list, store string
		perks       int64
	}
	taken := map[sample][]time.Duration{}
	for round := range l.rounds + 1 {
		for _, list := range listCases {
			for _, c := range slices.Concat(stores...) {
				queries := make([]store.PerkQuery, listRequests)
				for i := range queries {
					queries[i] = list.query(i, c.lastPage)
				}
				times, err := c.askLists(ctx, queries)
				if err != nil {
					return nil, fmt.Errorf("%s of %s perks on %s: %w", list.name, grouped(c.perks), c.store, err)
				}
				if round > 0 { // the first round warms up
					s := sample{list.name, c.store, c.perks}
					taken[s] = append(taken[s], times...)
				}
			}
		}
		l.logf("lists, round %d of %d", round, l.rounds)
	}
	header := []string{"list", "store"}
	for _, c := range stores[0] {
		header = append(header, grouped(c.perks)+" perks")
	}
	t := newTable("Lists (`lists`)", header...)
	for _, list := range listCases {
		for _, catalogs := range stores {
			cells := []string{list.name, catalogs[0].store}
			var p50s []time.Duration
			for _, c := range catalogs {
				p50s = append(p50s, percentile(taken[sample{list.name, c.store, c.perks}], 50))
				cells = append(cells, milliseconds(p50s[len(p50s)-1]))
			}
			t.add(float64(p50s[len(p50s)-1])/float64(p50s[0]), list.target, cells...)
		}
	}
	return t, nil
}
