package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

var (
	asOf = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	aTown = &api.Circle{Lat: 53.8, Lng: -1.5, RadiusKM: 10}
	aGulf = &api.Circle{Lat: -17, Lng: 179.99, RadiusKM: 60} // on both sides of the antimeridian

	newestFirst = []api.SortKey{{Field: "created_at", Desc: true}}
	oldestFirst = []api.SortKey{{Field: "created_at"}}
)

const perPage = 7

var circles = []struct {
	name  string
	query store.PerkQuery
}{
	{"a town", by(api.PerkFilter{Near: aTown})},
	{"a town, with expired perks", by(api.PerkFilter{Near: aTown, IncludeExpired: true})},
	{"a gulf", by(api.PerkFilter{Near: aGulf})},
	{"a category in a town", by(api.PerkFilter{Near: aTown, Category: "food"})},
	{"a word in a town", by(api.PerkFilter{Near: aTown, Query: "half"})},
	{"a city and a town", by(api.PerkFilter{Near: aTown, City: "Leeds"})},
	{"what ann can have in a town", store.PerkQuery{PerkFilter: api.PerkFilter{Near: aTown}, AvailableTo: "ann"}},
}

func TestEveryPlanFindsTheSamePage(t *testing.T) {
	db := openTemporary(t)
	fillCircles(t, db)
	for _, circle := range circles {
		for _, circle.query.Sort = range [][]api.SortKey{newestFirst, oldestFirst} {
			list := wholeList(t, db, circle.query)
			total := int64(len(list))
			if total < 20*perPage {
				t.Errorf("%s has %d perks, so this test shows nothing", circle.name, total)
			}
			pages := (total + perPage - 1) / perPage
			for _, page := range []int64{1, 2, 9, pages / 2, pages/2 + 1, pages/2 + 2, pages - 1, pages} {
				circle.query.Window = store.Window{Page: page, PerPage: perPage}
				reach := circle.query.Window.Fetch(total)
				offset := circle.query.Window.Offset()
				want := list[offset : offset+reach.Take]
				for name, rows := range pageByEachPlan(t, db, circle.query, reach) {
					if !slices.Equal(rows, want) {
						t.Errorf("%s, sorted by %q, page %d of %d, %s: it is\n%v\nwant\n%v",
							circle.name, api.FormatSort(circle.query.Sort), page, pages, name, rows, want)
					}
				}
			}
		}
	}
}

func TestACursorFindsThePageThatItsNumberDoes(t *testing.T) {
	db := openTemporary(t)
	fillCircles(t, db)
	for number, filter := range []store.PerkQuery{
		{}, {PerkFilter: api.PerkFilter{IncludeExpired: true}}, {PerkFilter: api.PerkFilter{City: "Leeds"}},
		{PerkFilter: api.PerkFilter{Category: "food"}},
		{PerkFilter: api.PerkFilter{Query: "half"}}, {PerkFilter: api.PerkFilter{Near: aCounty}}, {AvailableTo: "ann"},
	} {
		for i, field := range api.PerkSortFields() {
			if !storetest.OneIn(3, number+i) {
				continue
			}
			orders := [][]api.SortKey{{{Field: field, Desc: (i+number)%2 == 0}}}
			if i%4 == 0 {
				orders = append(orders, []api.SortKey{{Field: field, Desc: true}, {Field: "title"}})
			}
			for _, keys := range orders {
				query := filter
				if query.Sort = keys; !query.CanSortBy(field) {
					continue
				}
				rows := wholeList(t, db, query)
				if len(rows) < 10*perPage {
					t.Fatalf("%+v has %d perks, so this test shows nothing", query, len(rows))
				}
				query.Window = store.Window{Page: 2, PerPage: perPage}
				inSearch(t, db, query, store.Fetch{}, func(_ view, s *search, _ string) {
					var ids []string
					for _, perk := range must(s.ReadByIDs(rows, 0, int64(len(rows))))(t) {
						ids = append(ids, perk.ID)
					}
					for _, offset := range []int{perPage, len(ids) / 3 / perPage * perPage,
						(len(ids)/perPage - 2) * perPage} {
						before := must(db.Perk(t.Context(), ids[offset-1]))(t)
						storetest.PageAfter(t, s, ids, offset, before)
						if query.AvailableTo == "" { // what a user can have is not kept
							storetest.KeptPages(t, s, ids, offset, before)
						}
					}
				})
			}
		}
	}
}

func TestACircleByTimeReadsFewPerksOfEachCell(t *testing.T) {
	db := openTemporary(t)
	fillCircles(t, db)
	for _, circle := range circles {
		for _, circle.query.Sort = range [][]api.SortKey{newestFirst, oldestFirst} {
			for _, fromEnd := range []bool{false, true} {
				what := fmt.Sprintf("%s, sorted by %q, from the end: %t", circle.name,
					api.FormatSort(circle.query.Sort), fromEnd)
				reach := store.Fetch{FromEnd: fromEnd, Take: perPage}
				inSearch(t, db, circle.query, reach, func(v view, s *search, order string) {
					candidates := s.candidates(order, reach, 1_000_000)
					plan := must(explain(v, pageOf(candidates, order), s.values(reach)))(t)
					requireCellPlan(t, what, plan, circle.query)
					n, err := store.One(v, store.ScanValue[int64], `SELECT count(*) FROM `+candidates, s.values(reach))
					if most := store.Circle(*s.Query.Near).Cells() * perPage; err != nil || n < perPage || n > most {
						t.Errorf("%s: a page of %d reads %d perks (%v), want at most %d", what, perPage, n, err, most)
					}
				})
			}
		}
	}
}

// requireCellPlan checks that perks are read from their cells in order and looked up by them, and that only the perks
// taken from each cell are sorted.
func requireCellPlan(t *testing.T, what, plan string, query store.PerkQuery) {
	t.Helper()
	found, read := "SEARCH p USING COVERING INDEX perks_in_cell (cell=? AND created_at=? AND id=?)\nCORRELATED LIST "+
		"SUBQUERY", "SEARCH p USING COVERING INDEX perks_in_cell (cell=?)\n"
	if query.City != "" {
		read = "SEARCH p USING INDEX perks_in_cell (cell=?)\n" // and the city from the table
	}
	if !strings.Contains(plan, found) || !strings.Contains(plan, read) || strings.Contains(plan, "SCAN p ") ||
		strings.Count(plan, "TEMP B-TREE FOR ORDER BY") != 1 {
		t.Errorf("%s: the plan is\n%s\nwant %q, then %q, and one TEMP B-TREE FOR ORDER BY", what, plan, found, read)
	}
}

func TestCellsAreNotUsedWhenTheyHoldTooMany(t *testing.T) {
	db := openTemporary(t)
	for _, test := range []struct {
		name  string
		near  api.Circle
		sort  []api.SortKey
		skip  int64
		total int64
		want  bool
	}{
		{"a first page of many", *aTown, newestFirst, 0, 10_000, true},
		{"the oldest of many", *aTown, oldestFirst, 0, 10_000, true},
		{"a first page of few", *aTown, newestFirst, 0, 100, false},
		{"a page far inside", *aTown, newestFirst, 4000, 10_000, false},
		{"a circle of many cells", api.Circle{Lat: 53.8, Lng: -1.5, RadiusKM: 300}, newestFirst, 0, 10_000, false},
		{"another order", *aTown, []api.SortKey{{Field: "title"}}, 0, 10_000, false},
		{"another order among equals", *aTown, append(slices.Clone(newestFirst), api.SortKey{Field: "title"}), 0,
			10_000, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			reach := store.Fetch{Skip: test.skip, Take: perPage}
			inSearch(t, db, store.PerkQuery{PerkFilter: api.PerkFilter{Near: &test.near}, Sort: test.sort}, reach,
				func(_ view, s *search, order string) {
					got := s.candidates(order, reach, test.total)
					storetest.Equal(t, "perks are taken from each cell", got != s.allMatches(), test.want)
				})
		})
	}
}

// pageByEachPlan returns the rows of a page as each plan finds them, in the order of the page.
func pageByEachPlan(t *testing.T, db *DB, query store.PerkQuery, reach store.Fetch) map[string][]int64 {
	t.Helper()
	pages := map[string][]int64{}
	inSearch(t, db, query, reach, func(v view, s *search, order string) {
		for name, candidates := range map[string]string{"gathered": s.allMatches(),
			"from each cell": s.fromEachCell(order)} {
			rows := must(store.All(v, store.ScanValue[int64], pageOf(candidates, order), s.values(reach)))(t)
			if reach.FromEnd {
				slices.Reverse(rows)
			}
			pages[name] = rows
		}
	})
	return pages
}

// wholeList returns the rows of all matches in order, without an index.
func wholeList(t *testing.T, db *DB, query store.PerkQuery) (rows []int64) {
	t.Helper()
	inSearch(t, db, query, store.Fetch{}, func(v view, s *search, order string) {
		available := `true`
		if query.AvailableTo != "" {
			available = `p.row NOT IN ` + unavailable
		}
		var err error
		rows, err = store.All(v, store.ScanValue[int64], `SELECT p.row FROM perks AS p NOT INDEXED
			WHERE `+s.whereAnywhere()+` AND `+available+` ORDER BY `+order, s.Args)
		noError(t, err)
	})
	return rows
}

// inSearch runs work in the transaction of a list, with the order in which the page is reached.
func inSearch(t *testing.T, db *DB, query store.PerkQuery, reach store.Fetch, work func(view, *search, string)) {
	t.Helper()
	query.At = asOf
	noError(t, db.snapshot(t.Context(), func(q store.Querier) error {
		s, err := newSearch(q.(view), query)
		if err != nil {
			return err
		}
		order, err := s.Order.By(query.Sort, reach.FromEnd)
		if err != nil {
			return err
		}
		work(s.view, s, order)
		return nil
	}))
}

// fillCircles adds perks in the circles and around them, spread by remainders of primes, so that every value comes with
// every other. Several share each creation time, and their ids do not follow their rows.
func fillCircles(t *testing.T, db *DB) {
	t.Helper()
	const perks = 4001
	must(db.ImportCategories(t.Context(), storetest.Rows(api.Category{ID: "food", Name: "Food"}), store.Operator,
		asOf))(t)
	noError(t, db.write(t.Context(), "add a user", addUser("ann")))
	var records []store.PerkRecord
	for i := range perks {
		lat, lng := aTown.Lat+float64(i%101-50)/400, aTown.Lng+float64(i%103-50)/250
		if i%4 == 0 {
			lat, lng = aGulf.Lat+float64(i%101-50)/100, aGulf.Lng+float64(i%103-50)/100
		}
		if lng > 180 {
			lng -= 360
		}
		perk := store.PerkRecord{Lat: &lat, Lng: &lng, Perk: api.Perk{
			ID: fmt.Sprintf("perk-%04d", i*2003%perks), Title: "Something", Description: "For everyone.", City: "Leeds",
			CreatedAt: asOf.Add(-time.Duration(i%599) * time.Minute),
		}}
		if i%3 == 0 {
			perk.City = "York"
		}
		if i%5 < 3 {
			perk.Title, perk.Category = "Half of all", new("Food")
		}
		if i%7 < 2 {
			perk.ValidFrom = new(asOf.Add(time.Duration(i%13-11) * time.Hour))
		}
		if i%11 < 6 {
			perk.ValidTo = new(asOf.Add(time.Duration(i%17-3) * time.Hour))
		}
		if i%19 == 0 {
			perk.Stock = new(int64(0))
		}
		records = append(records, perk)
	}
	must(db.ImportPerks(t.Context(), storetest.Rows(records...), nil, store.Operator, asOf))(t)
}
