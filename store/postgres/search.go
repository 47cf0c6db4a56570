package postgres

import (
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
)

// search is a store.PerkSearch in PostgreSQL's dialect.
type search struct {
	store.Search
	view        view
	unavailable int64        // how many perks are unavailable to the user, whether they match or not
	circle      store.Circle // of candidates, if the query has Near
}

const (
	inCategories = `p.category_fold = ANY (@categories::text[])`
	withWords    = `p.words @@ @words::tsquery`
)

// listSettings apply to the transaction of a list. Lists have an index for everything, so a sequential scan only looks
// cheaper. Bitmaps must fit into memory, or every row of their pages is compared again: 0.9 instead of 0.4 seconds for
// half of a million perks.
const listSettings = `concat(set_config('enable_seqscan', 'off', true), set_config('work_mem', '64MB', true))`

// newSearch looks up the user and the categories. The error is UserNotFound for an unknown user. The text of the
// category may be the name of one and the id of another.
func newSearch(v view, query store.PerkQuery) (*search, error) {
	if store.IsUnstorable(query.AvailableTo) {
		return nil, store.UserNotFound(query.AvailableTo)
	}
	s := &search{view: v}
	var categories []string
	userKnown, err := store.One(v, func(r row) (known bool, err error) {
		return known, r.Scan(&s.Version, &known, &s.unavailable, &categories, new(string))
	}, `SELECT c.version,
			EXISTS (SELECT FROM users WHERE id = $1),
			CASE WHEN $1 <> '' THEN (SELECT count(*) FROM perk_stock WHERE sold_out)
				+ (SELECT count(*) FROM redemptions WHERE user_id = $1 AND status <> 'rejected') ELSE 0 END,
			ARRAY (SELECT name_fold FROM categories WHERE name_fold = $2
				UNION SELECT name_fold FROM categories WHERE lower(id) = $2 ORDER BY name_fold),
			`+listSettings+`
		FROM catalog AS c`, query.AvailableTo, store.Fold(query.Category))
	if err == nil && query.AvailableTo != "" && !userKnown && !query.AnyUser {
		err = store.UserNotFound(query.AvailableTo)
	}
	if err != nil {
		return nil, err
	}
	version := s.Version
	s.Search = store.NewSearch(query, categories, inCategories)
	s.Version = version
	s.SetOrder(perkOrder, `strpos`)
	if query.Near != nil {
		s.setCircle(store.Circle(*query.Near))
	}
	if s.HasWords() {
		s.Require(withWords)
		s.Args["words"] = queryOf(s.Words)
	}
	return s, nil
}

// queryOf is a tsquery. Words have only letters, digits and marks: nothing to escape.
func queryOf(words []string) string { return `'` + strings.Join(words, `':* & '`) + `':*` }

// setCircle reads candidates from the circle, which is Near or lies within it.
func (s *search) setCircle(around store.Circle) {
	var first, last []int
	for _, cells := range around.Cover() {
		first, last = append(first, cells.First), append(last, cells.Last)
	}
	s.circle = around
	s.Args["first"], s.Args["last"], s.Args["haversine"] = first, last, around.Haversine()
}

// inRanges reads the cells of a circle range by range from an index that has all columns a circle needs. OFFSET 0 keeps
// PostgreSQL from swapping the join, which would compare every perk with every range.
const inRanges = `unnest(@first::integer[], @last::integer[]) AS cells (first, last)
	CROSS JOIN LATERAL (SELECT * FROM perks AS p WHERE p.cell BETWEEN cells.first AND cells.last OFFSET 0) AS p`

// isCircle reports whether only the circle selects the candidates. Together with words or a city, the cells are a
// condition like others, so that PostgreSQL can intersect indexes: either may be much more selective.
func (s *search) isCircle() bool {
	return s.Query.Near != nil && !s.HasWords() && s.Query.City == ""
}

// from is the tables that candidates are read from.
func (s *search) from() string {
	if s.isCircle() {
		return inRanges
	}
	return `perks AS p`
}

// where is the conditions on candidates that are read from from.
func (s *search) where() string {
	if s.Query.Near != nil && !s.isCircle() {
		return s.Where(inCells(s.circle.Cover()))
	}
	return s.Where()
}

// inCells has the numbers of the cells as literals, because the plan depends on how many perks they contain.
func inCells(ranges []store.CellRange) string {
	conditions := make([]string, len(ranges))
	for i, cells := range ranges {
		conditions[i] = fmt.Sprintf(`p.cell BETWEEN %d AND %d`, cells.First, cells.Last)
	}
	return `(` + strings.Join(conditions, ` OR `) + `)`
}

// customPlan, before the arguments of a statement, makes PostgreSQL plan it for them. The generic plan of a prepared
// statement knows neither how rare a word or a city is, nor how large an offset is. It works behind a transaction
// pooler too.
const customPlan = pgx.QueryExecModeExec

// values are the arguments of the search and of a page.
func (s *search) values(reach store.Fetch) []any {
	s.Args["skip"], s.Args["take"] = reach.Skip, reach.Take
	return []any{customPlan, s.Args}
}

func (s *search) Distances(ids []string) ([]int64, error) {
	if s.Query.Near == nil {
		return make([]int64, len(ids)), nil
	}
	s.Args["ids"] = ids
	return store.All(s.view, store.ScanValue[int64], `SELECT `+perkOrder.Columns[api.SortDistance].Text+`
		FROM unnest(@ids::text[]) WITH ORDINALITY AS page (id, n) JOIN perks AS p ON p.id = page.id
			ORDER BY page.n`, customPlan, s.Args)
}

func (s *search) Positions(ids []string) ([]api.Point, error) {
	return store.All(s.view, store.ScanPoint,
		`SELECT p.lat, p.lng FROM perks AS p WHERE p.id = ANY ($1::text[]) AND p.lat IS NOT NULL`, ids)
}

func (s *search) ReadAfter(reach store.Fetch, matching int64) ([]api.Perk, error) {
	order, err := s.pageOrder(s.Query.Sort, false)
	if err != nil {
		return nil, err
	}
	return store.All(s.view, store.ScanPerk, pageOf(s.following(reach, matching), order), s.values(reach)...)
}

func (s *search) IsIDAt(ids perkIDs, at int64, id string) (bool, error) { return ids.at(at) == id, nil }

func (s *search) EveryID(step, matching int64) (ids perkIDs, err error) {
	order, err := s.Order.By(s.Query.Sort, false)
	if err != nil {
		return ids, err
	}
	candidates := s.allMatches(matching)
	if s.HasOrderedScan() {
		candidates = `perks AS p WHERE ` + s.Where()
	}
	s.Args["step"] = step
	for id, err := range store.Each(s.view, store.ScanValue[string], `
		SELECT id FROM (SELECT p.id, row_number() OVER (ORDER BY `+order+`) AS n FROM `+candidates+`) AS list
		WHERE n % @step = 0 ORDER BY n`, customPlan, s.Args) {
		if err != nil {
			return perkIDs{}, err
		}
		ids.add(id)
	}
	return ids, nil
}

// perkIDs are ids without a pointer and an allocation each, which would take as much memory again.
type perkIDs struct {
	text []byte
	ends []uint32 // of each id in the text
}

func (p perkIDs) Len() int { return len(p.ends) }

func (p *perkIDs) add(id string) {
	p.text = append(p.text, id...)
	p.ends = append(p.ends, uint32(len(p.text)))
}

func (p perkIDs) at(i int64) string {
	start := uint32(0)
	if i > 0 {
		start = p.ends[i-1]
	}
	return string(p.text[start:p.ends[i]])
}

func (p perkIDs) between(from, to int64) (ids []string) {
	for i := from; i < to; i++ {
		ids = append(ids, p.at(i))
	}
	return ids
}

func (s *search) ReadByIDs(ids perkIDs, from, until int64) ([]api.Perk, error) {
	return store.All(s.view, store.ScanPerk,
		`SELECT `+store.PerkColumns+` FROM unnest($1::text[]) WITH ORDINALITY AS page (id, n)
		JOIN perks AS p ON p.id = page.id ORDER BY page.n`, ids.between(from, until))
}

// ReadPage is part of store.PerkSearch. A window past the middle is read from the end.
func (s *search) ReadPage(total int64) ([]api.Perk, error) {
	perks := []api.Perk{}
	reach := s.Query.Reach(total)
	if reach.Take == 0 {
		return perks, nil
	}
	order, err := s.pageOrder(s.Query.Sort, reach.FromEnd)
	if err != nil {
		return nil, err
	}
	for candidates := range s.plans(order.fetch, reach, total) {
		perks, err = store.All(s.view, store.ScanPerk, pageOf(candidates, order), s.values(reach)...)
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
	) AS page JOIN perks AS p ON p.id = page.id ORDER BY ` + order.show
}

// pageOrder is the order in which a page is read, perhaps from the end, and in which it is shown.
type pageOrder struct{ fetch, show string }

func (s *search) pageOrder(keys []api.SortKey, fromEnd bool) (o pageOrder, err error) {
	if o.fetch, err = s.Order.By(keys, fromEnd); err != nil {
		return o, err
	}
	o.show, err = s.Order.By(keys, false)
	return o, err
}

var perkOrder = store.PerkOrder(foldedText, `least`, true)

// To collect and sort half of a million perks takes half a second. A cheaper plan is tried first if it takes at most a
// share of that even in vain.
const (
	shortShare  = 8
	manyMatches = 2000 // fewer are sorted in a millisecond or two

	circleGrowth = 4 // of the expected number of perks in each narrower circle
)

// plans yields candidates for a page, as what follows FROM, the cheapest first. Only the last certainly has the whole
// page, but each finds a prefix of the page. The exact total and the window choose the plans, not estimates of
// PostgreSQL.
func (s *search) plans(order string, reach store.Fetch, total int64) iter.Seq[string] {
	need := reach.Skip + reach.Take
	return func(yield func(string) bool) {
		switch {
		case s.Query.After != nil:
			yield(s.following(reach, total))
			return
		case s.HasOrderedScan():
			yield(s.orderedScan(reach))
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
		case s.isRelevantFirst() && !reach.FromEnd && total > manyMatches && need < total/shortShare:
			if !yield(s.indexPrefix(`p.created_at DESC, p.id DESC`, total/shortShare) + ` AND ` + s.InTitle(`strpos`)) {
				return
			}
		case s.isIndexOrder() && total > manyMatches && need < total/shortShare:
			if !yield(s.indexPrefix(order, total/shortShare)) {
				return
			}
		}
		yield(s.allMatches(total))
	}
}

func (s *search) Cost(reach store.Fetch, total int64) int64 {
	need := reach.Skip + reach.Take
	switch {
	case reach.Take == 0:
		return 0
	case s.HasOrderedScan() && s.Order.Serves(s.Query.Sort):
		return need
	case s.Query.After != nil && total >= manyMatches && s.Order.Serves(s.Query.Sort):
		return need
	case s.IsNearest(reach.FromEnd):
		return min(need*circleGrowth, total)
	case need < total/shortShare && (s.isIndexOrder() || s.isRelevantFirst() && !reach.FromEnd):
		return total / shortShare
	}
	return total
}

func (s *search) HasOrderedScan() bool {
	switch {
	case s.Query.Near != nil || s.HasWords():
		return false
	case s.Query.City == "" && s.Query.Category == "":
		return true
	}
	return len(s.Categories) <= 1 && s.SortsBy("created_at")
}

// orderedScan is all matches in the order of an index, or what follows the query's cursor. Nulls are at one end of an
// index, and in a descending list at the other, so the perks without a value are read by themselves. Expired perks are
// consecutive by valid_to, and the index skips them.
func (s *search) orderedScan(reach store.Fetch) string {
	need := reach.Skip + reach.Take
	where := s.Where() + s.andAvailable(need)
	ranges := s.Order.Ranges(s.Query.Sort, s.Query.After, s.Args)
	skipsExpired := s.SortsBy("valid_to") && s.Query.OnlyValid()
	if s.Query.After == nil && !skipsExpired && (len(ranges) == 1 || !s.Query.Sort[0].Desc) {
		return `perks AS p WHERE ` + where
	}
	order, _ := s.Order.Within(s.Query.Sort, reach.FromEnd)
	s.Args["most"] = need
	for i, condition := range ranges {
		if skipsExpired && !strings.HasPrefix(condition, `p.valid_to IS NULL`) {
			condition += ` AND p.valid_to > @at`
		}
		ranges[i] = `(SELECT * FROM perks AS p WHERE ` + condition + ` AND ` + where + ` ORDER BY ` + order +
			` LIMIT @most)`
	}
	return `(` + strings.Join(ranges, ` UNION ALL `) + `) AS p`
}

// following is what follows the query's cursor, or candidates for it.
func (s *search) following(reach store.Fetch, total int64) string {
	if total >= manyMatches && s.Order.Serves(s.Query.Sort) {
		return s.orderedScan(reach)
	}
	return s.allMatches(total) + ` WHERE (` +
		strings.Join(s.Order.Ranges(s.Query.Sort, s.Query.After, s.Args), ` OR `) + `)`
}

// isIndexOrder reports whether an index has exactly the order of the list.
func (s *search) isIndexOrder() bool {
	return len(s.Query.Sort) == 0 || len(s.Query.Sort) == 1 && perkOrder.Columns[s.Query.Sort[0].Field].Indexed
}

// isRelevantFirst reports whether the list is sorted by relevance, and the most relevant newest first: the page may be
// among these.
func (s *search) isRelevantFirst() bool {
	keys := s.Query.Sort
	return len(keys) == 2 && keys[0] == api.SortKey{Field: api.SortRelevance} &&
		keys[1] == api.SortKey{Field: "created_at", Desc: true}
}

// indexPrefix is the matches among the first perks of the order.
func (s *search) indexPrefix(order string, most int64) string {
	s.Args["most"] = most
	return `(SELECT * FROM perks AS p ORDER BY ` + order + ` LIMIT @most) AS p
		WHERE ` + s.Where() + s.andAvailable(most)
}

// fromEachCell is the first matches of each cell, as many as the page may need.
func (s *search) fromEachCell(order string, need int64) string {
	s.Args["most"] = need
	return `unnest(@first::integer[], @last::integer[]) AS cells (first, last)
		CROSS JOIN generate_series(cells.first, cells.last) AS cell (number)
		CROSS JOIN LATERAL (SELECT * FROM perks AS p WHERE p.cell = cell.number
			AND ` + s.Where() + s.andAvailable(s.circle.Cells()*need) + `
			ORDER BY ` + order + ` LIMIT @most) AS p`
}

// allMatches is all matches, to be sorted. OFFSET 0 keeps PostgreSQL from scanning the order's index instead, in the
// hope of early matches: if all perks of a city are old, there are none.
func (s *search) allMatches(total int64) string {
	return `(SELECT p.* FROM ` + s.matches() + s.andAvailable(total+s.unavailable) + ` OFFSET 0) AS p`
}

// unavailable is the perks that a user cannot redeem, whatever their dates: those that are sold out, or redeemed by the
// user.
const unavailable = `(SELECT perk_id FROM perk_stock WHERE sold_out
	UNION ALL SELECT perk_id FROM redemptions WHERE user_id = @user AND status <> 'rejected')`

// View is part of store.PerkSearch.
func (s *search) View() store.Querier { return s.view }

func (s *search) CountMatches(most int64) (store.Count, error) {
	return s.Count(customPlanView{s.view}, s.matches(), most)
}

func (s *search) CountUnavailable(matching int64) (int64, error) {
	return store.One(s.view, store.ScanValue[int64], s.countUnavailable(matching), customPlan, s.Args)
}

// matches is what follows FROM.
func (s *search) matches() string { return s.from() + ` WHERE ` + s.where() }

// countUnavailable searches all perks, or those in the circle if they are fewer than the unavailable ones.
func (s *search) countUnavailable(matching int64) string {
	from, where := `perks AS p`, s.Where()
	if s.isCircle() && matching < s.unavailable {
		from, where = s.from(), s.where()
	}
	return `SELECT count(*) FROM ` + from + ` WHERE ` + where + ` AND p.id IN ` + unavailable
}

// Looking up a perk in the two indexes of unavailable ones takes some microseconds. A hash of all unavailable ones is
// faster per perk, but PostgreSQL hashes at most twice its work_mem, and without a hash scans the list for each perk.
// So beyond maxHashed, perks are looked up.
const maxHashed = 1_000_000

const (
	notHashed   = `p.id NOT IN ` + unavailable
	notLookedUp = `(SELECT s.perk_id FROM perk_stock AS s WHERE s.perk_id = p.id AND s.sold_out LIMIT 1) IS NULL
		AND (SELECT r.perk_id FROM redemptions AS r WHERE r.perk_id = p.id AND r.user_id = @user
			AND r.status <> 'rejected' LIMIT 1) IS NULL`
)

// andAvailable excludes what the query's user cannot redeem, from a plan that checks that many perks.
func (s *search) andAvailable(checked int64) string {
	switch {
	case s.Query.AvailableTo == "":
		return ``
	case checked < s.unavailable || s.unavailable > maxHashed:
		return ` AND ` + notLookedUp
	}
	return ` AND ` + notHashed
}
