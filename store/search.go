package store

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// Search is a PerkQuery in SQL: the conditions on perks AS p. Its texts are constants; every value is a named argument.
type Search struct {
	Version    int64 // of the catalog
	Order      Order // of the list
	Query      PerkQuery
	Words      []string
	Categories []string // folded names; nil without the filter
	Conditions []string // but for the words'
	Args       Named
}

// coalesce keeps the databases from using an index for the dates: most perks are valid, so the index that serves the
// order is better.
const (
	notExpired  = `coalesce(p.valid_to > @at, true)`
	started     = `coalesce(p.valid_from <= @at, true)`
	inCity      = `p.city_fold = @city`
	inCategory  = `p.category_fold = @category`
	inBox       = `p.lat BETWEEN @south AND @north AND p.lng BETWEEN @west AND @east`
	inBoxAcross = `p.lat BETWEEN @south AND @north AND (p.lng >= @west OR p.lng <= @east)`
)

// haversine is that of the angle between a perk and the centre, from 0 to 1. It grows with the distance. Comparing it
// with the haversine of the radius is cheaper than computing kilometres for each candidate.
var haversine = fmt.Sprintf(`(power(sin((p.lat - @lat) * %[1]v), 2) +
	@cos_lat * cos(p.lat * %[2]v) * power(sin((p.lng - @lng) * %[1]v), 2))`, math.Pi/360, math.Pi/180)

// NewSearch returns the search for a query. categories are the folded names of the categories with the query's name or
// id, and inCategories is the driver's condition that a perk is in one of @categories.
func NewSearch(query PerkQuery, categories []string, inCategories string) Search {
	s := Search{Query: query, Words: QueryWords(query.Query), Categories: categories,
		Args: Named{"at": query.At.Truncate(time.Microsecond)}}
	if query.AvailableTo != "" {
		s.Args["user"] = query.AvailableTo
	}
	if query.OnlyValid() {
		s.Require(notExpired)
	}
	if query.OnlyStarted() {
		s.Require(started)
	}
	if query.City != "" {
		s.Require(inCity)
		s.Args["city"] = Fold(query.City)
	}
	switch {
	case query.Category == "":
	case len(categories) == 1:
		s.Require(inCategory)
		s.Args["category"] = categories[0]
	default:
		s.Require(inCategories)
		s.Args["categories"] = categories
	}
	if query.Near != nil {
		circle := Circle(*query.Near)
		box := circle.Box()
		if box.CrossesAntimeridian() {
			s.Require(inBoxAcross)
		} else {
			s.Require(inBox)
		}
		s.Require(haversine + ` <= @haversine`)
		s.Args["south"], s.Args["west"], s.Args["north"], s.Args["east"] = box.South, box.West, box.North, box.East
		s.Args["lat"], s.Args["lng"], s.Args["cos_lat"] = circle.Lat, circle.Lng, math.Cos(radians(circle.Lat))
		s.Args["haversine"] = circle.Haversine()
	}
	return s
}

// Common is part of PerkSearch.
func (s *Search) Common() *Search { return s }

// Require adds a condition.
func (s *Search) Require(condition string) { s.Conditions = append(s.Conditions, condition) }

// HasWords tells whether the query asks for words.
func (s *Search) HasWords() bool { return len(s.Words) > 0 }

// IsEmpty reports whether no perk can match because the category is unknown.
func (s *Search) IsEmpty() bool { return s.Query.Category != "" && len(s.Categories) == 0 }

// Where joins all conditions.
func (s *Search) Where(more ...string) string {
	if len(s.Conditions)+len(more) == 0 {
		return `true`
	}
	return strings.Join(slices.Concat(s.Conditions, more), ` AND `)
}

// SortsBy reports whether the field is the first key of the order.
func (s *Search) SortsBy(field string) bool {
	return len(s.Query.Sort) > 0 && s.Query.Sort[0].Field == field
}

// SortsOnlyBy reports whether the field is the only key of the order.
func (s *Search) SortsOnlyBy(field string) bool { return len(s.Query.Sort) == 1 && s.SortsBy(field) }

// SetOrder sets the order, with the relevance. position is the function that finds a text in another one, from 1.
func (s *Search) SetOrder(o Order, position string) {
	o.Columns = maps.Clone(o.Columns)
	o.Columns[api.SortRelevance] = SortColumn{`CASE WHEN ` + s.InTitle(position) + ` THEN 0 ELSE 1 END`, false, false}
	s.Order = o
}

// InTitle is the condition that the title of a perk contains all words.
func (s *Search) InTitle(position string) string {
	conditions := []string{`true`}
	for i, word := range s.Words {
		name := fmt.Sprintf("word_%d", i)
		s.Args[name] = word
		conditions = append(conditions, position+`(p.title_fold, @`+name+`) > 0`)
	}
	return strings.Join(conditions, ` AND `)
}

// Count counts the matches, which follow FROM, at most this many unless that is 0.
func (s *Search) Count(q Querier, matches string, most int64) (Count, error) {
	return One(q, func(r Scanner) (c Count, err error) { return c, r.Scan(&c.Matching, &c.Since, &c.Till) },
		CountText(matches, most), s.Args)
}

// CountText is the statement of Count.
func CountText(matches string, most int64) string {
	if most > 0 {
		matches = fmt.Sprintf(`(SELECT 1 FROM %s LIMIT %d) AS first`, matches, most)
	}
	return `SELECT (SELECT count(*) FROM ` + matches + `),
		(SELECT max(at) FROM (SELECT max(valid_to) AS at FROM perks WHERE valid_to <= @at
			UNION ALL SELECT max(valid_from) FROM perks WHERE valid_from <= @at) AS before),
		(SELECT min(at) FROM (SELECT min(valid_to) AS at FROM perks WHERE valid_to > @at
			UNION ALL SELECT min(valid_from) FROM perks WHERE valid_from > @at) AS after)`
}

// IsNearest reports whether the page is read from the centre of the circle outwards.
func (s *Search) IsNearest(fromEnd bool) bool {
	return s.SortsBy(api.SortDistance) && s.Query.Sort[0].Desc == fromEnd
}

// Order says how a list can be sorted.
type Order struct {
	Columns       map[string]SortColumn // by the field
	ID            string                // of these
	NullsGreatest bool                  // the database sorts nulls after every value; otherwise before
}

// SortColumn is what a field is sorted by.
type SortColumn struct {
	Text              string
	Nullable, Indexed bool // Indexed in either direction
}

// By returns the terms of ORDER BY, reversed if the list is read from its end. Equal ones are ordered by id, in the
// direction of the last key: one index serves both directions.
func (o Order) By(keys []api.SortKey, fromEnd bool) (string, error) {
	var terms []string
	descending := false
	for _, key := range keys {
		column, ok := o.Columns[key.Field]
		if !ok {
			return "", fmt.Errorf("there is no order by %q", key.Field)
		}
		terms = append(terms, column.Text+o.direction(column, key.Desc, fromEnd))
		if column.Text == o.ID { // unique, so no further key matters
			return strings.Join(terms, `, `), nil
		}
		descending = key.Desc
	}
	return strings.Join(append(terms, o.ID+o.direction(SortColumn{}, descending, fromEnd)), `, `), nil
}

// Serves tells whether an index has the order, at least by its first key.
func (o Order) Serves(keys []api.SortKey) bool {
	return len(keys) == 0 || o.Columns[keys[0].Field].Indexed
}

// Within returns the terms of By for one of Ranges: there the first key is nowhere null, or everywhere, and an index
// serves the order.
func (o Order) Within(keys []api.SortKey, fromEnd bool) (string, error) {
	if len(keys) > 0 {
		first := o.Columns[keys[0].Field]
		first.Nullable = false
		o.Columns = maps.Clone(o.Columns)
		o.Columns[keys[0].Field] = first
	}
	return o.By(keys, fromEnd)
}

// direction says where nulls sort only if that is not the database's default: PostgreSQL uses an index only if its
// nulls are at the same end, and SQLite uses none if the default is spelled out.
func (o Order) direction(column SortColumn, descending, fromEnd bool) string {
	text, nullsFirst := ` ASC`, !o.NullsGreatest
	if descending != fromEnd {
		text, nullsFirst = ` DESC`, o.NullsGreatest
	}
	switch {
	case !column.Nullable || nullsFirst == fromEnd:
		return text
	case fromEnd:
		return text + ` NULLS FIRST`
	}
	return text + ` NULLS LAST`
}
