package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"modernc.org/sqlite"

	"example.com/perks/api"
	"example.com/perks/store"
)

// search is a PerkQuery in SQL: where candidates come from, and what they must satisfy. Its texts are constants of this
// file; every value is a named argument.
type search struct {
	query      store.PerkQuery
	words      []string
	categories []string // folded names; nil without the filter
	conditions []string
	args       []any
}

// The dates are written so that SQLite does not look them up in an index: most perks are valid, and the index that serves
// the order is worth more.
const (
	notExpired = `ifnull(p.valid_to > :at, true)`
	begun      = `ifnull(p.valid_from <= :at, true)`
	taken      = `(SELECT perk FROM perk_stock WHERE held >= stock
		UNION SELECT perk FROM redemptions WHERE user_id = :user AND status <> 'rejected')`
	inCity       = `p.city_fold = :city`
	inCategory   = `p.category_fold = :category`
	inCategories = `p.category_fold IN (SELECT value FROM json_each(:category))`
	withWords    = `p.row IN (SELECT rowid FROM perk_words WHERE perk_words MATCH :words)`
	inBox        = `p.lat BETWEEN :south AND :north AND p.lng BETWEEN :west AND :east`
	inBoxAcross  = `p.lat BETWEEN :south AND :north AND (p.lng >= :west OR p.lng <= :east)`
)

// haversine is the haversine of the angle between a perk and the centre, from 0 to 1. It grows with the distance, and
// comparing it spares each candidate the way from it to kilometres; inCircle compares it to that of the radius.
var (
	haversine = fmt.Sprintf(`(pow(sin((p.lat - :lat) * %[1]v), 2) +
		:cos_lat * cos(p.lat * %[2]v) * pow(sin((p.lng - :lng) * %[1]v), 2))`, math.Pi/360, math.Pi/180)
	inCircle = haversine + ` <= :haversine`
	// distance is store.DistanceKM in millimetres.
	distance = fmt.Sprintf(`CAST(round(%v * asin(min(1.0, sqrt(%s)))) AS INTEGER)`, 2*store.EarthRadiusKM*1e6, haversine)
)

// newSearch looks up what the query names. An unknown user is UserNotFound.
func newSearch(v view, query store.PerkQuery) (*search, error) {
	s := &search{query: query, words: store.QueryWords(query.Query)}
	s.name("at", query.At.UnixMicro())
	if query.AvailableTo != "" {
		if err := requireUser(v, query.AvailableTo, query.AnyUser); err != nil {
			return nil, err
		}
		s.name("user", query.AvailableTo)
	}
	if query.OnlyValid() {
		s.require(notExpired)
	}
	if query.OnlyBegun() {
		s.require(begun)
	}
	if query.City != "" {
		s.require(inCity)
		s.name("city", store.Fold(query.City))
	}
	if query.Category != "" {
		if err := s.requireCategory(v); err != nil {
			return nil, err
		}
	}
	if query.Near != nil {
		s.requireNear(store.Circle(*query.Near))
	}
	if s.hasWords() {
		s.name("words", matchExpression(s.words))
	}
	return s, nil
}

func (s *search) require(condition string)    { s.conditions = append(s.conditions, condition) }
func (s *search) name(name string, value any) { s.args = append(s.args, sql.Named(name, value)) }
func (s *search) hasWords() bool              { return len(s.words) > 0 }

// isEmpty holds when the category is not known, so that no perk can match.
func (s *search) isEmpty() bool { return s.query.Category != "" && len(s.categories) == 0 }

// requireCategory finds the category by its name or its id; the text can be the name of one and the id of another.
func (s *search) requireCategory(v view) (err error) {
	folded := store.Fold(s.query.Category)
	s.categories, err = store.All(v, store.ScanValue[string], `
		SELECT name_fold FROM categories WHERE name_fold = ?
		UNION SELECT name_fold FROM categories WHERE lower(id) = ?`, folded, folded)
	if err != nil {
		return err
	}
	if len(s.categories) == 1 {
		s.require(inCategory)
		s.name("category", s.categories[0])
		return nil
	}
	s.require(inCategories)
	s.name("category", asJSON(s.categories))
	return nil
}

func (s *search) requireNear(circle store.Circle) {
	box := circle.Box()
	if box.CrossesAntimeridian() {
		s.require(inBoxAcross)
	} else {
		s.require(inBox)
	}
	s.require(inCircle)
	s.name("south", box.South)
	s.name("west", box.West)
	s.name("north", box.North)
	s.name("east", box.East)
	s.name("lat", circle.Lat)
	s.name("lng", circle.Lng)
	s.name("cos_lat", math.Cos(circle.Lat*math.Pi/180))
	s.name("haversine", circle.Haversine())
	s.name("cells", asJSON(circle.Cover()))
}

// from is the tables that candidates are read from. The circle and the words are looked up in indexes of their own, and
// their CROSS JOIN keeps SQLite from turning that round. A city or a category has its index; all perks are read over the
// one that is given, unless it is "".
func (s *search) from(index string) string {
	switch {
	case s.query.Near != nil:
		return `json_each(:cells) AS run CROSS JOIN perks AS p INDEXED BY perks_in_cell
			ON p.cell BETWEEN run.value ->> 'First' AND run.value ->> 'Last'`
	case s.hasWords():
		return `perk_words CROSS JOIN perks AS p ON p.row = perk_words.rowid AND perk_words MATCH :words`
	case s.query.City != "" || s.query.Category != "" || index == "":
		return `perks AS p`
	}
	return `perks AS p INDEXED BY ` + index
}

// where is the conditions on candidates that come from from.
func (s *search) where() string {
	conditions := s.conditions
	if s.query.Near != nil && s.hasWords() {
		conditions = append(conditions[:len(conditions):len(conditions)], withWords)
	}
	return whereAll(conditions)
}

// whereAnywhere is the conditions on perks that come from anywhere.
func (s *search) whereAnywhere() string {
	conditions := s.conditions
	if s.hasWords() {
		conditions = append(conditions[:len(conditions):len(conditions)], withWords)
	}
	return whereAll(conditions)
}

// whereAvailable is where, without what the user that the query names cannot have.
func (s *search) whereAvailable() string {
	if s.query.AvailableTo == "" {
		return s.where()
	}
	return s.where() + ` AND p.row NOT IN ` + taken
}

func whereAll(conditions []string) string {
	if len(conditions) == 0 {
		return `true`
	}
	return strings.Join(conditions, ` AND `)
}

// matchExpression asks FTS5 for every word as a prefix. Words hold letters, digits and marks alone: nothing to escape.
func matchExpression(words []string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteString(`"` + word + `"* `)
	}
	return b.String()
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and numbers can always be written
	}
	return string(text)
}

func requireUser(q store.Querier, id string, any bool) error {
	if any {
		return nil
	}
	_, err := store.Found(store.UserNotFound(id), q, store.ScanValue[string], `SELECT id FROM users WHERE id = ?`, id)
	return err
}

const (
	manyMatches  = 2000 // fewer are gathered and sorted in two milliseconds
	circleGrowth = 8    // of how many each narrower circle may hold
)

// nearest finds a page that is reached from the centre of a circle in narrower circles around it, so that what is far from
// there is not sorted. It is nil if the page is not such, or is in none of them: only then the whole circle is searched.
func (s *search) nearest(v view, reach store.Reach, total int64) ([]int64, error) {
	if !s.isNearest(reach.FromEnd) || total <= manyMatches {
		return nil, nil
	}
	for _, circle := range store.Circle(*s.query.Near).Narrower(reach.Skip+reach.Take, total, circleGrowth) {
		query := s.query
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

// isNearest holds when the page is reached from the centre of the circle. Words are not looked up for one circle after the
// other.
func (s *search) isNearest(fromEnd bool) bool {
	return s.query.Near != nil && !s.hasWords() && len(s.query.Sort) > 0 &&
		s.query.Sort[0].Field == api.SortDistance && s.query.Sort[0].Desc == fromEnd
}

// sortColumn is what a field is sorted by.
type sortColumn struct {
	text     string
	nullable bool
}

// perkSortColumns are the fields that perks can be sorted by.
var perkSortColumns = map[string]sortColumn{
	"id":             {`p.id`, false},
	"description":    {`fold(p.description)`, false},
	"image_url":      {`fold(p.image_url)`, true},
	"discount_text":  {`fold(p.discount_text)`, true},
	"terms":          {`fold(p.terms)`, true},
	"title":          {`p.title_fold`, false},
	"category":       {`p.category_fold`, true},
	"merchant_name":  {`p.merchant_name_fold`, true},
	"city":           {`p.city_fold`, false},
	"valid_from":     {`p.valid_from`, true},
	"valid_to":       {`p.valid_to`, true},
	"created_at":     {`p.created_at`, false},
	"updated_at":     {`p.updated_at`, false},
	api.SortDistance: {distance, false},
}

func init() {
	sqlite.MustRegisterDeterministicScalarFunction("fold", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		if text, ok := args[0].(string); ok {
			return store.Fold(text), nil
		}
		return args[0], nil
	})
}

// sortIndexes serve the order of all perks by one field, ascending and descending. The fields that are not here are folded
// and sorted anew for each page.
var sortIndexes = map[string][2]string{
	"title":         {`perks_title_asc`, `perks_title_desc`},
	"category":      {`perks_category_asc`, `perks_category_desc`},
	"merchant_name": {`perks_merchant_name_asc`, `perks_merchant_name_desc`},
	"city":          {`perks_city_asc`, `perks_city_desc`},
	"id":            {`sqlite_autoindex_perks_1`, `sqlite_autoindex_perks_1`},
	"valid_from":    {`perks_valid_from_asc`, `perks_valid_from_desc`},
	"valid_to":      {`perks_valid_to_asc`, `perks_valid_to_desc`},
	"created_at":    {`perks_created_at_asc`, `perks_created_at_desc`},
	"updated_at":    {`perks_updated_at_asc`, `perks_updated_at_desc`},
}

// indexFor names the index that serves the first field, or "". SQLite then sorts by the other fields among equals only.
func indexFor(keys []api.SortKey) string {
	switch {
	case len(keys) == 0:
		return ""
	case keys[0].Desc:
		return sortIndexes[keys[0].Field][1]
	}
	return sortIndexes[keys[0].Field][0]
}

// orderBy writes the order, or the same order read from its other end, which SQLite walks on the same index.
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

// direction says where nulls go only where SQLite would put them elsewhere: to it they are less than every value, and
// telling it what is so anyway keeps it from using the index.
func direction(column sortColumn, descending, fromEnd bool) string {
	switch {
	case descending && fromEnd:
		return ` ASC`
	case descending:
		return ` DESC`
	case column.nullable && fromEnd:
		return ` DESC NULLS FIRST`
	case column.nullable:
		return ` ASC NULLS LAST`
	case fromEnd:
		return ` DESC`
	}
	return ` ASC`
}

// ListPerks returns one page of the perks that match, as of one moment.
func (db *DB) ListPerks(ctx context.Context, query store.PerkQuery) (store.List[api.Perk], error) {
	list := store.List[api.Perk]{Items: []api.Perk{}}
	err := db.read(ctx, "list perks", func(v view) error {
		s, err := newSearch(v, query)
		if err != nil || s.isEmpty() {
			return err
		}
		if list.Total, err = s.total(v, db.totals); err != nil {
			return err
		}
		rows, err := s.page(v, list.Total)
		if err != nil {
			return err
		}
		list.Items, err = perksAt(v, rows)
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
	reach := s.query.Window.Reach(total)
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
	order, err := orderBy(perkSortColumns, s.query.Sort, `p.id`, reach.FromEnd)
	if err != nil {
		return nil, err
	}
	text := pageOf(s.candidates(order, reach, total), order)
	return store.All(v, store.ScanValue[int64], text, append(slices.Clone(s.args), sql.Named("limit", reach.Take), sql.Named("offset", reach.Skip))...)
}

func pageOf(candidates, order string) string {
	return `SELECT p.row FROM ` + candidates + ` ORDER BY ` + order + ` LIMIT :limit OFFSET :offset`
}

// perksAt reads perks by their rows, in the order of the rows.
func perksAt(v view, rows []int64) ([]api.Perk, error) {
	return store.All(v, scanPerk, `
		SELECT `+perkColumns+` FROM json_each(?) AS place CROSS JOIN perks AS p ON p.row = place.value
		ORDER BY place.key`, asJSON(rows))
}

// A perk that is found in its cell and looked up there once more takes five times as long as one that is gathered. So the
// cells are worth it if they give at most this share of what matches.
const cellShare = 5

// candidates are the perks that a page is found among, as what follows FROM: all that match, or few of them that surely
// hold the page. The total and the window decide, which are exact.
func (s *search) candidates(order string, reach store.Reach, total int64) string {
	if s.isByTime() && store.Circle(*s.query.Near).Cells()*(reach.Skip+reach.Take) < total/cellShare {
		return s.fromEachCell(order)
	}
	return s.gathered()
}

// isByTime holds when a circle's perks are asked for in the order in which each of its cells has them.
func (s *search) isByTime() bool {
	return s.query.Near != nil && len(s.query.Sort) == 1 && s.query.Sort[0].Field == "created_at"
}

// fromEachCell is the first of what matches in each cell, as many as the page may need of it. They are named by all that
// the index is ordered by, so that they are found again where they were just read: by their rows they would be read from
// the table, in a million perks each from another page. The bare time would do as well, but one import can give every
// perk the same.
func (s *search) fromEachCell(order string) string {
	var numbers []int
	for _, run := range store.Circle(*s.query.Near).Cover() {
		for number := run.First; number <= run.Last; number++ {
			numbers = append(numbers, number)
		}
	}
	s.name("numbers", asJSON(numbers))
	return `json_each(:numbers) AS cell CROSS JOIN perks AS p INDEXED BY perks_in_cell
		ON p.cell = cell.value AND (p.created_at, p.id) IN (
			SELECT p.created_at, p.id FROM perks AS p INDEXED BY perks_in_cell
			WHERE p.cell = cell.value AND ` + s.whereAvailable() + ` ORDER BY ` + order + ` LIMIT :limit + :offset)`
}

// gathered is all that matches, to be walked on an index in the order or to be sorted.
func (s *search) gathered() string {
	return s.from(indexFor(s.query.Sort)) + ` WHERE ` + s.whereAvailable()
}
