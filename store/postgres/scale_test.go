package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestLists tests lists of many perks over one shared database, because filling it takes a while.
func TestLists(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fillWithMany(t, db)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *DB)
	}{
		{"every order of all perks reads only its index", everyOrderUsesItsIndex},
		{"every order by two fields uses an index of the first", everyPairUsesAnIndex},
		{"every filter is looked up in its index", everyFilterIsLookedUp},
		{"combined filters use the index of at least one of them", combinedFiltersUseAnIndex},
		{"redemptions are looked up by their user", redemptionsAreLookedUp},
		{"long lists of redemptions are read in their order", redemptionsAreReadInOrder},
		{"reports read only their time", reportsReadTheirTime},
		{"every plan for a page finds the same page", everyPlanFindsTheSamePage},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, db) })
	}
}

// asOf is the time of the queries: a fifth of the perks have expired by then, and some are not valid yet.
var asOf = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// manyPerks are spread by remainders of primes, so that every value comes with every other. One in sixteen is in city
// 0, the centre of which is at 40° north, 0° east, and half as many are in city 1; one in six is in category 1. The
// word "all" is in all of them, "half" in a little more than half, and in the titles of some of them, and "rare" in
// every thousandth. Each fiftieth is sold out, and ann has redeemed another fiftieth.
const manyPerks = `
	INSERT INTO perks (id, title, title_fold, merchant_name, merchant_name_fold, category, category_fold, city,
		city_fold,
		created_at, updated_at, valid_from, valid_to, lat, lng, cell, approval, description, words)
	SELECT 'perk-' || lpad(i::text, 6, '0'), half || 'Title ' || title, lower(half) || 'title ' || title,
		'Shop ' || shop, 'shop ' || shop,
		'Category ' || category, 'category ' || category, 'City ' || city, 'city ' || city,
		$1::timestamptz - i * interval '1 minute', $1::timestamptz - i % 997 * interval '1 hour',
		CASE WHEN i % 3 > 0 THEN $1::timestamptz + (i % 991 - 900) * interval '1 hour' END,
		CASE WHEN i % 10 > 2 THEN $1::timestamptz + (i % 1009 - 288) * interval '1 hour' END,
		lat, lng, floor((lat + 90) * 10)::int * 3600 + floor((lng + 180) * 10)::int, 'auto', 'Something for everyone',
		array_to_tsvector(ARRAY['all', 't' || title, 'c' || city]
			|| CASE WHEN i % 7 < 4 THEN ARRAY['half'] END || CASE WHEN i % 1000 = 3 THEN ARRAY['rare'] END)
	FROM generate_series(1, 100000) AS i
		CROSS JOIN LATERAL (SELECT i * 7 % 4999 AS title, nullif(i * 11 % 1999, 0) AS shop, nullif(i % 6,
			0) AS category,
			CASE WHEN i % 4 = 1 THEN 'Half ' ELSE '' END AS half,
			floor(300 * power(i * 13 % 10007 / 10007.0, 2))::int AS city) AS a
		CROSS JOIN LATERAL (SELECT CASE WHEN i % 10 > 0 THEN 40 + city * 0.1 + (i % 101 - 50) / 250.0 END AS lat,
			CASE WHEN i % 10 > 0 THEN city * 0.3 + (i % 103 - 50) / 250.0 END AS lng) AS b`

// fillWithMany makes the indexes after the rows, which is many times faster.
func fillWithMany(t *testing.T, db *DB) {
	t.Helper()
	noError(t, db.write(t.Context(), "fill the database", func(s *session) error {
		type index struct{ Name, Definition string }
		indexes, err := store.All(s, func(r row) (i index, err error) { return i, r.Scan(&i.Name, &i.Definition) }, `
			SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'perks' AND indexname <> 'perks_pkey'`)
		if err != nil {
			return err
		}
		for _, index := range indexes {
			if err := s.exec(`DROP INDEX ` + index.Name); err != nil {
				return err
			}
		}
		if err := s.exec(manyPerks, asOf); err != nil {
			return err
		}
		for _, index := range indexes {
			if err := s.exec(index.Definition); err != nil {
				return err
			}
		}
		for _, text := range []string{
			`INSERT INTO categories SELECT 'cat-' || i, 'Category ' || i, 'category ' || i FROM generate_series(1,
				5) AS i`,
			`INSERT INTO perk_stock (perk_id, stock, held)
				SELECT id, CASE WHEN n % 50 = 7 THEN 1 END, (n % 50 = 7)::int FROM (SELECT id, right(id, 6)::int AS n
					FROM perks) AS p`,
			`INSERT INTO users SELECT 'user-' || i FROM generate_series(0, 99) AS i UNION ALL VALUES ('ann'), ('bob')`,
			`INSERT INTO redemptions SELECT 'ann-' || id, id, 'ann', 'client', created_at, 'approved', 'approved', '{}'
				FROM perks WHERE right(id, 6)::int % 50 = 9`,
			`INSERT INTO redemptions SELECT 'bob-' || id, id, 'bob', 'client', created_at, 'approved', 'approved', '{}'
				FROM perks WHERE right(id, 6)::int % 5000 = 9`,
			`INSERT INTO redemptions SELECT 'user-' || id, id, 'user-' || (right(id, 6)::int / 2 % 100), 'client',
				created_at, 'approved', 'approved', '{}'
				FROM perks WHERE right(id, 6)::int % 2 = 0`,
			`UPDATE catalog SET version = version + 1`,
		} {
			if err := s.exec(text); err != nil {
				return err
			}
		}
		return nil
	}))
	must(db.writes.Exec(t.Context(), `VACUUM (ANALYZE) perks, perk_stock, categories, users, redemptions`,
		pgx.QueryExecModeExec))(t)
}

var (
	aTown  = &api.Circle{Lat: 40, Lng: 0, RadiusKM: 10}
	aState = &api.Circle{Lat: 41, Lng: 2, RadiusKM: 500}
)

// manyFilters are the filters alone and together, as wide and as narrow as they come.
var manyFilters = []struct {
	name  string
	query store.PerkQuery
}{
	{"a big city", by(api.PerkFilter{City: "City 0"})},
	{"a small city", by(api.PerkFilter{City: "City 290"})},
	{"a category", by(api.PerkFilter{Category: "cat-1"})},
	{"a category of a city", by(api.PerkFilter{City: "City 0", Category: "cat-1"})},
	{"ten kilometres", by(api.PerkFilter{Near: aTown})},
	{"500 kilometres", by(api.PerkFilter{Near: aState})},
	{"a category within 500 kilometres", by(api.PerkFilter{Near: aState, Category: "cat-1"})},
	{"a word of all perks", by(api.PerkFilter{Query: "a"})},
	{"a word of half of them", by(api.PerkFilter{Query: "half", IncludeExpired: true})},
	{"a rare word", by(api.PerkFilter{Query: "rare"})},
	{"a rare word and one of all", by(api.PerkFilter{Query: "a rare"})},
	{"a word of half in a city", by(api.PerkFilter{Query: "half", City: "City 0"})},
	{"a word of all within ten kilometres", by(api.PerkFilter{Query: "a", Near: aTown})},
	{"a rare word within 500 kilometres", by(api.PerkFilter{Query: "rare", Near: aState})},
	{"a word, a category and a circle", by(api.PerkFilter{Query: "half", Category: "cat-1", Near: aState})},
	{"a city and a circle", by(api.PerkFilter{City: "City 0", Near: aState})},
	{"what ann can have in a city", store.PerkQuery{AvailableTo: "ann", PerkFilter: api.PerkFilter{City: "City 0"}}},
	{"what ann can have within ten kilometres",
		store.PerkQuery{AvailableTo: "ann", PerkFilter: api.PerkFilter{Near: aTown}}},
	{"what ann can have with a word of all",
		store.PerkQuery{AvailableTo: "ann", PerkFilter: api.PerkFilter{Query: "a"}}},
}
