package sqlite

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"modernc.org/sqlite"

	"example.com/perks/api"
	"example.com/perks/store"
)

// search is a store.Search with what SQLite does in its own way.
type search struct{ store.Search }

const (
	taken = `(SELECT perk FROM perk_stock WHERE held >= stock
		UNION SELECT perk FROM redemptions WHERE user_id = @user AND status <> 'rejected')`
	inCategories = `p.category_fold IN (SELECT value FROM json_each(@categories))`
	withWords    = `p.row IN (SELECT rowid FROM perk_words WHERE perk_words MATCH @words)`
)

// newSearch looks up what the query names. An unknown user is UserNotFound.
func newSearch(v view, query store.PerkQuery) (*search, error) {
	if query.AvailableTo != "" && !query.AnyUser {
		missing := store.UserNotFound(query.AvailableTo)
		if _, err := store.Found(missing, v, store.ScanValue[string], `SELECT id FROM users WHERE id = $1`, query.AvailableTo); err != nil {
			return nil, err
		}
	}
	var categories []string
	if query.Category != "" { // the text can be the name of one and the id of another
		var err error
		categories, err = store.All(v, store.ScanValue[string], `
			SELECT name_fold FROM categories WHERE name_fold = $1
			UNION SELECT name_fold FROM categories WHERE lower(id) = $1`, store.Fold(query.Category))
		if err != nil {
			return nil, err
		}
	}
	s := &search{store.NewSearch(query, categories, inCategories)}
	if query.Near != nil {
		s.Args["cells"] = asJSON(store.Circle(*query.Near).Cover())
	}
	if s.HasWords() { // letters, digits and marks alone: nothing to escape
		s.Args["words"] = `"` + strings.Join(s.Words, `"* "`) + `"*`
	}
	return s, nil
}

// from is the tables that candidates are read from. The circle and the words are looked up in indexes of their own, and
// their CROSS JOIN keeps SQLite from turning that round. A city or a category has its index; all perks are read over the
// one that is given, unless it is "".
func (s *search) from(index string) string {
	switch {
	case s.Query.Near != nil:
		return `json_each(@cells) AS run CROSS JOIN perks AS p INDEXED BY perks_in_cell
			ON p.cell BETWEEN run.value ->> 'First' AND run.value ->> 'Last'`
	case s.HasWords():
		return `perk_words CROSS JOIN perks AS p ON p.row = perk_words.rowid AND perk_words MATCH @words`
	case s.Query.City != "" || s.Query.Category != "" || index == "":
		return `perks AS p`
	}
	return `perks AS p INDEXED BY ` + index
}

// where is the conditions on candidates that come from from.
func (s *search) where() string {
	if s.Query.Near == nil {
		return s.Where()
	}
	return s.whereAnywhere()
}

// whereAnywhere is the conditions on perks that come from anywhere.
func (s *search) whereAnywhere() string {
	if s.HasWords() {
		return s.Where(withWords)
	}
	return s.Where()
}

// whereAvailable is where, without what the user that the query names cannot have.
func (s *search) whereAvailable() string {
	if s.Query.AvailableTo == "" {
		return s.where()
	}
	return s.where() + ` AND p.row NOT IN ` + taken
}

const (
	manyMatches  = 2000 // fewer are gathered and sorted in two milliseconds
	circleGrowth = 8    // of how many each narrower circle may hold
)

// nearest finds a page that is reached from the centre of a circle in narrower circles around it, so that what is far from
// there is not sorted. Words are not looked up for one circle after the other. It is nil if the page is not such, or is in none of them: only then the whole circle is searched.
func (s *search) nearest(v view, reach store.Reach, total int64) ([]int64, error) {
	if s.Query.Near == nil || s.HasWords() || !s.IsNearest(reach.FromEnd) || total <= manyMatches {
		return nil, nil
	}
	for _, circle := range store.Circle(*s.Query.Near).Narrower(reach.Skip+reach.Take, total, circleGrowth) {
		query := s.Query
		query.Near = (*api.Circle)(&circle)
		narrow, err := newSearch(v, query)
		if err != nil {
			return nil, err
		}
		rows, err := narrow.find(v, reach, total)
		if err != nil || int64(len(rows)) == reach.Take {
			return rows, err
		}
	}
	return nil, nil
}

var perkOrder = store.PerkOrder(func(field string) string { return `fold(p.` + field + `)` }, `min`, false)

func init() {
	sqlite.MustRegisterDeterministicScalarFunction("fold", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		if text, ok := args[0].(string); ok {
			return store.Fold(text), nil
		}
		return args[0], nil
	})
}

// sortIndex names the index that serves the order of all perks by the key, or "". SQLite then sorts by other keys among equals only.
func sortIndex(key api.SortKey) string {
	switch {
	case key.Field == "id":
		return `sqlite_autoindex_perks_1`
	case !perkOrder.Columns[key.Field].Indexed: // folded and sorted anew for each page
		return ""
	case key.Desc:
		return `perks_` + key.Field + `_desc`
	}
	return `perks_` + key.Field + `_asc`
}

// ListPerks returns one page of the perks that match, as of one moment.
func (db *DB) ListPerks(ctx context.Context, query store.PerkQuery) (store.List[api.Perk], error) {
	list := store.List[api.Perk]{Items: []api.Perk{}}
	err := db.read(ctx, "list perks", func(v view) error {
		s, err := newSearch(v, query)
		if err != nil || s.IsEmpty() {
			return err
		}
		if list.Total, err = s.total(v, db.totals); err != nil {
			return err
		}
		rows, err := s.page(v, list.Total)
		if err != nil {
			return err
		}
		list.Items, err = store.All(v, store.ScanPerk, `
			SELECT `+store.PerkColumns+` FROM json_each($1) AS place CROSS JOIN perks AS p ON p.row = place.value
			ORDER BY place.key`, asJSON(rows))
		return err
	})
	if err != nil {
		return store.List[api.Perk]{}, err
	}
	return list, nil
}

// page finds the rows of the window over indexes, without reading the perks before it. A window past the middle is
// reached from the other end.
func (s *search) page(v view, total int64) ([]int64, error) {
	reach := s.Query.Window.Reach(total)
	if reach.Take == 0 {
		return nil, nil
	}
	rows, err := s.nearest(v, reach, total)
	if err == nil && rows == nil {
		rows, err = s.find(v, reach, total)
	}
	if reach.FromEnd {
		slices.Reverse(rows)
	}
	return rows, err
}

// find returns rows in the order in which they are reached.
func (s *search) find(v view, reach store.Reach, total int64) ([]int64, error) {
	order, err := perkOrder.By(s.Query.Sort, reach.FromEnd)
	if err != nil {
		return nil, err
	}
	return store.All(v, store.ScanValue[int64], pageOf(s.candidates(order, reach, total), order), s.values(reach))
}

// values are the search's own, and those of a page.
func (s *search) values(reach store.Reach) store.Named {
	s.Args["limit"], s.Args["offset"] = reach.Take, reach.Skip
	return s.Args
}

func pageOf(candidates, order string) string {
	return `SELECT p.row FROM ` + candidates + ` ORDER BY ` + order + ` LIMIT @limit OFFSET @offset`
}

// A perk that is found in its cell and looked up there once more takes five times as long as one that is gathered. So the
// cells are worth it if they give at most this share of what matches.
const cellShare = 5

// candidates are the perks that a page is found among, as what follows FROM: all that match, or few of them that surely
// hold the page. The total and the window decide, which are exact.
func (s *search) candidates(order string, reach store.Reach, total int64) string {
	isByTime := s.Query.Near != nil && s.SortsOnlyBy("created_at") // as each cell has them
	if isByTime && store.Circle(*s.Query.Near).Cells()*(reach.Skip+reach.Take) < total/cellShare {
		return s.fromEachCell(order)
	}
	return s.gathered()
}

// fromEachCell is the first of what matches in each cell, as many as the page may need of it. They are named by all that
// the index is ordered by, so that they are found again where they were just read: by their rows they would be read from
// the table, in a million perks each from another page. The bare time would do as well, but one import can give every
// perk the same.
func (s *search) fromEachCell(order string) string {
	var numbers []int
	for _, run := range store.Circle(*s.Query.Near).Cover() {
		for number := run.First; number <= run.Last; number++ {
			numbers = append(numbers, number)
		}
	}
	s.Args["numbers"] = asJSON(numbers)
	return `json_each(@numbers) AS cell CROSS JOIN perks AS p INDEXED BY perks_in_cell
		ON p.cell = cell.value AND (p.created_at, p.id) IN (
			SELECT p.created_at, p.id FROM perks AS p INDEXED BY perks_in_cell
			WHERE p.cell = cell.value AND ` + s.whereAvailable() + ` ORDER BY ` + order + ` LIMIT @limit + @offset)`
}

// gathered is all that matches, to be walked on an index in the order or to be sorted.
func (s *search) gathered() string {
	index := ""
	if len(s.Query.Sort) > 0 {
		index = sortIndex(s.Query.Sort[0])
	}
	return s.from(index) + ` WHERE ` + s.whereAvailable()
}

// total is how many perks match the search. What one user cannot have is counted apart, because that changes with every
// redemption, and there is little of it.
func (s *search) total(v view, totals *store.Totals) (int64, error) {
	version, err := store.One(v, store.ScanValue[int64], `SELECT version FROM catalog`)
	if err != nil {
		return 0, err
	}
	matching, err := totals.Of(v.ctx, s.Query, s.Categories, version, func() (store.Count, error) {
		return store.One(v, func(r row) (c store.Count, err error) {
			return c, r.Scan(&c.Matching, &c.Since, &c.Till)
		}, `SELECT (SELECT count(*) FROM `+s.from(``)+` WHERE `+s.where()+`),
			(SELECT max(at) FROM (SELECT max(valid_to) AS at FROM perks WHERE valid_to <= @at
				UNION ALL SELECT max(valid_from) FROM perks WHERE valid_from <= @at)),
			(SELECT min(at) FROM (SELECT min(valid_to) AS at FROM perks WHERE valid_to > @at
				UNION ALL SELECT min(valid_from) FROM perks WHERE valid_from > @at))`, s.Args)
	})
	if err != nil || s.Query.AvailableTo == "" {
		return matching, err
	}
	unavailable, err := store.One(v, store.ScanValue[int64], `
		SELECT count(*) FROM perks AS p WHERE p.row IN `+taken+` AND `+s.whereAnywhere(), s.Args)
	return matching - unavailable, err
}
