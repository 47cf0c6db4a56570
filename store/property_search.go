package store

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/perks/api"
)

// There is an index for each order of all listings, of a client's, of a city's, and of those with one number of bedrooms. No index has every
// filter in every order. A filter that the index does not have lets many listings of the order through, or few, or many that come late. So a
// search tries two ways in turn, each time for longer, until one has found enough, and can be divided:
//
//   - walk: read the index of the order, and compare each listing with the filters
//   - collect: read all listings of one filter, compare each with the others, and sort
//   - divide: search among the listings with each number of bedrooms, because the price follows from it: the cheapest large homes come late

// propertyBudgets are how many listings a search looks at in each way before it tries the next one. Then it walks to the end.
var propertyBudgets = []int64{200, 2000, 20_000}

const (
	// wordBudget is the first budget with which matches of words are looked up: their index finds all before it returns one. Then some more are
	// collected, because a walk reads the words of each listing from the table.
	wordBudget, fewWithWords = 2000, 5000
	// maxDivisions is for how many numbers of bedrooms a search is divided.
	maxDivisions = 50
)

// propertySearch is a PropertyQuery in SQL. Its texts are constants; every value is a named argument.
type propertySearch struct {
	*Dialect
	q          Querier
	sort       api.SortKey
	after      *Cursor
	isPast     bool // the cursor comes after everything that the filter lets through
	isCount    bool // then any of what matches will do
	conditions []propertyCondition
	words      []string
	args       Named
}

// propertyCondition is a filter.
type propertyCondition struct {
	on   propertyKey
	text string
}

// propertyKey is what a filter is about. An index begins with the first of ofNumber, ofCity and ofOwner that the query asks for.
type propertyKey int

const (
	ofNumber propertyKey = iota // one number of bedrooms, of a search that is divided
	ofCity
	ofOwner
	ofAll // the key of no filter
	fromBedrooms
	toBedrooms
	fromPrice
	toPrice
	inWords
)

// listedProperty is a listing with all that it can be sorted by.
type listedProperty struct {
	id, bedrooms int64
	price        string // api.Price.SortKey
}

func (l listedProperty) sortValue(field string) any {
	switch field {
	case "price_pw":
		return l.price
	case "bedrooms":
		return l.bedrooms
	}
	return l.id
}

func (o Operations) newPropertySearch(q Querier, query PropertyQuery) propertySearch {
	s := propertySearch{Dialect: o.db.Dialect, q: q, after: query.After, sort: api.SortKey{Field: "propertyId"}, args: Named{}}
	if len(query.Sort) > 0 {
		s.sort = query.Sort[0]
	}
	// The cursor of the first and of the last listing that can match.
	low, high := listedProperty{math.MinInt64, math.MinInt64, ""}, listedProperty{math.MaxInt64, math.MaxInt64, "~"}
	if city := cityKey(query.City); city != "" {
		s.require(ofCity, `p.city_fold = @city`, "city", city)
	}
	if query.Owner != "" {
		s.require(ofOwner, `p.owner = @owner`, "owner", query.Owner)
	}
	if query.MinPrice != nil {
		low.price = query.MinPrice.SortKey()
		s.require(fromPrice, `p.price_key >= @min_price`, "min_price", low.price)
	}
	if query.MaxPrice != nil {
		high.price = query.MaxPrice.SortKey()
		s.require(toPrice, `p.price_key <= @max_price`, "max_price", high.price)
	}
	if query.MinBedrooms != nil {
		low.bedrooms = int64(*query.MinBedrooms)
		s.require(fromBedrooms, `p.bedrooms >= @min_bedrooms`, "min_bedrooms", low.bedrooms)
	}
	if query.MaxBedrooms != nil {
		high.bedrooms = int64(*query.MaxBedrooms)
		s.require(toBedrooms, `p.bedrooms <= @max_bedrooms`, "max_bedrooms", high.bedrooms)
	}
	if s.words = QueryWords(query.Query); len(s.words) > 0 {
		s.conditions = append(s.conditions, propertyCondition{inWords, s.HasWords(s.words, s.args)})
	}
	if s.after != nil && s.sort.Field != "propertyId" { // its listing may have changed since
		if s.sort.Desc {
			low, high = high, low
		}
		s.isPast = s.compare(s.last(), high) > 0
		if s.compare(s.last(), low) < 0 {
			s.after = nil
		}
	}
	return s
}

// require adds a condition with its value.
func (s *propertySearch) require(on propertyKey, text, name string, value any) {
	s.args[name] = value
	s.conditions = append(s.conditions, propertyCondition{on, text})
}

func (s propertySearch) asksFor(keys ...propertyKey) bool {
	return slices.ContainsFunc(s.conditions, func(c propertyCondition) bool { return slices.Contains(keys, c.on) })
}

// where joins the conditions that keep wants, and others.
func (s propertySearch) where(keep func(propertyKey) bool, others ...string) string {
	texts := []string{`true`}
	for _, c := range s.conditions {
		if keep(c.on) {
			texts = append(texts, c.text)
		}
	}
	return strings.Join(append(texts, others...), ` AND `)
}

// lead is the key that the index of the order begins with.
func (s propertySearch) lead() propertyKey {
	for key := ofNumber; key < ofAll; key++ {
		if s.asksFor(key) {
			return key
		}
	}
	return ofAll
}

// isOrdered tells whether the index of the order leads past all that does not match the key.
func (s propertySearch) isOrdered(key propertyKey) bool {
	return key == s.lead() || key == sides[s.sort.Field].low || key == sides[s.sort.Field].high
}

func (s propertySearch) isUnordered(key propertyKey) bool { return !s.isOrdered(key) }

// sides are the keys that bound what a list is sorted by.
var sides = map[string]struct{ low, high propertyKey }{
	"propertyId": {ofAll, ofAll}, "price_pw": {fromPrice, toPrice}, "bedrooms": {fromBedrooms, toBedrooms},
}

// indexed follows properties AS p, and leads to the index that begins with the key and has the order.
func (s propertySearch) indexed(key propertyKey, field string) string {
	if key == ofNumber {
		return s.Indexed(map[string]string{"propertyId": `properties_by_bedrooms`, "price_pw": `properties_by_bedrooms_and_price`}[field])
	}
	name := map[propertyKey]string{ofCity: `properties_of_city`, ofOwner: `properties_of_owner`, ofAll: `properties`}[key]
	switch {
	case field != "propertyId":
		name += map[string]string{"price_pw": `_by_price`, "bedrooms": `_by_bedrooms`}[field]
	case key == ofAll && s.asksFor(inWords): // which only the table has
		return ``
	case key == ofAll:
		name += `_by_id`
	}
	return s.Indexed(name)
}

// count returns all matches, in any order, or that there are more than MaxCounted.
func (s propertySearch) count() (all []listedProperty, isMore bool, err error) {
	s.after, s.isCount, s.sort = nil, true, api.SortKey{Field: "propertyId"}
	switch {
	case len(s.words) > 0 && len(s.conditions) == 1:
		if isMore, err = s.AreCommonWords(s.q, s.words, MaxCounted); err != nil || isMore {
			return nil, isMore, err
		}
	case s.asksFor(fromPrice, toPrice):
		s.sort.Field = "price_pw"
	case s.asksFor(fromBedrooms, toBedrooms):
		s.sort.Field = "bedrooms"
	}
	all, err = s.find(MaxCounted + 1)
	return all, len(all) > MaxCounted, err
}

// find returns the first matches after the cursor, in the order of the list.
func (s propertySearch) find(take int64) (found []listedProperty, err error) {
	numbers, isDivided, err := s.divisions()
	if err != nil {
		return nil, err
	}
	if isDivided {
		return s.divide(numbers, take)
	}
	filters := s.unorderedFilters()
	if len(filters) == 0 {
		return s.walk(take, math.MaxInt64)
	}
	for _, budget := range propertyBudgets {
		if found, err := s.walk(take, budget); err != nil || int64(len(found)) == take {
			return found, err
		}
		for _, key := range filters {
			few := budget
			if key == inWords {
				if budget < wordBudget {
					continue
				}
				few = max(budget, fewWithWords)
			}
			if s.isCount && len(s.conditions) == 1 {
				return s.listed(s.of(key)+` LIMIT @take`, "take", take)
			}
			isFew, err := s.isFew(key, few)
			if err != nil {
				return nil, err
			}
			if isFew {
				return s.collect(key, take, few)
			}
		}
	}
	return s.walk(take, math.MaxInt64)
}

const listedColumns = `p.id, p.bedrooms, p.price_key`

// comparing is what follows FROM to read those that meet the wanted conditions: listedColumns and what is compared. Of p.*, SQLite would read
// all columns from the table.
func (s propertySearch) comparing(from string, want func(propertyKey) bool) string {
	columns := listedColumns
	for key, column := range [...]string{ofCity: `, p.city_fold`, ofOwner: `, p.owner`, inWords: `, p.words`} {
		if key := propertyKey(key); s.asksFor(key) && want(key) {
			columns += column
		}
	}
	return `(SELECT ` + columns + ` FROM ` + from + `) AS p WHERE ` + s.where(want)
}

// listed runs a query for listedColumns, with one more argument.
func (s propertySearch) listed(from, name string, value int64) ([]listedProperty, error) {
	s.args[name] = value
	return All(s.q, func(r Scanner) (l listedProperty, err error) { return l, r.Scan(&l.id, &l.bedrooms, &l.price) },
		`SELECT `+listedColumns+` FROM `+from, s.args)
}

// ranges are Order.Ranges, with the id as a number.
func (s propertySearch) ranges() []string {
	parts := propertyOrder.Ranges([]api.SortKey{s.sort}, s.after, s.args)
	if s.after != nil {
		s.args["after_id"] = s.last().id
	}
	return parts
}

// order is ORDER BY for the list.
func (s propertySearch) order() string {
	by, err := propertyOrder.By([]api.SortKey{s.sort}, false)
	if err != nil {
		panic(err) // the server has checked the key
	}
	return ` ORDER BY ` + by
}

// walk reads the index of the order, no more of it than the budget, and compares each listing with the other filters.
//
// PostgreSQL and SQLite read the inner SELECT in its order, and stop once there are enough: a second ORDER BY would make SQLite sort it.
func (s propertySearch) walk(take, budget int64) (found []listedProperty, err error) {
	isRead := func(key propertyKey) bool { // a cursor is within the bounds, and SQLite begins at only one of them
		behind := sides[s.sort.Field].low
		if s.sort.Desc {
			behind = sides[s.sort.Field].high
		}
		return s.isOrdered(key) && (s.after == nil || key != behind)
	}
	for _, part := range s.ranges() {
		read := `properties AS p` + s.indexed(s.lead(), s.sort.Field) + ` WHERE ` + s.where(isRead, `(`+part+`)`) + s.order()
		if len(s.unorderedFilters()) > 0 {
			s.args["budget"] = budget
			read = s.comparing(read+` LIMIT @budget`, s.isUnordered)
		}
		more, err := s.listed(read+` LIMIT @take`, "take", take-int64(len(found)))
		if found = append(found, more...); err != nil || int64(len(found)) == take {
			return found, err
		}
	}
	return found, nil
}

// unorderedFilters are the first keys of filters that the index of the order does not have. Words are the last.
func (s propertySearch) unorderedFilters() (keys []propertyKey) {
	for _, c := range s.conditions {
		key := c.on
		for _, side := range sides {
			if key == side.high {
				key = side.low
			}
		}
		if s.isUnordered(key) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// of is what follows FROM to read all listings of a filter by its own index.
func (s propertySearch) of(filter propertyKey) string {
	for field, side := range sides {
		if filter == side.low && filter != ofAll {
			part := s
			part.sort = api.SortKey{Field: field}
			return `properties AS p` + s.indexed(s.lead(), field) + ` WHERE ` + s.where(part.isOrdered) + part.order()
		}
	}
	if filter == inWords {
		return s.PropertiesWithWords
	}
	isThis := func(key propertyKey) bool { return key == filter }
	return `properties AS p` + s.indexed(filter, "propertyId") + ` WHERE ` + s.where(isThis) + ` ORDER BY p.id`
}

// isFew tells whether a filter has at most as many listings.
func (s propertySearch) isFew(filter propertyKey, most int64) (bool, error) {
	s.args["most"] = most + 1
	there, err := One(s.q, ScanValue[int64], `SELECT count(*) FROM (SELECT 1 FROM `+s.of(filter)+` LIMIT @most) AS counted`, s.args)
	return there <= most, err
}

// collect reads the listings of a filter, of which there are few, and sorts those that match.
func (s propertySearch) collect(filter propertyKey, take, few int64) ([]listedProperty, error) {
	s.args["few"] = few
	isOther := func(key propertyKey) bool { return key != filter }
	after := ` AND (` + strings.Join(s.ranges(), ` OR `) + `)`
	return s.listed(s.comparing(s.of(filter)+` LIMIT @few`, isOther)+after+s.order()+` LIMIT @take`, "take", take)
}

// compare is propertyOrder.
func (s propertySearch) compare(a, b listedProperty) int {
	order := cmp.Compare(a.id, b.id)
	switch s.sort.Field {
	case "price_pw":
		order = cmp.Or(strings.Compare(a.price, b.price), order)
	case "bedrooms":
		order = cmp.Or(cmp.Compare(a.bedrooms, b.bedrooms), order)
	}
	if s.sort.Desc {
		return -order
	}
	return order
}

// last is the listing of the cursor.
func (s propertySearch) last() (l listedProperty) {
	l.id, _ = strconv.ParseInt(s.after.ID, 10, 64) // checked by CheckPropertyCursor
	for _, value := range s.after.Values {
		switch value := value.(type) {
		case string:
			l.price = value
		case int64:
			l.bedrooms = value
		}
	}
	return l
}

// divisions returns the numbers of bedrooms of all listings, or of those that are asked for, in the order of the list, if a search is divided
// by them: that is where prices and bedrooms meet.
func (s propertySearch) divisions() (numbers []int64, isDivided bool, err error) {
	byBedrooms := s.sort.Field == "bedrooms"
	meet := byBedrooms && s.asksFor(fromPrice, toPrice) || !byBedrooms && s.asksFor(fromBedrooms, toBedrooms)
	if s.lead() != ofAll || !meet {
		return nil, false, nil
	}
	where := s.where(func(key propertyKey) bool { return key == fromBedrooms || key == toBedrooms })
	numbers, err = All(s.q, ScanValue[int64], fmt.Sprintf(`
		WITH RECURSIVE numbers (n) AS (
			SELECT (SELECT min(p.bedrooms) FROM properties AS p WHERE %[1]s)
			UNION ALL SELECT (SELECT min(p.bedrooms) FROM properties AS p WHERE p.bedrooms > n AND %[1]s) FROM numbers WHERE n IS NOT NULL
		) SELECT n FROM numbers WHERE n IS NOT NULL LIMIT %[2]d`, where, maxDivisions+1), s.args)
	if byBedrooms && s.sort.Desc {
		slices.Reverse(numbers)
	}
	return numbers, len(numbers) <= maxDivisions, err
}

// divide is find among the listings with each number of bedrooms.
func (s propertySearch) divide(numbers []int64, take int64) (found []listedProperty, err error) {
	byBedrooms := s.sort.Field == "bedrooms" // then one part of the list comes after the other
	for _, number := range numbers {
		part, wanted := s, take
		part.args = maps.Clone(s.args)
		part.conditions = slices.DeleteFunc(slices.Clone(s.conditions), func(c propertyCondition) bool {
			return c.on == fromBedrooms || c.on == toBedrooms
		})
		part.require(ofNumber, `p.bedrooms = @number`, "number", number)
		if byBedrooms || s.isCount {
			wanted -= int64(len(found))
		}
		if byBedrooms {
			part.sort.Field = "propertyId"
		}
		if byBedrooms && s.after != nil {
			switch order := cmp.Compare(number, s.last().bedrooms); {
			case s.sort.Desc && order > 0, !s.sort.Desc && order < 0:
				continue
			case order != 0:
				part.after = nil
			}
		}
		if wanted == 0 {
			break
		}
		more, err := part.find(wanted)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	slices.SortFunc(found, s.compare)
	return found[:min(take, int64(len(found)))], nil
}
