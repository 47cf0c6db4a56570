package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/perks/api"
)

// PropertyOrder sorts properties AS p. priceKey is api.Price.SortKey in SQL.
func PropertyOrder(priceKey string) Order {
	return Order{ID: `p.id`, Columns: map[string]SortColumn{
		"propertyId": {`p.id`, false, true}, "price_pw": {priceKey, false, true}, "bedrooms": {`p.bedrooms`, false, true},
	}}
}

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

// CheckPropertyCursor returns ErrNoCursor for a cursor of another list.
func CheckPropertyCursor(c *Cursor) error {
	if _, err := strconv.ParseInt(c.ID, 10, 64); err != nil || slices.Contains(c.Values, nil) {
		return ErrNoCursor
	}
	return nil
}

// A page is found in one of three ways, whichever is short: among the few listings that one filter has, or among the first listings of the
// order, or else matches are so many that there is one among every few hundred listings of the order.
const (
	lookedAtFirst = 2000
	fewProperties = 1000

	// maxBedroomNumbers is into how many lists one is divided, by the number of bedrooms. Beyond, it is not.
	maxBedroomNumbers = 50
)

// propertySearch is a PropertyQuery in SQL. Its texts are constants; every value is a named argument.
type propertySearch struct {
	*Dialect
	q          Querier
	filter     api.PropertyFilter
	sort       api.SortKey
	after      *Cursor
	anyOrder   bool // of what is found
	conditions []propertyCondition
	args       Named
}

// propertyCondition is a filter.
type propertyCondition struct {
	on   propertyKey
	text string
}

// propertyKey is what a filter is about. The index of a list begins with the first of ofNumber, ofCity and ofOwner that it asks for.
type propertyKey int

const (
	ofNumber propertyKey = iota // one number of bedrooms, if a list is divided by them
	ofCity
	ofOwner
	ofAll // the key of no filter
	inBedrooms
	inPrices
	inWords
)

func (o Operations) newPropertySearch(q Querier, query PropertyQuery) propertySearch {
	s := propertySearch{Dialect: o.db.Dialect, q: q, filter: query.PropertyFilter, sort: api.SortKey{Field: "propertyId"}, after: query.After, args: Named{}}
	if len(query.Sort) > 0 {
		s.sort = query.Sort[0]
	}
	if city := cityKey(query.City); city != "" {
		s.require(ofCity, `p.city_fold = @city`, "city", city)
	}
	if query.Owner != "" {
		s.require(ofOwner, `p.owner = @owner`, "owner", query.Owner)
	}
	price := s.PropertyOrder.Columns["price_pw"].Text
	if query.MinPrice != nil {
		s.require(inPrices, price+` >= @min_price`, "min_price", query.MinPrice.SortKey())
	}
	if query.MaxPrice != nil {
		s.require(inPrices, price+` <= @max_price`, "max_price", query.MaxPrice.SortKey())
	}
	if query.MinBedrooms != nil {
		s.require(inBedrooms, `p.bedrooms >= @min_bedrooms`, "min_bedrooms", int64(*query.MinBedrooms))
	}
	if query.MaxBedrooms != nil {
		s.require(inBedrooms, `p.bedrooms <= @max_bedrooms`, "max_bedrooms", int64(*query.MaxBedrooms))
	}
	if words := QueryWords(query.Query); len(words) > 0 {
		s.require(inWords, s.HasWords(words, s.args), "", nil)
	}
	return s
}

// require adds a condition. Two on the same key become one.
func (s *propertySearch) require(on propertyKey, text, name string, value any) {
	if name != "" {
		s.args[name] = value
	}
	if last := len(s.conditions) - 1; last >= 0 && s.conditions[last].on == on {
		s.conditions[last].text += ` AND ` + text
		return
	}
	s.conditions = append(s.conditions, propertyCondition{on, text})
}

func (s propertySearch) asksFor(key propertyKey) bool {
	return slices.ContainsFunc(s.conditions, func(c propertyCondition) bool { return c.on == key })
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

// lead is the key that the index of the list begins with.
func (s propertySearch) lead() propertyKey {
	for key := ofNumber; key < ofAll; key++ {
		if s.asksFor(key) {
			return key
		}
	}
	return ofAll
}

// isOrdered tells whether the index of the list leads past all that does not match the key.
func (s propertySearch) isOrdered(key propertyKey) bool {
	return key == s.lead() || key == inPrices && s.sort.Field == "price_pw" || key == inBedrooms && s.sort.Field == "bedrooms"
}

func (s propertySearch) isUnordered(key propertyKey) bool { return !s.isOrdered(key) }

// indexed follows properties AS p, and leads to the index that begins with the key and has the order.
func (s propertySearch) indexed(key propertyKey, field string) string {
	name := map[propertyKey]string{ofNumber: `properties_by_bedrooms`, ofCity: `properties_of_city`, ofOwner: `properties_of_owner`, ofAll: `properties`}[key]
	switch {
	case key == ofNumber && field == "price_pw":
		return s.Indexed(name + `_and_price`)
	case key == ofNumber || key != ofAll && field == "propertyId":
		return s.Indexed(name)
	case field == "propertyId":
		return ``
	}
	return s.Indexed(name + map[string]string{"price_pw": `_by_price`, "bedrooms": `_by_bedrooms`}[field])
}

// ListProperties first derives the keys of listings that a server of the version before has written.
func (o Operations) ListProperties(ctx context.Context, query PropertyQuery) (List[api.Property], error) {
	if query.City != "" || query.Query != "" {
		if err := o.deriveKeys(ctx); err != nil {
			return List[api.Property]{}, err
		}
	}
	return RetryRead(ctx, o.db, "list properties", func() (list List[api.Property], err error) {
		err = o.db.Snapshot(ctx, func(q Querier) (err error) {
			list, err = o.listProperties(q, query)
			return err
		})
		return list, err
	})
}

func (o Operations) listProperties(q Querier, query PropertyQuery) (list List[api.Property], err error) {
	list.Items = []api.Property{}
	if o.db.ListSettings != "" {
		if _, err := One(q, ScanValue[string], o.db.ListSettings); err != nil {
			return list, err
		}
	}
	s := o.newPropertySearch(q, query)
	found, err := s.count()
	if err != nil {
		return list, err
	}
	list.Total, list.IsMore = int64(min(len(found), MaxCounted)), len(found) > MaxCounted
	per, skip := int64(query.Window.PerPage), query.Window.Offset()
	if query.After != nil {
		skip = 0
	}
	if list.IsMore && s.isAfterAll() {
		return list, nil
	}
	if list.IsMore {
		if found, err = s.find(skip + per + 1); err != nil {
			return list, err
		}
	} else {
		found = slices.DeleteFunc(found, func(l listedProperty) bool { return !s.follows(l) })
		s.arrange(found)
	}
	found = found[min(skip, int64(len(found))):]
	if int64(len(found)) > per {
		found = found[:per]
		last := found[per-1]
		list.Next = &Cursor{ID: strconv.FormatInt(last.id, 10)}
		for _, key := range query.Sort {
			list.Next.Values = append(list.Next.Values, last.sortValue(key.Field))
		}
	}
	list.Items, err = s.read(found)
	return list, err
}

// read returns the listings in the order of the found ones.
func (s propertySearch) read(found []listedProperty) ([]api.Property, error) {
	items := make([]api.Property, len(found))
	if len(found) == 0 {
		return items, nil
	}
	names, args, places := make([]string, len(found)), Named{}, map[int64]int{}
	for i, l := range found {
		name := fmt.Sprintf(`id_%d`, i)
		names[i], args[name], places[l.id] = `@`+name, l.id, i
	}
	for record, err := range Each(s.q, ScanProperty, `SELECT `+PropertyColumns+` FROM properties WHERE id IN (`+strings.Join(names, `, `)+`)`, args) {
		if err != nil {
			return items, err
		}
		items[places[record.ID]] = record.Property
	}
	return items, nil
}

// count returns all matches, or of more than MaxCounted one more, in the order that takes the least.
func (s propertySearch) count() ([]listedProperty, error) {
	s.after, s.anyOrder, s.sort = nil, true, api.SortKey{Field: "propertyId"}
	switch {
	case s.asksFor(inPrices):
		s.sort.Field = "price_pw"
	case s.asksFor(inBedrooms):
		s.sort.Field = "bedrooms"
	}
	return s.find(MaxCounted + 1)
}

// find returns the first matches after the cursor, in the order of the list.
func (s propertySearch) find(take int64) (found []listedProperty, err error) {
	numbers, isDivided, err := s.bedroomNumbers()
	if err != nil {
		return nil, err
	}
	if isDivided {
		return s.findDivided(numbers, take)
	}
	hasAll := !slices.ContainsFunc(s.conditions, func(c propertyCondition) bool { return s.isUnordered(c.on) })
	for _, c := range s.conditions { // words are the last ones: to look up many takes long
		if c.on == ofNumber || hasAll {
			continue
		}
		if c.on == inWords {
			if found, isWhole, err := s.walk(take, ` LIMIT @looked_at`); err != nil || isWhole {
				return found, err
			}
		}
		if s.anyOrder && len(s.conditions) == 1 {
			return s.collect(c, take, take)
		}
		few, err := s.isFew(c)
		if err != nil {
			return nil, err
		}
		if few {
			return s.collect(c, take, math.MaxInt64)
		}
	}
	found, _, err = s.walk(take, s.Unlimited)
	return found, err
}

const listedColumns = `p.id, p.bedrooms, `

func (s propertySearch) listed(text string) ([]listedProperty, error) {
	return All(s.q, func(r Scanner) (l listedProperty, err error) { return l, r.Scan(&l.id, &l.bedrooms, &l.price) },
		`SELECT `+listedColumns+s.PropertyOrder.Columns["price_pw"].Text+` FROM `+text, s.args)
}

// ranges are Order.Ranges, with the id as a number.
func (s propertySearch) ranges() []string {
	parts := s.PropertyOrder.Ranges([]api.SortKey{s.sort}, s.after, s.args)
	if s.after != nil {
		s.args["after_id"] = s.last().id
	}
	return parts
}

// walk reads the index of the order, and compares each listing with the other filters. most ends the part that is read of each of ranges. What
// is found is whole if there are as many as wanted, or everything was read.
//
// PostgreSQL and SQLite read the inner SELECT in its order, and stop once there are enough: a second ORDER BY would make SQLite sort it.
func (s propertySearch) walk(take int64, most string) (found []listedProperty, isWhole bool, err error) {
	by, err := s.PropertyOrder.By([]api.SortKey{s.sort}, false)
	if err != nil {
		return nil, false, err
	}
	s.args["looked_at"] = int64(lookedAtFirst)
	for _, part := range s.ranges() {
		s.args["take"] = take - int64(len(found))
		read := `properties AS p` + s.indexed(s.lead(), s.sort.Field) + ` WHERE ` + s.where(s.isOrdered, `(`+part+`)`)
		text := read + ` ORDER BY ` + by + ` LIMIT @take`
		isChecked := slices.ContainsFunc(s.conditions, func(c propertyCondition) bool { return s.isUnordered(c.on) })
		if isChecked {
			text = `(SELECT p.* FROM ` + read + ` ORDER BY ` + by + most + `) AS p WHERE ` + s.where(s.isUnordered) + ` LIMIT @take`
		}
		more, err := s.listed(text)
		if err != nil {
			return nil, false, err
		}
		if found = append(found, more...); int64(len(found)) == take {
			return found, true, nil
		}
		if isChecked && most != s.Unlimited {
			there, err := One(s.q, ScanValue[int64], `SELECT count(*) FROM (SELECT 1 FROM `+read+` LIMIT @looked_at) AS counted`, s.args)
			if err != nil || there == lookedAtFirst {
				return found, false, err
			}
		}
	}
	return found, true, nil
}

// of is what follows FROM to read all listings of a condition by its own index.
func (s propertySearch) of(c propertyCondition) string {
	isThis := func(key propertyKey) bool { return key == c.on }
	switch {
	case c.on == inWords:
		return s.PropertiesWithWords + ` WHERE ` + s.where(isThis)
	case c.on == inPrices && s.asksFor(ofNumber):
		return `properties AS p` + s.indexed(ofNumber, "price_pw") + ` WHERE ` + s.where(func(key propertyKey) bool { return key == ofNumber || key == inPrices })
	case c.on == inPrices:
		return `properties AS p` + s.indexed(ofAll, "price_pw") + ` WHERE ` + s.where(isThis)
	case c.on == inBedrooms:
		return `properties AS p` + s.indexed(ofAll, "bedrooms") + ` WHERE ` + s.where(isThis)
	}
	return `properties AS p` + s.indexed(c.on, "propertyId") + ` WHERE ` + s.where(isThis)
}

func (s propertySearch) isFew(c propertyCondition) (bool, error) {
	s.args["most"] = int64(fewProperties + 1)
	there, err := One(s.q, ScanValue[int64], `SELECT count(*) FROM (SELECT 1 FROM `+s.of(c)+` LIMIT @most) AS counted`, s.args)
	return there <= fewProperties, err
}

// collect reads the listings of a condition, at most most that match, sorts them, and returns the first.
func (s propertySearch) collect(c propertyCondition, take, most int64) ([]listedProperty, error) {
	s.args["take"] = most
	found, err := s.listed(`(SELECT p.* FROM ` + s.of(c) + s.Unlimited + `) AS p WHERE ` +
		s.where(func(propertyKey) bool { return true }, `(`+strings.Join(s.ranges(), ` OR `)+`)`) + ` LIMIT @take`)
	s.arrange(found)
	return found[:min(take, int64(len(found)))], err
}

// arrange sorts as the list is sorted.
func (s propertySearch) arrange(found []listedProperty) { slices.SortFunc(found, s.compare) }

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

// follows tells whether a listing comes after the cursor, if there is one.
func (s propertySearch) follows(l listedProperty) bool {
	return s.after == nil || s.compare(l, s.last()) > 0
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

// isAfterAll tells whether the cursor is behind all that the filter of its field lets through, and forgets a cursor before all: PostgreSQL would
// read the listings of its id in vain. The listing may have changed since.
func (s *propertySearch) isAfterAll() bool {
	if s.after == nil || s.sort.Field == "propertyId" {
		return false
	}
	low, high := listedProperty{id: math.MinInt64, bedrooms: math.MinInt64}, listedProperty{id: math.MaxInt64, bedrooms: math.MaxInt64, price: "~"}
	if s.filter.MinPrice != nil {
		low.price = s.filter.MinPrice.SortKey()
	}
	if s.filter.MaxPrice != nil {
		high.price = s.filter.MaxPrice.SortKey()
	}
	if s.filter.MinBedrooms != nil {
		low.bedrooms = int64(*s.filter.MinBedrooms)
	}
	if s.filter.MaxBedrooms != nil {
		high.bedrooms = int64(*s.filter.MaxBedrooms)
	}
	if s.sort.Desc {
		low, high = high, low
	}
	last := s.last()
	if s.compare(last, low) < 0 {
		s.after = nil
	}
	return s.compare(last, high) > 0
}

// bedroomNumbers returns the numbers of bedrooms of all listings, or of those that are asked for, in the order of the list. The list is divided
// by them where prices and bedrooms meet: large homes cost more, so the cheapest of them come late among all.
func (s propertySearch) bedroomNumbers() (numbers []int64, isDivided bool, err error) {
	byBedrooms := s.sort.Field == "bedrooms"
	if s.lead() != ofAll || byBedrooms && !s.asksFor(inPrices) || !byBedrooms && !s.asksFor(inBedrooms) {
		return nil, false, nil
	}
	where := s.where(func(key propertyKey) bool { return key == inBedrooms })
	numbers, err = All(s.q, ScanValue[int64], fmt.Sprintf(`
		WITH RECURSIVE numbers (n) AS (
			SELECT (SELECT min(p.bedrooms) FROM properties AS p WHERE %[1]s)
			UNION ALL SELECT (SELECT min(p.bedrooms) FROM properties AS p WHERE p.bedrooms > n AND %[1]s) FROM numbers WHERE n IS NOT NULL
		) SELECT n FROM numbers WHERE n IS NOT NULL LIMIT %[2]d`, where, maxBedroomNumbers+1), s.args)
	if byBedrooms && s.sort.Desc {
		slices.Reverse(numbers)
	}
	return numbers, len(numbers) <= maxBedroomNumbers, err
}

// findDivided is find in a part of the list for each number of bedrooms.
func (s propertySearch) findDivided(numbers []int64, take int64) (found []listedProperty, err error) {
	for _, number := range numbers {
		part, wanted := s, take
		part.args = maps.Clone(s.args)
		part.args["number"] = number
		part.conditions = slices.DeleteFunc(slices.Clone(s.conditions), func(c propertyCondition) bool { return c.on == inBedrooms })
		part.conditions = append(part.conditions, propertyCondition{ofNumber, `p.bedrooms = @number`})
		if s.sort.Field == "bedrooms" { // one part comes after the other
			part.sort.Field, wanted = "propertyId", take-int64(len(found))
			if s.after != nil {
				last, _ := s.after.Values[0].(int64)
				switch order := cmp.Compare(number, last); {
				case s.sort.Desc && order > 0, !s.sort.Desc && order < 0:
					continue
				case order != 0:
					part.after = nil
				}
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
	s.arrange(found)
	return found[:min(take, int64(len(found)))], nil
}

// keyChunk is how many listings get their keys in one transaction.
const keyChunk = 1000

// deriveKeys derives the keys of listings that lack them.
func (o Operations) deriveKeys(ctx context.Context) error {
	lacking, err := Read(ctx, o.db, "look for properties without keys", func(q Querier) (bool, error) {
		return One(q, ScanValue[bool], `SELECT EXISTS (SELECT 1 FROM properties WHERE words IS NULL)`)
	})
	if err != nil || !lacking {
		return err
	}
	return KeyProperties(o.db.Dialect, func(work func(Tx) error) error { return o.db.Write(ctx, "derive the keys of properties", work) })
}

// KeyProperties derives the keys of listings that lack them, some in each transaction.
func KeyProperties(d *Dialect, write func(work func(Tx) error) error) error {
	last := int64(math.MinInt64)
	for {
		var keyed []api.Property
		err := write(func(tx Tx) (err error) {
			keyed, err = All(tx, func(r Scanner) (p api.Property, err error) {
				return p, r.Scan(&p.ID, &p.Title, &p.Description, &p.Address, &p.City, &p.Postcode)
			}, `SELECT id, title, description, address, city, postcode FROM properties WHERE words IS NULL AND id > $1 ORDER BY id LIMIT $2`+d.LockProperty,
				last, keyChunk)
			for _, p := range keyed {
				if err == nil {
					_, err = tx.Exec(`UPDATE properties SET (`+derivedPropertyColumns+`) = ($2, $3) WHERE id = $1`, append([]any{p.ID}, derivedPropertyValues(p)...)...)
				}
			}
			return err
		})
		if err != nil || len(keyed) < keyChunk {
			return err
		}
		last = keyed[len(keyed)-1].ID
	}
}
