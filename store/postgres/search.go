package postgres

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
)

// search is a PerkQuery in SQL: where candidates come from, and what they must satisfy. Its texts are constants of this
// file and numbers of cells; every value is a named argument.
type search struct {
	query      store.PerkQuery
	version    int64 // of the catalog
	words      []string
	categories []string     // folded names; nil without the filter
	taken      int64        // how many perks are sold out or the user's, whether they match or not
	around     store.Circle // which candidates come from, with Near
	conditions []string
	args       pgx.NamedArgs
}

// The dates are written so that PostgreSQL does not look them up in an index: most perks are valid, and the index that
// serves the order is worth more.
const (
	notExpired   = `coalesce(p.valid_to > @at, true)`
	begun        = `coalesce(p.valid_from <= @at, true)`
	inCity       = `p.city_fold = @city`
	inCategory   = `p.category_fold = @category`
	inCategories = `p.category_fold = ANY (@categories::text[])`
	withWords    = `p.words @@ @words::tsquery`
	inBox        = `p.lat BETWEEN @south AND @north AND p.lng BETWEEN @west AND @east`
	inBoxAcross  = `p.lat BETWEEN @south AND @north AND (p.lng >= @west OR p.lng <= @east)`
)

// haversine is the haversine of the angle between a perk and the centre, from 0 to 1. It grows with the distance, and
// comparing it spares each candidate the way from it to kilometres; inCircle compares it to that of the radius.
var (
	haversine = fmt.Sprintf(`(power(sin((p.lat - @lat) * %[1]v), 2) +
		@cos_lat * cos(p.lat * %[2]v) * power(sin((p.lng - @lng) * %[1]v), 2))`, math.Pi/360, math.Pi/180)
	inCircle = haversine + ` <= @haversine`
	// distance is store.DistanceKM in millimetres.
	distance = fmt.Sprintf(`round(%v * asin(least(1, sqrt(%s))))::bigint`, 2*store.EarthRadiusKM*1e6, haversine)
)

// newSearch looks up what the query names. An unknown user is UserNotFound.
func newSearch(v view, query store.PerkQuery) (*search, error) {
	s := &search{
		query: query,
		words: store.QueryWords(query.Query),
		args:  pgx.NamedArgs{"at": query.At.Truncate(time.Microsecond)},
	}
	if err := s.lookUp(v); err != nil {
		return nil, err
	}
	if query.OnlyValid() {
		s.require(notExpired)
	}
	if query.OnlyBegun() {
		s.require(begun)
		s.args["user"] = query.AvailableTo
	}
	if query.City != "" {
		s.require(inCity)
		s.args["city"] = store.Fold(query.City)
	}
	if query.Category != "" {
		s.requireCategory()
	}
	if query.Near != nil {
		s.requireNear(store.Circle(*query.Near))
	}
	if s.hasWords() {
		s.require(withWords)
		s.args["words"] = matchExpression(s.words)
	}
	return s, nil
}

func (s *search) require(condition string) { s.conditions = append(s.conditions, condition) }
func (s *search) hasWords() bool           { return len(s.words) > 0 }

// isEmpty holds when the category is not known, so that no perk can match.
func (s *search) isEmpty() bool { return s.query.Category != "" && len(s.categories) == 0 }

// planning holds until the transaction of a list ends. Lists have an index for everything, and reading a whole table only
// looks cheaper in the middle of one. Bitmaps of pages must fit into memory, or every row on those pages is compared anew:
// that takes one that matches half of a million perks from 0.4 to 0.9 seconds. Compiling takes longer than it saves.
const planning = `concat(
	set_config('enable_seqscan', 'off', true), set_config('work_mem', '64MB', true), set_config('jit', 'off', true))`

// lookUp reads what the rest of the search depends on. The category goes by its name or its id; the text can be the name
// of one and the id of another.
func (s *search) lookUp(v view) error {
	if store.IsForeign(s.query.AvailableTo) {
		return store.UserNotFound(s.query.AvailableTo)
	}
	var userKnown bool
	_, err := store.One(v, func(r row) (settings string, err error) {
		return settings, r.Scan(&s.version, &userKnown, &s.taken, &s.categories, &settings)
	}, `SELECT c.version,
			EXISTS (SELECT FROM users WHERE id = $1),
			CASE WHEN $1 <> '' THEN (SELECT count(*) FROM perk_stock WHERE sold_out)
				+ (SELECT count(*) FROM redemptions WHERE user_id = $1 AND status <> 'rejected') ELSE 0 END,
			ARRAY (SELECT name_fold FROM categories WHERE name_fold = $2 UNION SELECT name_fold FROM categories WHERE lower(id) = $2 ORDER BY name_fold),
			`+planning+`
		FROM catalog AS c`, s.query.AvailableTo, store.Fold(s.query.Category))
	if err == nil && s.query.AvailableTo != "" && !userKnown && !s.query.AnyUser {
		err = store.UserNotFound(s.query.AvailableTo)
	}
	return err
}

func (s *search) requireCategory() {
	if len(s.categories) == 1 {
		s.require(inCategory)
		s.args["category"] = s.categories[0]
		return
	}
	s.require(inCategories)
	s.args["categories"] = s.categories
}

func (s *search) requireNear(circle store.Circle) {
	box := circle.Box()
	if box.CrossesAntimeridian() {
		s.require(inBoxAcross)
	} else {
		s.require(inBox)
	}
	s.require(inCircle)
	s.args["south"], s.args["west"], s.args["north"], s.args["east"] = box.South, box.West, box.North, box.East
	s.args["lat"], s.args["lng"] = circle.Lat, circle.Lng
	s.args["cos_lat"] = math.Cos(circle.Lat * math.Pi / 180)
	s.look(circle)
}

// look takes candidates from that circle, which is Near or lies within it.
func (s *search) look(around store.Circle) {
	var first, last []int
	for _, run := range around.Cover() {
		first, last = append(first, run.First), append(last, run.Last)
	}
	s.around = around
	s.args["first"], s.args["last"], s.args["haversine"] = first, last, around.Haversine()
}

// inRuns reads the cells of a circle run by run, each on a stretch of the index that holds all that a circle is asked for.
// OFFSET 0 keeps PostgreSQL from joining the other way round, when it would compare every perk with every run.
const inRuns = `unnest(@first::integer[], @last::integer[]) AS run (first, last)
	CROSS JOIN LATERAL (SELECT * FROM perks AS p WHERE p.cell BETWEEN run.first AND run.last OFFSET 0) AS p`

// isCircle holds when the circle alone leads to the candidates. Together with words or a city the cells are a condition
// like others, so that PostgreSQL can intersect what their indexes give: either may be much the smaller.
func (s *search) isCircle() bool {
	return s.query.Near != nil && !s.hasWords() && s.query.City == ""
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
	conditions := s.conditions
	if s.query.Near != nil && !s.isCircle() {
		conditions = append(conditions[:len(conditions):len(conditions)], inCells(s.around.Cover()))
	}
	return whereAll(conditions)
}

// whereAnywhere is the conditions on perks that come from anywhere.
func (s *search) whereAnywhere() string { return whereAll(s.conditions) }

func whereAll(conditions []string) string {
	if len(conditions) == 0 {
		return `true`
	}
	return strings.Join(conditions, ` AND `)
}

// inCells writes the numbers of the cells themselves: how many perks are in them decides the plan.
func inCells(runs []store.CellRange) string {
	conditions := make([]string, len(runs))
	for i, run := range runs {
		conditions[i] = fmt.Sprintf(`p.cell BETWEEN %d AND %d`, run.First, run.Last)
	}
	return `(` + strings.Join(conditions, ` OR `) + `)`
}

// matchExpression asks for every word as a prefix. Words hold letters, digits and marks alone: nothing to escape.
func matchExpression(words []string) string {
	terms := make([]string, len(words))
	for i, word := range words {
		terms[i] = `'` + word + `':*`
	}
	return strings.Join(terms, ` & `)
}

// forTheseValues, before the arguments of a statement, has it planned for them, in whichever mode others run. A plan for
// any values, which a prepared statement comes to after a few times, guesses how rare a word or a city is and how far a
// page lies. Such a statement is not prepared, so it passes a pooler of transactions as well.
const forTheseValues = pgx.QueryExecModeExec

// values are the search's own, and those of a page.
func (s *search) values(reach store.Reach) []any {
	s.args["skip"], s.args["take"] = reach.Skip, reach.Take
	return []any{forTheseValues, s.args}
}

// ListPerks returns one page of the perks that match, as of one moment.
func (db *DB) ListPerks(ctx context.Context, query store.PerkQuery) (store.List[api.Perk], error) {
	var list store.List[api.Perk]
	err := db.read(ctx, "list perks", func(v view) error {
		list = store.List[api.Perk]{Items: []api.Perk{}}
		s, err := newSearch(v, query)
		if err != nil || s.isEmpty() {
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
	reach := s.query.Window.Reach(total)
	if reach.Take == 0 {
		return perks, nil
	}
	order, err := newPerkOrder(s.query.Sort, reach.FromEnd)
	if err != nil {
		return nil, err
	}
	for candidates := range s.ways(order.onTheWay, reach, total) {
		perks, err = store.All(v, scanPerk, pageOf(candidates, order), s.values(reach)...)
		if err != nil || int64(len(perks)) == reach.Take {
			return perks, err
		}
	}
	return perks, nil
}

// pageOf finds the ids first, so that the perks before the page are not read.
func pageOf(candidates string, order perkOrder) string {
	return `SELECT ` + perkColumns + ` FROM (
		SELECT p.id FROM ` + candidates + ` ORDER BY ` + order.onTheWay + ` LIMIT @take OFFSET @skip
	) AS place JOIN perks AS p ON p.id = place.id ORDER BY ` + order.inTheEnd
}

// perkOrder is the order in which a page is reached, which may be from the end, and that in which it is shown.
type perkOrder struct{ onTheWay, inTheEnd string }

func newPerkOrder(keys []api.SortKey, fromEnd bool) (o perkOrder, err error) {
	if o.onTheWay, err = orderBy(perkSortColumns, keys, `p.id`, fromEnd); err != nil {
		return o, err
	}
	o.inTheEnd, err = orderBy(perkSortColumns, keys, `p.id`, false)
	return o, err
}

// sortColumn is what a field is sorted by.
type sortColumn struct {
	text      string
	nullable  bool
	isIndexed bool // in either direction
}

// perkSortColumns are the fields that perks can be sorted by.
var perkSortColumns = map[string]sortColumn{
	"id":             {`p.id`, false, true},
	"title":          {`p.title_fold`, false, true},
	"description":    {foldedText("description"), false, false},
	"category":       {`p.category_fold`, true, true},
	"merchant_name":  {`p.merchant_name_fold`, true, true},
	"image_url":      {foldedText("image_url"), true, false},
	"discount_text":  {foldedText("discount_text"), true, false},
	"terms":          {foldedText("terms"), true, false},
	"valid_from":     {`p.valid_from`, true, true},
	"valid_to":       {`p.valid_to`, true, true},
	"city":           {`p.city_fold`, false, true},
	"created_at":     {`p.created_at`, false, true},
	"updated_at":     {`p.updated_at`, false, true},
	api.SortDistance: {distance, false, false},
}

// orderBy writes the order, or the same order read from its other end, which PostgreSQL walks on the same index.
func orderBy(columns map[string]sortColumn, keys []api.SortKey, id string, fromEnd bool) (string, error) {
	var terms []string
	for _, key := range keys {
		column, ok := columns[key.Field]
		if !ok {
			return "", fmt.Errorf("there is no order by %q", key.Field)
		}
		terms = append(terms, column.text+direction(column, key.Desc, fromEnd))
		if column.text == id { // nothing is left to decide
			return strings.Join(terms, `, `), nil
		}
	}
	terms = append(terms, id+direction(sortColumn{}, false, fromEnd))
	return strings.Join(terms, `, `), nil
}

// direction says where nulls go only where PostgreSQL would put them elsewhere: to it they are greater than every value,
// and an index serves an order only if both have nulls at the same end, even where there are none.
func direction(column sortColumn, descending, fromEnd bool) string {
	switch {
	case descending && fromEnd && column.nullable:
		return ` ASC NULLS FIRST`
	case descending && !fromEnd && column.nullable:
		return ` DESC NULLS LAST`
	case descending != fromEnd:
		return ` DESC`
	}
	return ` ASC`
}

// What matches half of a million perks takes half a second to gather and sort, and its first page may be among the first
// hundred of the order. A shorter way is tried if it takes at most a share of that time even when it is in vain.
const (
	shortShare  = 8
	manyMatches = 2000 // fewer are gathered at once, in a millisecond or two

	circleGrowth = 4 // of how many each narrower circle may hold
)

// ways gives the candidates for a page, as what follows FROM, from the shortest way to the surest: only the last is certain
// to have the whole page, but what a way finds begins as the page does. The total and the window choose the ways, which
// are exact, and not what PostgreSQL guesses of either.
func (s *search) ways(order string, reach store.Reach, total int64) iter.Seq[string] {
	need := reach.Skip + reach.Take
	return func(yield func(string) bool) {
		switch {
		case s.isInOrder():
			yield(s.inOrder(order) + ` WHERE ` + s.whereAnywhere() + s.andNotTaken(need))
			return
		case s.isNewest() && s.around.Cells()*need < total/shortShare:
			yield(s.fromEachCell(order, need))
			return
		case s.isNearest(reach.FromEnd) && total > manyMatches:
			for _, circle := range s.around.Narrower(need, total, circleGrowth) {
				s.look(circle)
				if !yield(s.gathered(total)) {
					return
				}
			}
			s.look(store.Circle(*s.query.Near))
		case s.isByOneIndex() && total > manyMatches && need < total/shortShare:
			if !yield(s.stretch(order, total/shortShare)) {
				return
			}
		}
		yield(s.gathered(total))
	}
}

// isInOrder holds when an index has what matches, and little else, in the order that is asked for.
func (s *search) isInOrder() bool {
	switch {
	case s.query.Near != nil || s.hasWords():
		return false
	case s.query.City == "" && s.query.Category == "":
		return true
	}
	return len(s.categories) <= 1 && len(s.query.Sort) > 0 && s.query.Sort[0].Field == "created_at"
}

// inOrder is all perks, to be walked in the order. Sorted by their end alone, those that are over lie together, up to all
// of them before the first that is not, and are left out by the index itself.
func (s *search) inOrder(order string) string {
	if !s.query.OnlyValid() || len(s.query.Sort) != 1 || s.query.Sort[0].Field != "valid_to" {
		return `perks AS p`
	}
	return `((SELECT * FROM perks AS p WHERE p.valid_to > @at ORDER BY ` + order + `)
		UNION ALL (SELECT * FROM perks AS p WHERE p.valid_to IS NULL ORDER BY ` + order + `)) AS p`
}

// isByOneIndex holds when there is an index in exactly the order.
func (s *search) isByOneIndex() bool {
	return len(s.query.Sort) == 0 || len(s.query.Sort) == 1 && perkSortColumns[s.query.Sort[0].Field].isIndexed
}

// stretch is what matches among the first perks of the order, of which most are looked at.
func (s *search) stretch(order string, most int64) string {
	s.args["most"] = most
	return `(SELECT * FROM perks AS p ORDER BY ` + order + ` LIMIT @most) AS p
		WHERE ` + s.whereAnywhere() + s.andNotTaken(most)
}

// isNewest holds when a circle's perks are asked for in the order in which each of its cells has them.
func (s *search) isNewest() bool {
	return s.isCircle() && len(s.query.Sort) == 1 && s.query.Sort[0].Field == "created_at"
}

// fromEachCell is the first of what matches in each cell, as many as the page may need of it.
func (s *search) fromEachCell(order string, need int64) string {
	s.args["most"] = need
	return `unnest(@first::integer[], @last::integer[]) AS run (first, last)
		CROSS JOIN generate_series(run.first, run.last) AS cell (number)
		CROSS JOIN LATERAL (SELECT * FROM perks AS p WHERE p.cell = cell.number AND ` + s.whereAnywhere() + s.andNotTaken(s.around.Cells()*need) + `
			ORDER BY ` + order + ` LIMIT @most) AS p`
}

// isNearest holds when the page is reached from the centre of the circle.
func (s *search) isNearest(fromEnd bool) bool {
	return len(s.query.Sort) > 0 && s.query.Sort[0].Field == api.SortDistance && s.query.Sort[0].Desc == fromEnd
}

// gathered is all that matches, to be sorted. OFFSET 0 keeps PostgreSQL from walking the order's index instead, in the hope
// that matches come soon: when all of a city's perks are old, none of them does.
func (s *search) gathered(total int64) string {
	return `(SELECT p.* FROM ` + s.from() + ` WHERE ` + s.where() + s.andNotTaken(total+s.taken) + ` OFFSET 0) AS p`
}
