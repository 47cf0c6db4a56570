package postgres

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
)

// search is a store.Search with what PostgreSQL does in its own way.
type search struct {
	store.Search
	version     int64        // of the catalog
	unavailable int64        // how many perks are sold out or the user's, whether they match or not
	circle      store.Circle // which candidates come from, with Near
	args        pgx.NamedArgs
}

const (
	inCategories = `p.category_fold = ANY (@categories::text[])`
	withWords    = `p.words @@ @words::tsquery`
)

// listSettings holds until the transaction of a list ends. Lists have an index for everything, and reading a whole table only
// looks cheaper in the middle of one. Bitmaps of pages must fit into memory, or every row on those pages is compared anew:
// that takes one that matches half of a million perks from 0.4 to 0.9 seconds. Compiling takes longer than it saves.
const listSettings = `concat(
	set_config('enable_seqscan', 'off', true), set_config('work_mem', '64MB', true), set_config('jit', 'off', true))`

// newSearch looks up what the query names. An unknown user is UserNotFound. The category goes by its name or its id; the text can be the
// name of one and the id of another.
func newSearch(v view, query store.PerkQuery) (*search, error) {
	if store.IsUnstorable(query.AvailableTo) {
		return nil, store.UserNotFound(query.AvailableTo)
	}
	s := &search{}
	var categories []string
	userKnown, err := store.One(v, func(r row) (known bool, err error) {
		return known, r.Scan(&s.version, &known, &s.unavailable, &categories, new(string))
	}, `SELECT c.version,
			EXISTS (SELECT FROM users WHERE id = $1),
			CASE WHEN $1 <> '' THEN (SELECT count(*) FROM perk_stock WHERE sold_out)
				+ (SELECT count(*) FROM redemptions WHERE user_id = $1 AND status <> 'rejected') ELSE 0 END,
			ARRAY (SELECT name_fold FROM categories WHERE name_fold = $2 UNION SELECT name_fold FROM categories WHERE lower(id) = $2 ORDER BY name_fold),
			`+listSettings+`
		FROM catalog AS c`, query.AvailableTo, store.Fold(query.Category))
	if err == nil && query.AvailableTo != "" && !userKnown && !query.AnyUser {
		err = store.UserNotFound(query.AvailableTo)
	}
	if err != nil {
		return nil, err
	}
	s.Search = store.NewSearch(query, categories, inCategories)
	s.args = s.Args
	if query.Near != nil {
		s.setCircle(store.Circle(*query.Near))
	}
	if s.HasWords() { // letters, digits and marks alone: nothing to escape
		s.Require(withWords)
		s.args["words"] = `'` + strings.Join(s.Words, `':* & '`) + `':*`
	}
	return s, nil
}

// setCircle takes candidates from that circle, which is Near or lies within it.
func (s *search) setCircle(around store.Circle) {
	var first, last []int
	for _, run := range around.Cover() {
		first, last = append(first, run.First), append(last, run.Last)
	}
	s.circle = around
	s.args["first"], s.args["last"], s.args["haversine"] = first, last, around.Haversine()
}

// inRuns reads the cells of a circle run by run, each on a stretch of the index that holds all that a circle is asked for.
// OFFSET 0 keeps PostgreSQL from joining the other way round, when it would compare every perk with every run.
const inRuns = `unnest(@first::integer[], @last::integer[]) AS run (first, last)
	CROSS JOIN LATERAL (SELECT * FROM perks AS p WHERE p.cell BETWEEN run.first AND run.last OFFSET 0) AS p`

// isCircle holds when the circle alone leads to the candidates. Together with words or a city the cells are a condition
// like others, so that PostgreSQL can intersect what their indexes give: either may be much the smaller.
func (s *search) isCircle() bool {
	return s.Query.Near != nil && !s.HasWords() && s.Query.City == ""
}

// from is the tables that candidates are read from.
func (s *search) from() string {
	if s.isCircle() {
		return inRuns
	}
	return `perks AS p`
}

// where is the conditions on candidates that come from from.
func (s *search) where() string {
	if s.Query.Near != nil && !s.isCircle() {
		return s.Where(inCells(s.circle.Cover()))
	}
	return s.Where()
}

// inCells writes the numbers of the cells themselves: how many perks are in them decides the plan.
func inCells(runs []store.CellRange) string {
	conditions := make([]string, len(runs))
	for i, run := range runs {
		conditions[i] = fmt.Sprintf(`p.cell BETWEEN %d AND %d`, run.First, run.Last)
	}
	return `(` + strings.Join(conditions, ` OR `) + `)`
}

// customPlan, before the arguments of a statement, has it planned for them, in whichever mode others run. A plan for
// any values, which a prepared statement comes to after a few times, guesses how rare a word or a city is and how far a
// page lies. Such a statement is not prepared, so it passes a pooler of transactions as well.
const customPlan = pgx.QueryExecModeExec

// values are the search's own, and those of a page.
func (s *search) values(reach store.Fetch) []any {
	s.args["skip"], s.args["take"] = reach.Skip, reach.Take
	return []any{customPlan, s.args}
}

// ListPerks returns one page of the perks that match, as of one moment.
func (db *DB) ListPerks(ctx context.Context, query store.PerkQuery) (store.List[api.Perk], error) {
	var list store.List[api.Perk]
	err := db.read(ctx, "list perks", func(v view) error {
		list = store.List[api.Perk]{Items: []api.Perk{}}
		s, err := newSearch(v, query)
		if err != nil || s.IsEmpty() {
			return err
		}
		if list.Total, err = s.total(v, db.totals); err != nil {
			return err
		}
		list.Items, err = s.page(v, list.Total)
		return err
	})
	if err != nil {
		return store.List[api.Perk]{}, err
	}
	return list, nil
}

// page reads the perks of the window. A window past the middle is reached from the other end.
func (s *search) page(v view, total int64) ([]api.Perk, error) {
	perks := []api.Perk{}
	reach := s.Query.Window.Fetch(total)
	if reach.Take == 0 {
		return perks, nil
	}
	order, err := newPageOrder(s.Query.Sort, reach.FromEnd)
	if err != nil {
		return nil, err
	}
	for candidates := range s.plans(order.fetch, reach, total) {
		perks, err = store.All(v, store.ScanPerk, pageOf(candidates, order), s.values(reach)...)
		if err != nil || int64(len(perks)) == reach.Take {
			return perks, err
		}
	}
	return perks, nil
}

// pageOf finds the ids first, so that the perks before the page are not read.
func pageOf(candidates string, order pageOrder) string {
	return `SELECT ` + store.PerkColumns + ` FROM (
		SELECT p.id FROM ` + candidates + ` ORDER BY ` + order.fetch + ` LIMIT @take OFFSET @skip
	) AS place JOIN perks AS p ON p.id = place.id ORDER BY ` + order.show
}

// pageOrder is the order in which a page is reached, which may be from the end, and that in which it is shown.
type pageOrder struct{ fetch, show string }

func newPageOrder(keys []api.SortKey, fromEnd bool) (o pageOrder, err error) {
	if o.fetch, err = perkOrder.By(keys, fromEnd); err != nil {
		return o, err
	}
	o.show, err = perkOrder.By(keys, false)
	return o, err
}

var perkOrder = store.PerkOrder(foldedText, `least`, true)

// What matches half of a million perks takes half a second to gather and sort, and its first page may be among the first
// hundred of the order. A shorter way is tried if it takes at most a share of that time even when it is in vain.
const (
	shortShare  = 8
	manyMatches = 2000 // fewer are allMatches at once, in a millisecond or two

	circleGrowth = 4 // of how many each narrower circle may hold
)

// plans gives the candidates for a page, as what follows FROM, from the shortest way to the surest: only the last is certain
// to have the whole page, but what a way finds begins as the page does. The total and the window choose the ways, which
// are exact, and not what PostgreSQL guesses of either.
func (s *search) plans(order string, reach store.Fetch, total int64) iter.Seq[string] {
	need := reach.Skip + reach.Take
	return func(yield func(string) bool) {
		switch {
		case s.hasOrderedScan():
			yield(s.orderedScan(order) + ` WHERE ` + s.Where() + s.andAvailable(need))
			return
		case s.isCircle() && s.SortsOnlyBy("created_at") && s.circle.Cells()*need < total/shortShare:
			yield(s.fromEachCell(order, need))
			return
		case s.IsNearest(reach.FromEnd) && total > manyMatches:
			for _, circle := range s.circle.Narrower(need, total, circleGrowth) {
				s.setCircle(circle)
				if !yield(s.allMatches(total)) {
					return
				}
			}
			s.setCircle(store.Circle(*s.Query.Near))
		case s.isIndexOrder() && total > manyMatches && need < total/shortShare:
			if !yield(s.indexPrefix(order, total/shortShare)) {
				return
			}
		}
		yield(s.allMatches(total))
	}
}

// hasOrderedScan holds when an index has what matches, and little else, in the order that is asked for.
func (s *search) hasOrderedScan() bool {
	switch {
	case s.Query.Near != nil || s.HasWords():
		return false
	case s.Query.City == "" && s.Query.Category == "":
		return true
	}
	return len(s.Categories) <= 1 && s.SortsBy("created_at")
}

// orderedScan is all perks, to be walked in the order. Sorted by their end alone, those that are over lie together, up to all
// of them before the first that is not, and are left out by the index itself.
func (s *search) orderedScan(order string) string {
	if !s.Query.OnlyValid() || !s.SortsOnlyBy("valid_to") {
		return `perks AS p`
	}
	return `((SELECT * FROM perks AS p WHERE p.valid_to > @at ORDER BY ` + order + `)
		UNION ALL (SELECT * FROM perks AS p WHERE p.valid_to IS NULL ORDER BY ` + order + `)) AS p`
}

// isIndexOrder holds when there is an index in exactly the order.
func (s *search) isIndexOrder() bool {
	return len(s.Query.Sort) == 0 || len(s.Query.Sort) == 1 && perkOrder.Columns[s.Query.Sort[0].Field].Indexed
}

// indexPrefix is what matches among the first perks of the order, of which most are looked at.
func (s *search) indexPrefix(order string, most int64) string {
	s.args["most"] = most
	return `(SELECT * FROM perks AS p ORDER BY ` + order + ` LIMIT @most) AS p
		WHERE ` + s.Where() + s.andAvailable(most)
}

// fromEachCell is the first of what matches in each cell, as many as the page may need of it.
func (s *search) fromEachCell(order string, need int64) string {
	s.args["most"] = need
	return `unnest(@first::integer[], @last::integer[]) AS run (first, last)
		CROSS JOIN generate_series(run.first, run.last) AS cell (number)
		CROSS JOIN LATERAL (SELECT * FROM perks AS p WHERE p.cell = cell.number AND ` + s.Where() + s.andAvailable(s.circle.Cells()*need) + `
			ORDER BY ` + order + ` LIMIT @most) AS p`
}

// allMatches is all that matches, to be sorted. OFFSET 0 keeps PostgreSQL from walking the order's index instead, in the hope
// that matches come soon: when all of a city's perks are old, none of them does.
func (s *search) allMatches(total int64) string {
	return `(SELECT p.* FROM ` + s.from() + ` WHERE ` + s.where() + s.andAvailable(total+s.unavailable) + ` OFFSET 0) AS p`
}

// unavailable is the perks that a user cannot have, whatever their dates: those that are sold out and those that the user has.
const unavailable = `(SELECT perk_id FROM perk_stock WHERE sold_out
	UNION ALL SELECT perk_id FROM redemptions WHERE user_id = @user AND status <> 'rejected')`

// total is how many perks match the search. What one user cannot have is counted apart, because that changes with every
// redemption, and there is little of it.
func (s *search) total(v view, totals *store.Totals) (int64, error) {
	matching, err := totals.Get(v.ctx, s.Query, s.Categories, s.version, func() (store.Count, error) { return s.count(v) })
	if err != nil || s.Query.AvailableTo == "" {
		return matching, err
	}
	unavailable, err := store.One(v, store.ScanValue[int64], s.countUnavailable(matching), customPlan, s.args)
	return matching - unavailable, err
}

func (s *search) count(v view) (store.Count, error) {
	return store.One(v, func(r row) (c store.Count, err error) {
		return c, r.Scan(&c.Matching, &c.Since, &c.Till)
	}, s.countMatching(), customPlan, s.args)
}

func (s *search) countMatching() string {
	return `SELECT (SELECT count(*) FROM ` + s.from() + ` WHERE ` + s.where() + `),
		greatest((SELECT max(valid_to) FROM perks WHERE valid_to <= @at), (SELECT max(valid_from) FROM perks WHERE valid_from <= @at)),
		least((SELECT min(valid_to) FROM perks WHERE valid_to > @at), (SELECT min(valid_from) FROM perks WHERE valid_from > @at))`
}

// countUnavailable looks up what is taken among all perks, or among those in the circle if they are fewer.
func (s *search) countUnavailable(matching int64) string {
	from, where := `perks AS p`, s.Where()
	if s.isCircle() && matching < s.unavailable {
		from, where = s.from(), s.where()
	}
	return `SELECT count(*) FROM ` + from + ` WHERE ` + where + ` AND p.id IN ` + unavailable
}

// A perk that is passed is looked up among what is taken in some microseconds, in two indexes; hashing all that is taken
// takes less for each of them. PostgreSQL hashes no more than fits into twice its work_mem, and what it does not hash it
// searches from the beginning for each perk, so beyond maxHashed perks are looked up, however many.
const maxHashed = 1_000_000

const (
	notInUnavailable    = `p.id NOT IN ` + unavailable
	notFoundUnavailable = `(SELECT s.perk_id FROM perk_stock AS s WHERE s.perk_id = p.id AND s.sold_out LIMIT 1) IS NULL
		AND (SELECT r.perk_id FROM redemptions AS r WHERE r.perk_id = p.id AND r.user_id = @user AND r.status <> 'rejected' LIMIT 1) IS NULL`
)

// andAvailable leaves out what the user of the search cannot have, where that many perks are passed.
func (s *search) andAvailable(passed int64) string {
	switch {
	case s.Query.AvailableTo == "":
		return ``
	case passed < s.unavailable || s.unavailable > maxHashed:
		return ` AND ` + notFoundUnavailable
	}
	return ` AND ` + notInUnavailable
}
