package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strings"

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
	s := &search{query: query, words: store.QueryWords(query.Text)}
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
		s.requireNear(*query.Near)
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
	s.categories, err = all(v, scanValue[string], `
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

func requireUser(q queryer, id string, any bool) error {
	if any {
		return nil
	}
	_, err := found(store.UserNotFound(id), q, scanValue[string], `SELECT id FROM users WHERE id = ?`, id)
	return err
}
