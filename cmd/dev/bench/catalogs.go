package main

import (
	"context"
	"fmt"
	"time"

	"example.com/perks/store"
)

const listRequests = 20 // of each list in a round

// catalog is one database of perks that can be asked for lists.
type catalog struct {
	perks    int64
	lastPage int64
	ask      func(ctx context.Context, queries []store.PerkQuery) ([]time.Duration, error) // one after the other
	close    func() error
}

// shelf is the catalogs of one store, from small to large.
type shelf struct {
	store    string
	catalogs []catalog
}

// sample is one list in one catalog.
type sample struct {
	list, store string
	perks       int64
}

// compareLists asks every catalog for every list, round after round, and compares the largest with the smallest.
func (l *lab) compareLists(ctx context.Context, work string, shelves []shelf) (*table, error) {
	taken := map[sample][]time.Duration{}
	for round := range l.rounds + 1 {
		for _, list := range listCases {
			for _, shelf := range shelves {
				for _, c := range shelf.catalogs {
					times, err := c.ask(ctx, list.queries(listRequests, c.lastPage))
					if err != nil {
						return nil, fmt.Errorf("%s of %s perks on %s: %w", list.name, grouped(c.perks), shelf.store, err)
					}
					if round > 0 { // the first round warms up
						s := sample{list.name, shelf.store, c.perks}
						taken[s] = append(taken[s], times...)
					}
				}
			}
		}
		l.say("%s, round %d of %d", work, round, l.rounds)
	}
	return listTable(shelves, taken), nil
}

func (c listCase) queries(n int, lastPage int64) []store.PerkQuery {
	queries := make([]store.PerkQuery, n)
	for i := range queries {
		queries[i] = c.query(i, lastPage)
	}
	return queries
}

// listTable has the p50 of each list at each size, and how the last relates to the first.
func listTable(shelves []shelf, taken map[sample][]time.Duration) *table {
	header := []string{"list", "store"}
	for _, c := range shelves[0].catalogs {
		header = append(header, grouped(c.perks)+" perks")
	}
	t := newTable("", header...)
	for _, list := range listCases {
		for _, shelf := range shelves {
			cells := []string{list.name, shelf.store}
			var p50s []time.Duration
			for _, c := range shelf.catalogs {
				p50 := percentile(taken[sample{list.name, shelf.store, c.perks}], 50)
				p50s = append(p50s, p50)
				cells = append(cells, milliseconds(p50))
			}
			t.add(float64(p50s[len(p50s)-1])/float64(p50s[0]), list.target, cells...)
		}
	}
	return t
}
