package main

import (
	"context"
	"errors"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/postgres"
)

// measureQueries compares lists at the largest number of perks with the same at fewer, without HTTP: PostgreSQL's part.
func measureQueries(ctx context.Context, l *lab) (result *table, err error) {
	pg := shelf{store: "PostgreSQL"}
	for _, perks := range []int64{listSizes[0], listSizes[len(listSizes)-1], l.largest} {
		c, err := l.openPostgresWith(ctx, perks)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		pg.catalogs = append(pg.catalogs, c)
	}
	result, err = l.compareLists(ctx, "queries", []shelf{pg})
	if err != nil {
		return nil, err
	}
	result.title = "Lists without HTTP (`queries`)"
	result.note("The store alone, one query at a time, pages of %d perks; p50 of %d queries each, all sizes in turn.", api.DefaultPerPage, l.rounds*listRequests)
	return result, nil
}

func (l *lab) openPostgresWith(ctx context.Context, perks int64) (catalog, error) {
	cluster, err := l.postgresWith(ctx, perks)
	if err != nil {
		return catalog{}, err
	}
	db, err := postgres.Open(ctx, address(cluster), postgres.Options{})
	if err != nil {
		return catalog{}, errors.Join(err, cluster.Stop())
	}
	c := catalog{perks: perks, ask: asking(db), close: func() error { return errors.Join(db.Close(), cluster.Stop()) }}
	first, err := db.ListPerks(ctx, now(page(1)))
	if err != nil {
		return catalog{}, errors.Join(err, c.close())
	}
	c.lastPage = api.NewPageMeta(1, api.DefaultPerPage, first.Total).TotalPages
	return c, nil
}

// asking times each query.
func asking(db store.Store) func(context.Context, []store.PerkQuery) ([]time.Duration, error) {
	return func(ctx context.Context, queries []store.PerkQuery) ([]time.Duration, error) {
		var times []time.Duration
		for _, q := range queries {
			begun := time.Now()
			if _, err := db.ListPerks(ctx, now(q)); err != nil {
				return nil, err
			}
			times = append(times, time.Since(begun))
		}
		return times, nil
	}
}

func now(q store.PerkQuery) store.PerkQuery {
	q.At = time.Now().UTC()
	return q
}
