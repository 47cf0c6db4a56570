package store

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// Cursor is a place in a list: right after the record with these values of the sort keys and this id. It stays where it
// is when that record changes.
type Cursor struct {
	Values []any // of each key: a folded text, a time, a whole number, or nil
	ID     string
}

// ErrNoCursor says that a text is not a cursor of a list in that order.
var ErrNoCursor = errors.New("is not from a list with this sort")

// CursorOf returns the place after a perk in the query's list. distance is its distance in millimetres, if that is a
// key.
func (q PerkQuery) CursorOf(perk *api.Perk, distance int64) *Cursor {
	c := &Cursor{ID: perk.ID}
	for _, key := range q.Sort {
		value := any(distance)
		switch key.Field {
		case api.SortDistance:
		case api.SortRelevance:
			value = relevance(perk.Title, QueryWords(q.Query))
		default:
			value = perkSortValues[key.Field](perk)
		}
		c.Values = append(c.Values, value)
	}
	return c
}

// Text returns the cursor of a list in that order as a URL can carry it.
func (c *Cursor) Text(keys []api.SortKey) string {
	parts := []any{api.FormatSort(keys)}
	for _, value := range c.Values {
		if at, ok := value.(time.Time); ok {
			value = at.UnixMicro()
		}
		parts = append(parts, value)
	}
	text, err := json.Marshal(append(parts, c.ID))
	if err != nil {
		panic(err) // texts and numbers can always be written
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// ParseCursor reads what Text wrote for a list in the same order, or returns ErrNoCursor.
func ParseCursor(text string, keys []api.SortKey) (*Cursor, error) {
	var sort string
	c := &Cursor{Values: make([]any, len(keys))}
	parts := []any{&sort}
	for i, key := range keys {
		parts = append(parts, &cursorValue{&c.Values[i], key.Field})
	}
	parts = append(parts, &c.ID)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &parts) != nil || len(parts) != len(keys)+2 || sort != api.FormatSort(keys) ||
		IsUnstorable(c.ID) {
		return nil, ErrNoCursor
	}
	return c, nil
}

// cursorValue decodes a value as perkSortValues, redemptionSortValues and listedProperty.sortValue return it for the
// field.
type cursorValue struct {
	into  *any
	field string
}

func (v *cursorValue) UnmarshalJSON(raw []byte) error {
	var err error
	switch kind := sortKinds[v.field]; {
	case string(raw) == "null":
		*v.into = nil
	case kind == Text:
		var text string
		if err = json.Unmarshal(raw, &text); IsUnstorable(text) {
			err = ErrNoCursor
		}
		*v.into = text
	default:
		var number int64
		if err = json.Unmarshal(raw, &number); err == nil && !v.canBe(number) {
			err = ErrNoCursor
		}
		if *v.into = number; kind == Instant {
			*v.into = time.UnixMicro(number).UTC()
		}
	}
	return err
}

// canBe tells whether a record can have the number as its value. PostgreSQL fails on one that its type can't hold.
func (v *cursorValue) canBe(number int64) bool {
	switch v.field {
	case api.SortRelevance:
		return number == 0 || number == 1
	case "bedrooms":
		return number >= 0 && number <= math.MaxInt32
	case "propertyId":
		return true
	case api.SortDistance:
		return number >= 0 && number <= earthMillimetres
	}
	year := time.UnixMicro(number).UTC().Year()
	return year >= 1 && year <= 9999
}

// earthMillimetres is more than the distance between any two places on Earth.
const earthMillimetres = 40_100 * 1_000_000

// Ranges are conditions that divide a list, or what follows the cursor if there is one, and name its values in args.
// Each is a range of the index of the first key, and they are in the order of the list.
func (o Order) Ranges(keys []api.SortKey, after *Cursor, args Named) []string {
	descending := false // the ids
	for i, key := range keys {
		descending = key.Desc
		if o.Columns[key.Field].Text == o.ID { // unique, so no further key matters
			keys = keys[:i]
			break
		}
	}
	switch {
	case after == nil && len(keys) > 0 && o.Columns[keys[0].Field].Nullable:
		first := o.Columns[keys[0].Field].Text
		return []string{first + ` IS NOT NULL`, first + ` IS NULL`}
	case after == nil:
		return []string{`true`}
	}
	args["after_id"] = after.ID
	ranges := []string{o.ID + beyond(descending) + `@after_id`}
	for i, key := range slices.Backward(keys) {
		ties := strings.Join(ranges, ` OR `)
		column, name := o.Columns[key.Field], fmt.Sprintf(`after_%d`, i)
		if value := after.Values[i]; value == nil {
			ranges = []string{column.Text + ` IS NULL AND (` + ties + `)`}
		} else {
			args[name] = value
			ranges = []string{column.Text + ` = @` + name + ` AND (` + ties + `)`,
				column.Text + beyond(key.Desc) + `@` + name}
			if column.Nullable {
				ranges = append(ranges, column.Text+` IS NULL`)
			}
		}
	}
	return ranges
}

func beyond(descending bool) string {
	if descending {
		return ` < `
	}
	return ` > `
}

// Reach says how to read the page of a list of total perks. After a cursor it takes one more, which tells whether there
// are more.
func (q PerkQuery) Reach(total int64) Fetch {
	if q.After != nil {
		return Fetch{Take: int64(q.Window.PerPage) + 1}
	}
	return q.Window.Fetch(total)
}

// Page makes a list of what was read as Reach says. distances returns those of perks from the query's position, in
// millimetres, and positions those that they have.
func (q PerkQuery) Page(
	perks []api.Perk, total int64, distances func(ids []string) ([]int64, error),
	positions func(ids []string) ([]api.Point, error),
) (list List[api.Perk], err error) {
	list = List[api.Perk]{Items: perks, Total: total}
	isLast := len(perks) == 0 || q.Window.Offset() >= total-int64(len(perks))
	if q.After != nil {
		isLast = len(perks) <= q.Window.PerPage
		list.Items = perks[:min(len(perks), q.Window.PerPage)]
	}
	var farthest int64 // of the last perk
	ids := make([]string, len(list.Items))
	for i := range list.Items {
		ids[i] = list.Items[i].ID
	}
	switch {
	case len(ids) == 0:
	case q.Near != nil:
		millimetres, err := distances(ids)
		if err != nil {
			return list, err
		}
		for _, farthest = range millimetres {
			list.DistancesKM = append(list.DistancesKM, float64(farthest/1000)/1000)
		}
	case q.City != "" && q.Window.Offset() == 0 && q.Window.PerPage == api.MaxPerPage: // it costs a sixth of a page
		points, err := positions(ids)
		if err != nil {
			return list, err
		}
		list.Centre = api.Middle(points)
	}
	if !isLast {
		list.Next = q.CursorOf(&list.Items[len(list.Items)-1], farthest)
	}
	return list, nil
}
