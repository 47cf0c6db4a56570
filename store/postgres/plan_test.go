package postgres

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

const perPage = 25

// thePage is the scan that reads the perks of a page by id.
const thePage = "Index Scan perks_pkey"

func everyOrderUsesItsIndex(t *testing.T, db *DB) {
	for _, sort := range singleSorts() {
		index := "Index Only Scan perks_" + sort[0].Field + "_asc"
		if sort[0].Field == "id" {
			index = "Index Only Scan perks_pkey"
		}
		for _, query := range []store.PerkQuery{{PerkFilter: api.PerkFilter{IncludeExpired: true}}, {},
			{AvailableTo: "ann"}, {AvailableTo: "bob"}} {
			query.Sort = sort
			want := []string{index, thePage}
			if sort[0].Field == "valid_to" && query.OnlyValid() ||
				sort[0].Desc && perkOrder.Columns[sort[0].Field].Nullable {
				want = []string{index, index, thePage} // perks with a value, and perks without
			}
			for plan := range pagePlans(t, db, query) {
				plan.requireScans(t, want...)
			}
		}
	}
}

func everyPairUsesAnIndex(t *testing.T, db *DB) {
	for _, first := range singleSorts() {
		for _, second := range singleSorts() {
			if first[0].Field == second[0].Field {
				continue
			}
			for plan := range pagePlans(t, db, store.PerkQuery{Sort: slices.Concat(first, second)}) {
				plan.requireWithout(t, "Seq Scan on perks")
				if plan.isAtAnEnd {
					plan.requireSteps(t, " Scan using perks_")
					if !strings.Contains(plan.text, "Append") { // of the page with a value and the page without
						plan.requireWithout(t, "->  Sort") // of more than a page
					}
				}
			}
		}
	}
}

func everyFilterIsLookedUp(t *testing.T, db *DB) {
	newest, byTitle, nearest := sortedBy(t, "-created_at"), sortedBy(t, "title"), sortedBy(t, "distance")
	for _, test := range []struct {
		name  string
		query store.PerkQuery
		steps []string
	}{
		{"a city", store.PerkQuery{PerkFilter: api.PerkFilter{City: "City 0"}, Sort: newest},
			[]string{"Index Only Scan using perks_of_city"}},
		{"a city, oldest first", store.PerkQuery{PerkFilter: api.PerkFilter{City: "City 0"},
			Sort: sortedBy(t, "created_at")}, []string{"perks_of_city"}},
		{"a city, by title", store.PerkQuery{PerkFilter: api.PerkFilter{City: "City 0"}, Sort: byTitle},
			[]string{"city_fold = 'city 0'"}},
		{"a category", store.PerkQuery{PerkFilter: api.PerkFilter{Category: "cat-1"}, Sort: newest},
			[]string{"Index Only Scan using perks_of_category"}},
		{"a category of a city", store.PerkQuery{PerkFilter: api.PerkFilter{City: "City 0", Category: "cat-1"},
			Sort: newest}, []string{"Index Only Scan using perks_of_city"}},
		{"a circle", store.PerkQuery{PerkFilter: api.PerkFilter{Near: aTown}, Sort: newest},
			[]string{"Index Only Scan using perks_of_cell"}},
		{"a circle, nearest first", store.PerkQuery{PerkFilter: api.PerkFilter{Near: aTown}, Sort: nearest},
			[]string{"Index Only Scan using perks_of_cell"}},
		{"a wide circle, nearest first", store.PerkQuery{PerkFilter: api.PerkFilter{Near: aState}, Sort: nearest},
			[]string{"Index Only Scan using perks_of_cell"}},
		{"a circle, by title", store.PerkQuery{PerkFilter: api.PerkFilter{Near: aTown}, Sort: byTitle},
			[]string{"Scan on perks_of_cell"}},
		{"a category in a circle", store.PerkQuery{PerkFilter: api.PerkFilter{Near: aTown, Category: "cat-1"},
			Sort: newest}, []string{"Index Only Scan using perks_of_cell"}},
		{"words", store.PerkQuery{PerkFilter: api.PerkFilter{Query: "a rare"}, Sort: newest},
			[]string{"Bitmap Index Scan on perks_with_words"}},
		{"words in a circle", store.PerkQuery{PerkFilter: api.PerkFilter{Query: "half", Near: aTown}, Sort: newest},
			[]string{"Bitmap Index Scan on perks_of_cell"}},
		{"rare words in a wide circle", store.PerkQuery{PerkFilter: api.PerkFilter{Query: "rare", Near: aState},
			Sort: nearest}, []string{"Bitmap Index Scan on perks_with_words"}},
	} {
		for plan := range pagePlans(t, db, test.query) {
			if plan.isSure {
				plan.what = test.name + ": " + plan.what
				plan.requireSteps(t, test.steps...)
			}
		}
	}
}

// combinedFiltersUseAnIndex checks that neither an index nor the table is read in full to find the matches.
func combinedFiltersUseAnIndex(t *testing.T, db *DB) {
	for number, filter := range manyFilters {
		inSearch(t, db, filter.query, func(v view, s *search, total int64) {
			count := plan{what: filter.name + ": the count",
				text: explain(t, v, store.CountText(s.matches(), 0), customPlan, s.Args)}
			count.requireConditions(t)
			if s.Query.AvailableTo != "" {
				taken := plan{what: filter.name + ": the count of what is taken",
					text: explain(t, v, s.countUnavailable(total), customPlan, s.Args)}
				taken.requireConditions(t)
			}
		})
		sorts := append(singleSorts(), sortedBy(t, "category,-title"), sortedBy(t, "-valid_to,merchant_name,city"))
		if filter.query.Near != nil {
			sorts = append(sorts, sortedBy(t, "distance"), sortedBy(t, "-distance,title"))
		}
		for i, keys := range sorts {
			if !storetest.OneIn(3, number+i) {
				continue
			}
			filter.query.Sort = keys
			for plan := range pagePlans(t, db, filter.query) {
				if plan.isSure {
					plan.what = filter.name + ": " + plan.what
					plan.requireConditions(t)
				}
			}
		}
	}
}

func redemptionsAreLookedUp(t *testing.T, db *DB) {
	noError(t, db.snapshot(t.Context(), "", func(v view) error {
		for _, user := range []string{"ann", "bob"} {
			for _, sort := range []string{
				"-redeemed_at", "redeemed_at", "status", "-perk_id", "status,-redeemed_at", "", "title",
				"-category,terms",
			} {
				var keys []api.SortKey
				if sort != "" {
					keys = sortedBy(t, sort)
				}
				query := store.RedemptionQuery{RedemptionFilter: api.RedemptionFilter{UserID: user}, Sort: keys,
					Window: store.Window{Page: 1, PerPage: perPage}}
				parts, args, err := dialect.RedemptionPage(query)
				if err != nil {
					return err
				}
				p := plan{what: fmt.Sprintf("redemptions of %s, sorted by %q", user, sort),
					text: explain(t, v, parts[0], customPlan, args)}
				p.requireSteps(t, "user_id = '"+user+"'")
				p.requireWithout(t, "Seq Scan")
				p.requireWithout(t, "Filter: (user_id")
				if query.Sort != nil && perkOrder.Columns[query.Sort[0].Field].Text != "" {
					p.requireSteps(t, "Index Cond: (id = r.perk_id)")
				}
			}
		}
		return nil
	}))
}

// redemptionsAreReadInOrder checks lists that can be long.
func redemptionsAreReadInOrder(t *testing.T, db *DB) {
	someDay := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	noError(t, db.snapshot(t.Context(), inOrder, func(v view) error {
		for _, filter := range []api.RedemptionFilter{
			{}, {Since: someDay}, {Until: someDay}, {PerkID: "p"}, {PerkID: "p", Since: someDay},
			{PerkID: "p", Status: api.StatusPending}, {PerkID: "p", Status: api.StatusApproved},
			{Status: api.StatusPending}, {Status: api.StatusRejected, Since: someDay}, {Status: api.StatusVoided},
			{Status: api.StatusApproved}, {Actor: "jo"}, {Actor: "jo", Status: api.StatusApproved, Since: someDay},
		} {
			for _, clientID := range []string{"", "shop"} {
				for _, sort := range []string{"-redeemed_at", "redeemed_at"} {
					query := store.RedemptionQuery{RedemptionFilter: filter, ClientID: clientID,
						Sort: sortedBy(t, sort), Window: store.Window{Page: 1, PerPage: perPage}}
					parts, args, err := dialect.RedemptionPage(query)
					if err != nil {
						return err
					}
					count, counted := dialect.RedemptionCount(query, store.MaxCounted)
					for what, text := range map[string]string{
						"page":  explain(t, v, parts[0], customPlan, args),
						"count": explain(t, v, count, customPlan, counted),
					} {
						p := plan{what: fmt.Sprintf("the %s of %+v of %q, sorted by %s", what, filter, clientID, sort),
							text: text}
						p.requireWithout(t, "Seq Scan on redemptions")
						p.requireWithout(t, "Bitmap")
						p.requireWithout(t, "redemptions_of_user_and_perk")
						// others end before the id, and the table is small
						if filter.Status != "" && filter.Status != api.StatusApproved {
							p.requireWithout(t, "->  Sort")
						}
					}
				}
			}
		}
		return nil
	}))
}

// singleSorts are the orders by one field that has indexes.
func singleSorts() (sorts [][]api.SortKey) {
	for _, field := range api.PerkSortFields() {
		if perkOrder.Columns[field].Indexed {
			sorts = append(sorts, []api.SortKey{{Field: field}}, []api.SortKey{{Field: field, Desc: true}})
		}
	}
	return sorts
}

func sortedBy(t *testing.T, text string) []api.SortKey {
	t.Helper()
	return must(api.ParseSort(text, slices.Concat(api.PerkSortFields(), api.RedemptionSortFields())))(t)
}

// plan is the execution plan of a statement.
type plan struct {
	what, text string
	isAtAnEnd  bool // of the list
	isSure     bool // the last plan for a page
}

// scan matches a step of EXPLAIN's output that reads perks, and the index it uses.
var scan = regexp.MustCompile(`(Seq Scan|Index Scan|Index Only Scan|Bitmap Heap Scan)(?: using (\S+))? on perks\b[^_]`)

func (p plan) requireScans(t *testing.T, want ...string) {
	t.Helper()
	var scans []string
	for _, match := range scan.FindAllStringSubmatch(p.text, -1) {
		scans = append(scans, strings.TrimSpace(match[1]+" "+match[2]))
	}
	slices.Sort(scans)
	if !slices.Equal(scans, want) {
		t.Errorf("%s: the plan reads perks by %q, want %q:\n%s", p.what, scans, want, p.text)
	}
}

// requireConditions checks that perks are read only by conditions on an index.
func (p plan) requireConditions(t *testing.T) {
	t.Helper()
	steps := strings.Split(p.text, "\n")
	for i, step := range steps {
		if scan.MatchString(step) && (i+1 == len(steps) || !strings.Contains(steps[i+1], " Cond: ")) {
			t.Errorf("%s: the plan searches for perks in %q:\n%s", p.what, strings.TrimSpace(step), p.text)
		}
	}
}

func (p plan) requireSteps(t *testing.T, steps ...string) {
	t.Helper()
	for _, step := range steps {
		if !strings.Contains(p.text, step) {
			t.Errorf("%s: the plan lacks %q:\n%s", p.what, step, p.text)
		}
	}
}

func (p plan) requireWithout(t *testing.T, step string) {
	t.Helper()
	if strings.Contains(p.text, step) {
		t.Errorf("%s: the plan has %q:\n%s", p.what, step, p.text)
	}
}

// pagePlans returns every plan for the first page, the pages beside the middle and the last.
func pagePlans(t *testing.T, db *DB, query store.PerkQuery) iter.Seq[plan] {
	return func(yield func(plan) bool) {
		inSearch(t, db, query, func(v view, s *search, total int64) {
			pages := (total + perPage - 1) / perPage
			for _, page := range slices.Compact([]int64{1, (pages + 1) / 2, pages/2 + 1, pages}) {
				s.Query.Window.Page = page
				reach := s.Query.Window.Fetch(total)
				order := must(s.pageOrder(s.Query.Sort, reach.FromEnd))(t)
				var plans []plan
				for candidates := range s.plans(order.fetch, reach, total) {
					plans = append(plans, plan{
						what: fmt.Sprintf("page %d of %d perks, sorted by %q, plan %d", page, total,
							api.FormatSort(query.Sort), len(plans)+1),
						text:      explain(t, v, pageOf(candidates, order), s.values(reach)...),
						isAtAnEnd: page == 1 || page == pages,
					})
				}
				plans[len(plans)-1].isSure = true
				for _, plan := range plans {
					yield(plan)
				}
			}
		})
	}
}

// inSearch runs work in the transaction of a list.
func inSearch(t *testing.T, db *DB, query store.PerkQuery, work func(view, *search, int64)) {
	t.Helper()
	query.At, query.Window = asOf, store.Window{Page: 1, PerPage: perPage}
	noError(t, db.snapshot(t.Context(), "", func(v view) error {
		s, err := newSearch(v, query)
		if err != nil {
			return err
		}
		total := must(s.CountMatches(0))(t).Matching
		if query.AvailableTo != "" {
			total -= must(s.CountUnavailable(total))(t)
		}
		if total == 0 {
			t.Errorf("nothing matches %+v, so this test shows nothing", query)
		}
		work(v, s, total)
		return nil
	}))
}

func explain(t *testing.T, v view, text string, args ...any) string {
	t.Helper()
	steps, err := store.All(v, store.ScanValue[string], `EXPLAIN `+text, args...)
	if err != nil {
		t.Fatalf("explain %s: %v", text, err)
	}
	// an index can be read in either direction
	return strings.ReplaceAll(strings.Join(steps, "\n"), "Scan Backward", "Scan")
}
