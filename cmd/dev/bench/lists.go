package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// listSizes is how many perks there are. The last is compared with the first.
var listSizes = []int64{10_000, 100_000, 1_000_000}

// measureLists compares lists over HTTP at a million perks with the same at ten thousand, on both stores.
func measureLists(ctx context.Context, l *lab) (result *table, err error) {
	shelves := []shelf{{store: "PostgreSQL"}, {store: "SQLite"}}
	for _, perks := range listSizes {
		for i, open := range []func(context.Context, int64) (catalog, error){l.servePostgresWith, l.serveSQLiteWith} {
			c, err := open(ctx, perks)
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, c.close()) }()
			shelves[i].catalogs = append(shelves[i].catalogs, c)
		}
	}
	result, err = l.compareLists(ctx, "lists", shelves)
	if err != nil {
		return nil, err
	}
	result.title = "Lists (`lists`)"
	result.note("Over HTTP, one connection, pages of %d perks; p50 of %d requests each, all sizes in turn.", api.DefaultPerPage, l.rounds*listRequests)
	return result, nil
}

func (l *lab) servePostgresWith(ctx context.Context, perks int64) (catalog, error) {
	cluster, err := l.postgresWith(ctx, perks)
	if err != nil {
		return catalog{}, err
	}
	c, err := l.serveLists(ctx, address(cluster), perks)
	if err != nil {
		return catalog{}, errors.Join(err, cluster.Stop())
	}
	stopService := c.close
	c.close = func() error { return errors.Join(stopService(), cluster.Stop()) }
	return c, nil
}

func (l *lab) serveSQLiteWith(ctx context.Context, perks int64) (catalog, error) {
	file, err := l.sqliteWith(ctx, perks)
	if err != nil {
		return catalog{}, err
	}
	return l.serveLists(ctx, file, perks)
}

// serveLists starts perksd over a database, to be asked over one connection.
func (l *lab) serveLists(ctx context.Context, database string, perks int64) (catalog, error) {
	s, err := l.serve(ctx, database)
	if err != nil {
		return catalog{}, err
	}
	lastPage, err := s.lastPage(ctx)
	if err != nil {
		return catalog{}, errors.Join(err, s.stop())
	}
	return catalog{perks: perks, lastPage: lastPage, ask: s.askLists, close: s.stop}, nil
}

func (s *service) lastPage(ctx context.Context) (int64, error) {
	body, err := s.fetch(ctx, path(page(1)))
	if err != nil {
		return 0, err
	}
	var first api.Page[json.RawMessage]
	if err := json.Unmarshal(body, &first); err != nil {
		return 0, fmt.Errorf("reading the first page: %w", err)
	}
	return first.Meta.TotalPages, nil
}

func (s *service) askLists(ctx context.Context, queries []store.PerkQuery) ([]time.Duration, error) {
	requests := make([][]byte, len(queries))
	for i, q := range queries {
		requests[i] = s.get(path(q))
	}
	report, err := Run(ctx, Plan{
		Addresses: []string{s.address}, Connections: 1, Count: int64(len(queries)), Status: http.StatusOK,
		Request: func(buffer []byte, n int64) []byte { return append(buffer, requests[n]...) },
	})
	return report.Latencies, err
}
