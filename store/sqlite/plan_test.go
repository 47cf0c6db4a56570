package sqlite

import (
	"iter"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// SQLite has no statistics to plan by here, so a plan is the same for any number of perks.

func TestEveryOrderOfAllPerksUsesItsIndex(t *testing.T) {
	db := openTemporary(t)
	for field := range indexedFields() {
		for _, key := range []api.SortKey{{Field: field}, {Field: field, Desc: true}} {
			for _, expired := range []bool{false, true} {
				query := store.PerkQuery{PerkFilter: api.PerkFilter{IncludeExpired: expired}, Sort: []api.SortKey{key}}
				index := "COVERING INDEX perks_" + field
				if field == "id" {
					index = "INDEX sqlite_autoindex_perks_1" // SQLite's own
				}
				requirePlan(t, db, query, index, "TEMP B-TREE")
			}
		}
	}
}

func indexedFields() iter.Seq[string] {
	return func(yield func(string) bool) {
		for field, column := range perkOrder.Columns {
			if column.Indexed && !yield(field) {
				return
			}
		}
	}
}

func TestEveryOrderByTwoFieldsSortsOnlyAmongEqualsOfTheFirst(t *testing.T) {
	db := openTemporary(t)
	for first := range indexedFields() {
		for second := range indexedFields() {
			if first != second {
				query := store.PerkQuery{Sort: []api.SortKey{{Field: first, Desc: true}, {Field: second}}}
				requirePlan(t, db, query, " INDEX "+sortIndex(query.Sort[0].Field), "TEMP B-TREE FOR ORDER BY")
			}
		}
	}
}

func TestFiltersAreLookedUpInTheirIndexes(t *testing.T) {
	db := openTemporary(t)
	noError(t, db.write(t.Context(), "add a user", addUser("ann")))
	const inCell = "SEARCH p USING COVERING INDEX perks_in_cell (cell>? AND cell<?)"
	usual, byTitle := []api.SortKey{{Field: "created_at", Desc: true}}, []api.SortKey{{Field: "title"}}
	byDistance := []api.SortKey{{Field: api.SortDistance}}
	near := &api.Circle{Lat: 53.8, Lng: -1.5, RadiusKM: 10}
	for _, test := range []struct {
		name    string
		query   store.PerkQuery
		want    string
		without string
	}{
		{"a city", store.PerkQuery{PerkFilter: api.PerkFilter{City: "Leeds"}, Sort: usual},
			"COVERING INDEX perks_in_city (city_fold=?)", "TEMP B-TREE"},
		{"a city, by title", store.PerkQuery{PerkFilter: api.PerkFilter{City: "Leeds"}, Sort: byTitle}, "(city_fold=?)",
			"SCAN p "},
		{"a position", store.PerkQuery{PerkFilter: api.PerkFilter{Near: near}, Sort: usual}, inCell, "SCAN p "},
		{"a position, by distance", store.PerkQuery{PerkFilter: api.PerkFilter{Near: near}, Sort: byDistance}, inCell,
			"SCAN p "},
		{"words", store.PerkQuery{PerkFilter: api.PerkFilter{Query: "coffee"}, Sort: usual},
			"SCAN perk_words VIRTUAL TABLE", "SCAN p "},
		{"a position, what a user can have", store.PerkQuery{PerkFilter: api.PerkFilter{Near: near}, AvailableTo: "ann",
			Sort: usual}, inCell, "SCAN p "},
		{"a position and words", store.PerkQuery{PerkFilter: api.PerkFilter{Near: near, Query: "coffee"}, Sort: usual},
			inCell, "SCAN p "},
		{"what a user can have", store.PerkQuery{AvailableTo: "ann", Sort: usual}, "INDEX perks_created_at_asc",
			"TEMP B-TREE FOR ORDER BY"},
	} {
		t.Run(test.name, func(t *testing.T) { requirePlan(t, db, test.query, test.want, test.without) })
	}
}

// requirePlan checks the plans for a page of all matches, from the beginning and from the end.
func requirePlan(t *testing.T, db *DB, query store.PerkQuery, want, without string) {
	t.Helper()
	noError(t, db.snapshot(t.Context(), func(q store.Querier) error {
		s, err := newSearch(q.(view), query)
		if err != nil {
			return err
		}
		for _, fromEnd := range []bool{false, true} {
			order, err := s.Order.By(query.Sort, fromEnd)
			if err != nil {
				return err
			}
			plan, err := explain(s.view, pageOf(s.allMatches(), order), s.values(store.Fetch{Take: 25}))
			if err != nil {
				return err
			}
			if !strings.Contains(plan, want) || strings.Contains(plan, without) {
				t.Errorf("sort %q, from the end: %t: the plan is\n%s\nwant %q, and not %q",
					api.FormatSort(query.Sort), fromEnd, plan, want, without)
			}
		}
		return nil
	}))
}

func explain(v view, text string, args ...any) (string, error) {
	steps, err := store.All(v, func(r row) (step string, err error) {
		var id, parent, unused int
		return step, r.Scan(&id, &parent, &unused, &step)
	}, `EXPLAIN QUERY PLAN `+text, args...)
	return strings.Join(steps, "\n"), err
}
