package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/api"
	"example.com/perks/store"
)

// propertySizes is how many properties there are. The last is compared with the first.
var propertySizes = []int64{10_000, 1_000_000}

// propertyFilters are those of properties: each alone, and some together. The words begin those of many, of some and of
// few listings.
var propertyFilters = []listFilter{
	{"none", ""}, {"own", "own=true"}, {"city", "city=Berlin"}, {"min_price", "min_price=300"},
	{"max_price", "max_price=300"}, {"few prices", "min_price=750"},
	{"min_bedrooms", "min_bedrooms=3"}, {"max_bedrooms", "max_bedrooms=1"},
	{"one number of bedrooms", "min_bedrooms=5&max_bedrooms=5"},
	{"common word", "q=sunny"}, {"city's name", "q=berlin"}, {"rare word", "q=10179"}, {"unknown word", "q=xyz"},
	{"own, city", "own=true&city=Berlin"}, {"city, max_price", "city=Berlin&max_price=400"},
	{"max_price, min_bedrooms", "max_price=400&min_bedrooms=2"},
	{"city, word", "city=Berlin&q=sunny"},
}

// measureProperties compares pages of properties, with every filter in every order, at a million with the same at ten
// thousand.
func measureProperties(ctx context.Context, l *harness) (*table, error) {
	t := newTable("Lists of properties (`properties`)", "filter", "store", "grows most", "10,000 properties",
		"1,000,000 properties")
	for _, kind := range []string{"PostgreSQL", "SQLite"} {
		var ask []askList
		for _, size := range propertySizes {
			lists, err := l.newPropertyLists(ctx, kind, size)
			if err != nil {
				return nil, fmt.Errorf("making %s properties over %s: %w", grouped(size), kind, err)
			}
			ask = append(ask, lists.ask)
		}
		if err := l.compareFilters(ctx, t, kind, propertyFilters, everyOrder(api.PropertySortFields()),
			ask); err != nil {
			return nil, err
		}
	}
	t.note("Over HTTP, one connection, pages of %d, in each order from the start and from the middle; p50 of %d "+
		"requests each, alternating. One client owns all properties. Up to %d matches are counted, and read at once; "+
		"more are not. PostgreSQL has vacuumed its tables.", api.DefaultPerPage, l.rounds*listRequests,
		store.MaxCounted)
	return t, nil
}

// propertyLists is a service with that many properties.
type propertyLists struct {
	*service
	size int64
}

func (l *harness) newPropertyLists(ctx context.Context, kind string, size int64) (*propertyLists, error) {
	database, err := l.newDatabase(ctx, kind, fmt.Sprintf("properties-%d", size))
	if err != nil {
		return nil, err
	}
	s, err := l.serve(ctx, database)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	owner := fmt.Sprintf("bench-%d", l.clients) // which serve has made
	if _, err := l.runPerksd(ctx, database, nil, "demo-data", "--perks", "0", "--users", "0",
		"--properties", fmt.Sprint(size), "--redemptions", "0", "--owner", owner); err != nil {
		return nil, err
	}
	l.logf("made %s properties over %s in %s", grouped(size), kind, time.Since(begun).Round(time.Second))
	if kind == "PostgreSQL" {
		err = vacuum(ctx, database)
	}
	return &propertyLists{s, size}, err
}

// vacuum does what autovacuum does some minutes after that many rows were added: then an index is read without its
// table.
func vacuum(ctx context.Context, database string) error {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.Exec(ctx, `VACUUM (ANALYZE)`)
	return err
}

// ask begins far inside at a listing in the middle of the order.
func (p *propertyLists) ask(ctx context.Context, filter, place string) ([]time.Duration, error) {
	sort, err := api.ParseSort(strings.TrimPrefix(strings.Split(place, "&")[0], "sort="), api.PropertySortFields())
	if err != nil {
		return nil, err
	}
	middle := p.size / 2
	value := map[string]any{"propertyId": middle, "price_pw": "03445.5", "bedrooms": int64(2)}[sort[0].Field]
	cursor := (&store.Cursor{Values: []any{value}, ID: fmt.Sprint(middle)}).Text(sort)
	return p.askPage(ctx, "/partners/properties?"+strings.ReplaceAll(place, "MIDDLE", cursor)+"&"+filter)
}
