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

// listRequests is how often a page is asked for in a round.
const listRequests = 20

// perkLists are lists of perks as the query of their address: those that people ask for most, and one of words that
// many perks have. What matches these words grows with the catalog, and no index has it in the order that is asked for.
// LAST is the number of the last page.
var perkLists = []struct {
	name, query string
	target      target
}{
	{"first page", "", noSlower}, {"city filter", "city=Berlin", noSlower},
	{"10 km around a point", "lat=52.52&lng=13.405&radius=10", noSlower}, {"last page", "page=LAST", noSlower},
	{"sorted by title", "sort=title", noSlower}, {"words", "q=spa+golden", target{}},
}

// listSizes is how many perks there are.
var listSizes = [2]int64{10_000, 1_000_000}

// measureLists compares lists over HTTP at a million perks with the same at ten thousand, on both stores.
func measureLists(ctx context.Context, l *harness) (*table, error) {
	t := newTable("Lists (`lists`)", "list", "store", "10,000 perks", "1,000,000 perks")
	for _, kind := range []string{"PostgreSQL", "SQLite"} {
		var services [len(listSizes)]*service
		for i, perks := range listSizes {
			database, err := l.databaseWith(ctx, kind, perks)
			if err != nil {
				return nil, err
			}
			if services[i], err = l.serve(ctx, database); err != nil {
				return nil, err
			}
		}
		for _, list := range perkLists {
			var times [len(listSizes)][]time.Duration
			for range l.rounds {
				for i, s := range services { // in turn, so that what else the machine does slows down both
					took, err := s.timeList(ctx, list.query)
					if err != nil {
						return nil, fmt.Errorf("%s over %s: %w", list.name, kind, err)
					}
					times[i] = append(times[i], took...)
				}
			}
			small, large := median(times[0]), median(times[1])
			ratio := float64(large) / float64(small)
			t.add(ratio, list.target, list.name, kind, milliseconds(small), milliseconds(large))
			l.logf("%s on %s grows %.2f times", list.name, kind, ratio)
		}
	}
	t.note("Over HTTP, one connection, pages of %d perks; p50 of %d requests each, alternating.", api.DefaultPerPage,
		l.rounds*listRequests)
	return t, nil
}

// timeList requests a list of perks several times over one connection.
func (s *service) timeList(ctx context.Context, query string) ([]time.Duration, error) {
	path := "/partners/perks?" + query
	if strings.Contains(query, "LAST") {
		body, err := s.fetch(ctx, "/partners/perks")
		if err != nil {
			return nil, err
		}
		var first api.Page[json.RawMessage]
		if err := json.Unmarshal(body, &first); err != nil {
			return nil, fmt.Errorf("reading the first page: %w", err)
		}
		path = strings.Replace(path, "LAST", fmt.Sprint(first.Meta.TotalPages), 1)
	}
	report, err := s.repeat(ctx, path, Plan{Connections: 1, Warmup: 2, Count: listRequests})
	return report.Latencies, err
}
