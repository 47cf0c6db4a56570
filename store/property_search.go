package store

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/perks/api"
)

// There is an index for each order of all listings, of a client's and of a city's, and of those of them with one number
// of bedrooms. No index has every filter in every order. A filter that the index does not have lets many listings of
// the order through, or few, or many that come late. So a search tries two ways in turn, each time for longer, until
// one has found enough, and can be divided:
//
//   - walk: read the index of the order, and compare each listing with the filters
//   - collect: read all listings of one filter, compare each with the others, and sort
//   - divide: search among the listings with each number of bedrooms, because the price follows from it: the
//     cheapest large homes come late
//
// Where a filter's listings are spread evenly over a million, a page is among the first 5,000 of the order, or the
// filter has no more than that.

// propertyBudgets are how many listings a search looks at in each way before it tries the next one. Then it walks to
// the end.
var propertyBudgets = []int64{500, 5000, 50_000}

const (
	// wordBudget is the first budget with which matches of words are looked up: their index finds all before it returns
	// one.
	wordBudget = 5000
	// wordSample is how many listings are compared with words to tell whether many have them.
	wordSample = 200
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
	areCommon  func() (bool, error) // more than MaxCounted listings have all of the words, as they are; asked once
	sampled    *int64               // how many of wordSample listings match, or -1
	args       Named
}

// propertyCondition is a filter.
type propertyCondition struct {
	on   propertyKey
	text string
}

// propertyKey is what a filter is about. An index begins with the first of ofCity and ofOwner that the query asks for,
// and then with ofNumber.
type propertyKey int

const (
	ofCity propertyKey = iota
	ofOwner
	ofAll    // the key of no filter
	ofNumber // one number of bedrooms, of a search that is divided
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

// cursor is the place after the listing.
func (l listedProperty) cursor(keys ...api.SortKey) *Cursor {
	c := &Cursor{ID: strconv.FormatInt(l.id, 10)}
	for _, key := range keys {
		c.Values = append(c.Values, l.sortValue(key.Field))
	}
	return c
}

func (o Operations) newPropertySearch(q Querier, query PropertyQuery) propertySearch {
	s := propertySearch{Dialect: o.db.Dialect, q: q, after: query.After, sort: api.SortKey{Field: "propertyId"},
		args: Named{}, sampled: new(int64)}
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
	s.words = QueryWords(query.Query)
	*s.sampled = -1
	s.areCommon = sync.OnceValues(func() (bool, error) {
		return o.db.AreCommonWords(q, s.words, ``, Named{}, MaxCounted)
	})
	if len(s.words) > 0 {
		has := `(SELECT ` + s.HasWords(s.words, s.args) + ` FROM properties AS w WHERE w.id = p.id)`
		s.require(inWords, `p.word_bits & @bits = @bits AND `+has, "bits", wordBits(s.words))
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
	for key := ofCity; key < ofAll; key++ {
		if s.asksFor(key) {
			return key
		}
	}
	return ofAll
}

// isOrdered tells whether the index of the order leads past all that does not match the key.
func (s propertySearch) isOrdered(key propertyKey) bool {
	return key == s.lead() || key == ofNumber || key == sides[s.sort.Field].low || key == sides[s.sort.Field].high
}

func (s propertySearch) isUnordered(key propertyKey) bool { return !s.isOrdered(key) }

// sides are the keys that bound what a list is sorted by.
var sides = map[string]struct{ low, high propertyKey }{
	"propertyId": {ofAll, ofAll}, "price_pw": {fromPrice, toPrice}, "bedrooms": {fromBedrooms, toBedrooms},
}

// indexed follows properties AS p, and leads to the index that begins with the key, and the number of bedrooms of a
// divided search, and has the order.
func (s propertySearch) indexed(key propertyKey, field string) string {
	name := map[propertyKey]string{ofCity: `properties_of_city`, ofOwner: `properties_of_owner`,
		ofAll: `properties`}[key]
	isNumber := s.asksFor(ofNumber)
	switch {
	case isNumber && field == "price_pw":
		name += `_by_bedrooms_and_price`
	case isNumber, field == "bedrooms":
		name += `_by_bedrooms`
	case field == "price_pw":
		name += `_by_price`
	case key == ofAll:
		name += `_by_id`
	}
	return s.Indexed(name)
}

// count returns all matches, in any order, or that there are more than MaxCounted.
func (s propertySearch) count() (all []listedProperty, isMore bool, err error) {
	s.after, s.isCount, s.sort = nil, true, api.SortKey{Field: "propertyId"}
	switch {
	case s.asksFor(fromPrice, toPrice):
		s.sort.Field = "price_pw"
	case s.asksFor(fromBedrooms, toBedrooms):
		s.sort.Field = "bedrooms"
	}
	if s.asksFor(inWords) {
		if isMore, err = s.countWords(); err != nil || isMore {
			return nil, isMore, err
		}
	}
	all, err = s.find(MaxCounted + 1)
	return all, len(all) > MaxCounted, err
}

// countWords tells that more than MaxCounted match, if whole words say so or other filters have a short way there.
func (s propertySearch) countWords() (isMore bool, err error) {
	if len(s.conditions) == 1 && s.StreamsWords {
		return s.areCommon()
	}
	found, err := s.walk(wordSample, wordSample)
	if err != nil {
		return false, err
	}
	*s.sampled = int64(len(found))
	if more := MaxCounted + 1 - *s.sampled; !isVain(*s.sampled, wordSample, more, propertyBudgets[1]) {
		s.after = found[len(found)-1].cursor(s.sort)
		found, err = s.walk(more, propertyBudgets[1])
		return int64(len(found)) == more, err
	}
	if len(s.conditions) == 1 {
		return s.areCommon()
	}
	return s.AreCommonWords(s.q, s.words, s.where(func(key propertyKey) bool { return key != inWords }), s.args,
		MaxCounted)
}

// isVain tells that a walk with the next budget would not find enough either, if it goes on as one that found so many
// with its budget.
func isVain(found, budget, take, next int64) bool { return found*next < take*budget }

// find returns the first matches after the cursor, in the order of the list.
func (s propertySearch) find(take int64) (found []listedProperty, err error) {
	divisions, isDivided, err := s.divisions()
	if err != nil {
		return nil, err
	}
	if isDivided {
		return s.divide(divisions, take)
	}
	filters := s.unorderedFilters()
	if len(filters) == 0 {
		return s.walk(take, math.MaxInt64)
	}
	for i, budget := range propertyBudgets {
		next := propertyBudgets[min(i+1, len(propertyBudgets)-1)]
		if i == 0 && *s.sampled >= 0 && isVain(*s.sampled, wordSample, take, budget) &&
			!isVain(*s.sampled, wordSample, take, next) {
			continue
		}
		found, err := s.walk(take, budget)
		if err != nil || int64(len(found)) == take {
			return found, err
		}
		few := budget
		if isVain(int64(len(found)), budget, take, next) {
			few = next
		}
		if lead := s.lead(); lead != ofAll {
			if isAll, err := s.isFew(lead, budget); err != nil || isAll {
				return found, err
			}
		}
		for _, key := range filters {
			if key == inWords && few < wordBudget {
				continue
			}
			if s.isCount && len(s.conditions) == 1 {
				return s.listed(s.of(key)+` LIMIT @take`, "take", take)
			}
			if key == inWords && i < len(propertyBudgets)-1 {
				if areCommon, err := s.areCommon(); err != nil {
					return nil, err
				} else if areCommon {
					continue
				}
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

// comparing is what follows FROM to read those that meet the wanted conditions: listedColumns and what is compared. Of
// p.*, SQLite would read all columns from the table.
func (s propertySearch) comparing(from string, want func(propertyKey) bool) string {
	columns := listedColumns
	for key, column := range [...]string{ofCity: `, p.city_fold`, ofOwner: `, p.owner`, inWords: `, p.word_bits`} {
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
// PostgreSQL and SQLite read the inner SELECT in its order, and stop once there are enough: a second ORDER BY would
// make SQLite sort it.
func (s propertySearch) walk(take, budget int64) (found []listedProperty, err error) {
	isRead := func(key propertyKey) bool { // a cursor is within the bounds, and SQLite begins at only one of them
		behind := sides[s.sort.Field].low
		if s.sort.Desc {
			behind = sides[s.sort.Field].high
		}
		return s.isOrdered(key) && (s.after == nil || key != behind)
	}
	for _, part := range s.ranges() {
		read := `properties AS p` + s.indexed(s.lead(), s.sort.Field) + ` WHERE ` + s.where(isRead, `(`+part+`)`) +
			s.order()
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
	isThis := func(key propertyKey) bool { return key == filter || key == ofNumber }
	return `properties AS p` + s.indexed(filter, "propertyId") + ` WHERE ` + s.where(isThis) + ` ORDER BY p.id`
}

// isFew tells whether a filter has at most as many listings.
func (s propertySearch) isFew(filter propertyKey, most int64) (bool, error) {
	s.args["most"] = most + 1
	there, err := One(s.q, ScanValue[int64],
		`SELECT count(*) FROM (SELECT 1 FROM `+s.of(filter)+` LIMIT @most) AS counted`, s.args)
	return there <= most, err
}

// collect reads the listings of a filter, of which there are few, and sorts those that match.
func (s propertySearch) collect(filter propertyKey, take, few int64) ([]listedProperty, error) {
	s.args["few"] = few
	isOther := func(key propertyKey) bool { return key != filter && (key != ofNumber || filter == inWords) }
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

// division is a part of a search: the listings with one number of bedrooms.
type division struct {
	number  int64
	matches int64 // of the price, up to MaxCounted and one more, if the query asks for prices
}

// divisions returns the parts of a search, in the order of the list, if it is divided: that is where prices and
// bedrooms meet. They have all numbers of bedrooms that are asked for.
func (s propertySearch) divisions() (parts []division, isDivided bool, err error) {
	byBedrooms, hasPrice := s.sort.Field == "bedrooms", s.asksFor(fromPrice, toPrice)
	if !(byBedrooms && hasPrice || !byBedrooms && s.asksFor(fromBedrooms, toBedrooms)) || s.asksFor(ofNumber) {
		return nil, false, nil
	}
	inLead := func(key propertyKey) bool { return key == s.lead() || key == fromBedrooms || key == toBedrooms }
	matches := fmt.Sprint(MaxCounted + 1)
	if hasPrice {
		part := s.part(0)
		inPart := func(key propertyKey) bool { return key == part.lead() || key == fromPrice || key == toPrice }
		matches = `(SELECT count(*) FROM (SELECT 1 FROM properties AS p` + part.indexed(part.lead(), "price_pw") +
			` WHERE ` + part.where(inPart, `p.bedrooms = n`) + ` LIMIT ` + matches + `) AS counted)`
	}
	parts, err = All(s.q, func(r Scanner) (d division, err error) { return d, r.Scan(&d.number, &d.matches) },
		fmt.Sprintf(`
		WITH RECURSIVE numbers (n) AS (
			SELECT (SELECT min(p.bedrooms) FROM properties AS p WHERE %[1]s)
			UNION ALL SELECT (SELECT min(p.bedrooms) FROM properties AS p WHERE p.bedrooms > n AND %[1]s)
			FROM numbers WHERE n IS NOT NULL
		) SELECT n, %[2]s FROM numbers WHERE n IS NOT NULL
			LIMIT %[3]d`, s.where(inLead), matches, maxDivisions+1), s.args)
	if byBedrooms && s.sort.Desc {
		slices.Reverse(parts)
	}
	return parts, len(parts) <= maxDivisions, err
}

// part is the search among the listings with one number of bedrooms.
func (s propertySearch) part(number int64) propertySearch {
	s.args = maps.Clone(s.args)
	s.conditions = slices.DeleteFunc(slices.Clone(s.conditions), func(c propertyCondition) bool {
		return c.on == fromBedrooms || c.on == toBedrooms
	})
	s.require(ofNumber, `p.bedrooms = @number`, "number", number)
	return s
}

// divide is find among the listings with each number of bedrooms.
func (s propertySearch) divide(divisions []division, take int64) (found []listedProperty, err error) {
	byBedrooms := s.sort.Field == "bedrooms" // then one part of the list comes after the other
	for _, d := range divisions {
		part, wanted := s.part(d.number), take
		if byBedrooms || s.isCount {
			wanted -= int64(len(found))
		}
		if byBedrooms {
			part.sort.Field = "propertyId"
		}
		if byBedrooms && s.after != nil {
			switch order := cmp.Compare(d.number, s.last().bedrooms); {
			case s.sort.Desc && order > 0, !s.sort.Desc && order < 0:
				continue
			case order != 0:
				part.after = nil
			}
		}
		if wanted == 0 {
			break
		}
		more := []listedProperty{}
		switch {
		case d.matches == 0:
		case d.matches <= MaxCounted && part.isUnordered(fromPrice):
			more, err = part.collect(fromPrice, wanted, d.matches)
		case d.matches <= MaxCounted:
			more, err = part.walk(wanted, d.matches)
		default:
			more, err = part.find(wanted)
		}
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	slices.SortFunc(found, s.compare)
	return found[:min(take, int64(len(found)))], nil
}
