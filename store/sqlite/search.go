package sqlite

import (
	"database/sql/driver"
	"slices"
	"strings"

	"modernc.org/sqlite"

	"example.com/perks/api"
	"example.com/perks/store"
)

// search is a store.PerkSearch in SQLite's dialect.
type search struct {
	store.Search
	view       view
	endOfNames string // of all indexes of perks that are named in queries
}

const (
	unavailable = `(SELECT perk FROM perk_stock WHERE held >= stock
		UNION SELECT perk FROM redemptions WHERE user_id = @user AND status <> 'rejected')`
	inCategories = `p.category_fold IN (SELECT value FROM json_each(@categories))`
	withWords    = `p.row IN (SELECT rowid FROM perk_words WHERE perk_words MATCH @words)`
)

// newSearch looks up the user and the categories. The error is UserNotFound for an unknown user.
func newSearch(v view, query store.PerkQuery) (*search, error) {
	if query.AvailableTo != "" && !query.AnyUser {
		missing := store.UserNotFound(query.AvailableTo)
		if _, err := store.OneOr(missing, v, store.ScanValue[string], `SELECT id FROM users WHERE id = $1`,
			query.AvailableTo); err != nil {
			return nil, err
		}
	}
	var categories []string
	if query.Category != "" { // the text may be the name of one and the id of another
		var err error
		categories, err = store.All(v, store.ScanValue[string], `
			SELECT name_fold FROM categories WHERE name_fold = $1
			UNION SELECT name_fold FROM categories WHERE lower(id) = $1`, store.Fold(query.Category))
		if err != nil {
			return nil, err
		}
	}
	s := &search{Search: store.NewSearch(query, categories, inCategories), view: v}
	s.SetOrder(perkOrder, `instr`)
	isSecond, err := store.One(v,
		func(r row) (isSecond bool, err error) { return isSecond, r.Scan(&s.Version, &isSecond) }, `
		SELECT version, EXISTS (SELECT 1 FROM pragma_index_list('perks') WHERE name = 'perks_in_cell`+secondName+`')
		FROM catalog`)
	if err != nil {
		return nil, err
	}
	if isSecond {
		s.endOfNames = secondName
	}
	if query.Near != nil {
		s.Args["cells"] = asJSON(store.Circle(*query.Near).Cover())
	}
	if s.HasWords() {
		s.Args["words"] = queryOf(s.Words)
	}
	return s, nil
}

// queryOf is a query of FTS5. Words have only letters, digits and marks: nothing to escape.
func queryOf(words []string) string { return `"` + strings.Join(words, `"* "`) + `"*` }

// from is the tables that candidates are read from. CROSS JOIN makes SQLite look up the circle or the words first. The
// planner uses the index of a city or a category. All perks are read in the order of index, unless it is "".
func (s *search) from(index string) string {
	switch {
	case s.Query.Near != nil:
		return `json_each(@cells) AS run CROSS JOIN perks AS p INDEXED BY ` + s.indexName(`perks_in_cell`) + `
			ON p.cell BETWEEN run.value ->> 'First' AND run.value ->> 'Last'`
	case s.HasWords():
		return `perk_words CROSS JOIN perks AS p ON p.row = perk_words.rowid AND perk_words MATCH @words`
	case s.Query.City != "" || s.Query.Category != "" || index == "":
		return `perks AS p`
	}
	return `perks AS p INDEXED BY ` + s.indexName(index)
}

// where is the conditions on candidates that are read from from.
func (s *search) where() string {
	if s.Query.Near == nil {
		return s.Where()
	}
	return s.whereAnywhere()
}

// whereAnywhere is the conditions on any perks.
func (s *search) whereAnywhere() string {
	if s.HasWords() {
		return s.Where(withWords)
	}
	return s.Where()
}

// whereAvailable is where, without the perks that are unavailable to the query's user.
func (s *search) whereAvailable() string {
	if s.Query.AvailableTo == "" {
		return s.where()
	}
	return s.where() + ` AND p.row NOT IN ` + unavailable
}

const (
	manyMatches  = 2000 // fewer are sorted in two milliseconds
	circleGrowth = 8    // of the expected number of perks in each narrower circle
)

// nearest finds a page of perks by distance in narrower circles, so that far ones are not sorted. It returns nil if the
// query does not sort so, has words, which would be looked up for each circle, or no narrower circle holds the page.
func (s *search) nearest(reach store.Fetch, total int64) ([]int64, error) {
	if s.Query.Near == nil || s.HasWords() || !s.IsNearest(reach.FromEnd) || total <= manyMatches {
		return nil, nil
	}
	for _, circle := range store.Circle(*s.Query.Near).Narrower(reach.Skip+reach.Take, total, circleGrowth) {
		query := s.Query
		query.Near = (*api.Circle)(&circle)
		narrow, err := newSearch(s.view, query)
		if err != nil {
			return nil, err
		}
		rows, err := narrow.find(reach, total)
		if err != nil || int64(len(rows)) == reach.Take {
			return rows, err
		}
	}
	return nil, nil
}

var perkOrder = store.PerkOrder(func(field string) string { return `fold(p.` + field + `)` }, `min`, false)

func init() {
	sqlite.MustRegisterDeterministicScalarFunction("fold", 1,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			if text, ok := args[0].(string); ok {
				return store.Fold(text), nil
			}
			return args[0], nil
		})
}

// sortIndex is the index that serves the order of all perks by the field, or "". SQLite sorts only ties by further
// keys.
func sortIndex(field string) string {
	switch {
	case field == "id":
		return `sqlite_autoindex_perks_1`
	case !perkOrder.Columns[field].Indexed: // folded and sorted for each page
		return ""
	}
	return `perks_` + field + `_asc`
}

// indexName is the present name of an index of perks, as otherName gives them. SQLite names its own.
func (s *search) indexName(first string) string {
	if strings.HasPrefix(first, "sqlite_") {
		return first
	}
	return first + s.endOfNames
}

func (s *search) Distances(ids []string) ([]int64, error) {
	if s.Query.Near == nil {
		return make([]int64, len(ids)), nil
	}
	s.Args["ids"] = asJSON(ids)
	return store.All(s.view, store.ScanValue[int64], `SELECT `+perkOrder.Columns[api.SortDistance].Text+`
		FROM json_each(@ids) AS page CROSS JOIN perks AS p ON p.id = page.value ORDER BY page.key`, s.Args)
}

func (s *search) Positions(ids []string) ([]api.Point, error) {
	return store.All(s.view, store.ScanPoint, `SELECT p.lat, p.lng
		FROM json_each($1) AS page CROSS JOIN perks AS p ON p.id = page.value WHERE p.lat IS NOT NULL`, asJSON(ids))
}

func (s *search) HasOrderedScan() bool {
	switch {
	case s.Query.Near != nil || s.HasWords() || len(s.Categories) > 1:
		return false
	case s.Query.City != "" || s.Query.Category != "":
		return s.SortsBy("created_at")
	}
	return s.Order.Serves(s.Query.Sort)
}

type rowIDs []int64

func (r rowIDs) Len() int { return len(r) }

func (s *search) ReadPage(total int64) ([]api.Perk, error) {
	rows, err := s.page(total)
	if err != nil {
		return nil, err
	}
	return s.ReadByIDs(rows, 0, int64(len(rows)))
}

func (s *search) ReadAfter(reach store.Fetch, matching int64) ([]api.Perk, error) {
	rows, err := s.following(store.Fetch{Take: reach.Skip + reach.Take}, matching)
	if err != nil {
		return nil, err
	}
	return s.ReadByIDs(rows, min(reach.Skip, int64(len(rows))), int64(len(rows)))
}

func (s *search) ReadByIDs(rows rowIDs, from, until int64) ([]api.Perk, error) {
	return store.All(s.view, store.ScanPerk, `
		SELECT `+store.PerkColumns+` FROM json_each($1) AS page CROSS JOIN perks AS p ON p.row = page.value
		ORDER BY page.key`, asJSON(rows[from:until]))
}

func (s *search) IsIDAt(rows rowIDs, at int64, id string) (bool, error) {
	return store.One(s.view, store.ScanValue[bool], `SELECT EXISTS (SELECT 1 FROM perks WHERE id = $1 AND row = $2)`,
		id, rows[at])
}

func (s *search) Cost(reach store.Fetch, total int64) int64 {
	need := reach.Skip + reach.Take
	switch {
	case reach.Take == 0:
		return 0
	case s.HasOrderedScan():
		return need
	case s.Query.After != nil && total >= manyMatches && !s.HasWords() && s.Order.Serves(s.Query.Sort):
		return need
	case s.Query.Near != nil && !s.HasWords() && s.IsNearest(reach.FromEnd):
		return min(need*circleGrowth, total)
	}
	return total
}

func (s *search) EveryID(step, _ int64) (rowIDs, error) {
	order, err := s.Order.By(s.Query.Sort, false)
	if err != nil {
		return nil, err
	}
	s.Args["step"] = step
	return store.All(s.view, store.ScanValue[int64], `SELECT row FROM (
		SELECT p.row, row_number() OVER (ORDER BY
			`+order+`) AS n FROM `+s.allMatches()+`) WHERE n % @step = 0 ORDER BY n`, s.Args)
}

// page finds the row ids of the window in indexes, without reading the perks before it. A window past the middle is
// read from the end.
func (s *search) page(total int64) ([]int64, error) {
	reach := s.Query.Reach(total)
	if reach.Take == 0 {
		return nil, nil
	}
	if s.Query.After != nil {
		return s.following(reach, total)
	}
	rows, err := s.nearest(reach, total)
	if err == nil && rows == nil {
		rows, err = s.find(reach, total)
	}
	if reach.FromEnd {
		slices.Reverse(rows)
	}
	return rows, err
}

// find returns row ids in the order in which they are read.
func (s *search) find(reach store.Fetch, total int64) ([]int64, error) {
	order, err := s.Order.By(s.Query.Sort, reach.FromEnd)
	if err != nil {
		return nil, err
	}
	return store.All(s.view, store.ScanValue[int64], pageOf(s.candidates(order, reach, total), order), s.values(reach))
}

// following finds the row ids after the query's cursor: range by range in the index of the order, or among all matches
// if they are few or no index has the order. Words would be looked up for each range.
func (s *search) following(reach store.Fetch, total int64) (rows []int64, err error) {
	index := "id"
	if len(s.Query.Sort) > 0 {
		index = s.Query.Sort[0].Field
	}
	ranges := s.Order.Ranges(s.Query.Sort, s.Query.After, s.Args)
	from, orderBy := s.from(``), s.Order.Within
	switch {
	case total < manyMatches || s.HasWords() || !s.Order.Serves(s.Query.Sort):
		orderBy, ranges = s.Order.By, []string{`(` + strings.Join(ranges, ` OR `) + `)`}
	// otherwise the filter's index has the order
	case s.Query.City == "" && s.Query.Category == "" || !s.SortsBy("created_at"):
		from = `perks AS p INDEXED BY ` + s.indexName(sortIndex(index))
	}
	order, err := orderBy(s.Query.Sort, false)
	if err != nil {
		return nil, err
	}
	for _, condition := range ranges {
		found, err := store.All(s.view, store.ScanValue[int64],
			pageOf(from+` WHERE `+condition+` AND `+s.whereAvailable(), order),
			s.values(store.Fetch{Take: reach.Take - int64(len(rows))}))
		if rows = append(rows, found...); err != nil || int64(len(rows)) == reach.Take {
			return rows, err
		}
	}
	return rows, nil
}

// values are the arguments of the search and of a page.
func (s *search) values(reach store.Fetch) store.Named {
	s.Args["limit"], s.Args["offset"] = reach.Take, reach.Skip
	return s.Args
}

func pageOf(candidates, order string) string {
	return `SELECT p.row FROM ` + candidates + ` ORDER BY ` + order + ` LIMIT @limit OFFSET @offset`
}

// cellShare is the largest share of the matches that fromEachCell may read. For each perk it takes five times as long
// as allMatches.
const cellShare = 5

// candidates is what follows FROM: all matches, or a few of them that certainly include the page. The exact total and
// the window decide.
func (s *search) candidates(order string, reach store.Fetch, total int64) string {
	isByTime := s.Query.Near != nil && s.SortsOnlyBy("created_at") // as each cell has them
	if isByTime && store.Circle(*s.Query.Near).Cells()*(reach.Skip+reach.Take) < total/cellShare {
		return s.fromEachCell(order)
	}
	return s.allMatches()
}

// fromEachCell is the first matches of each cell, as many as the page may need. They are selected by the columns of the
// index, so that SQLite finds them in the index again. Selected by row id, each would be read from another page of the
// table. created_at alone is not unique: one import can give every perk the same.
func (s *search) fromEachCell(order string) string {
	var numbers []int
	for _, cells := range store.Circle(*s.Query.Near).Cover() {
		for number := cells.First; number <= cells.Last; number++ {
			numbers = append(numbers, number)
		}
	}
	s.Args["numbers"] = asJSON(numbers)
	return `json_each(@numbers) AS cell CROSS JOIN perks AS p INDEXED BY ` + s.indexName(`perks_in_cell`) + `
		ON p.cell = cell.value AND (p.created_at, p.id) IN (
			SELECT p.created_at, p.id FROM perks AS p INDEXED BY ` + s.indexName(`perks_in_cell`) + `
			WHERE p.cell = cell.value AND ` + s.whereAvailable() + ` ORDER BY ` + order + ` LIMIT @limit + @offset)`
}

// allMatches is all matches, in the order of an index or to be sorted.
func (s *search) allMatches() string {
	index := ""
	if len(s.Query.Sort) > 0 {
		index = sortIndex(s.Query.Sort[0].Field)
	}
	return s.from(index) + ` WHERE ` + s.whereAvailable()
}

// View is part of store.PerkSearch.
func (s *search) View() store.Querier { return s.view }

func (s *search) CountMatches(most int64) (store.Count, error) {
	return s.Count(s.view, s.from(``)+` WHERE `+s.where(), most)
}

func (s *search) CountUnavailable(int64) (int64, error) {
	return store.One(s.view, store.ScanValue[int64], `
		SELECT count(*) FROM perks AS p WHERE p.row IN `+unavailable+` AND `+s.whereAnywhere(), s.Args)
}
