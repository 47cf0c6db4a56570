package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/perks/api"
)

// propertyOrder sorts properties AS p.
var propertyOrder = Order{ID: `p.id`, Columns: map[string]SortColumn{
	"propertyId": {`p.id`, false, true}, "price_pw": {`p.price_key`, false, true},
	"bedrooms": {`p.bedrooms`, false, true},
}}

// CheckPropertyCursor returns ErrNoCursor for a cursor of another list.
func CheckPropertyCursor(c *Cursor) error {
	if _, err := strconv.ParseInt(c.ID, 10, 64); err != nil || slices.Contains(c.Values, nil) {
		return ErrNoCursor
	}
	return nil
}

func (o Operations) ListProperties(ctx context.Context, query PropertyQuery) (List[api.Property], error) {
	return inSnapshot(ctx, o, "list properties", o.db.Snapshot, func(q Querier) (List[api.Property], error) {
		return o.listProperties(q, query)
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
	found, isMore, err := s.count()
	if err != nil {
		return list, err
	}
	list.Total, list.IsMore = int64(len(found)), isMore
	if isMore {
		list.Total = MaxCounted
	}
	if s.isPast {
		return list, nil
	}
	per, skip := int64(query.Window.PerPage), query.Window.Offset()
	if query.After != nil {
		skip = 0
	}
	if isMore {
		if found, err = s.find(skip + per + 1); err != nil {
			return list, err
		}
	} else { // all are here
		found = slices.DeleteFunc(found,
			func(l listedProperty) bool { return s.after != nil && s.compare(l, s.last()) <= 0 })
		slices.SortFunc(found, s.compare)
	}
	found = found[min(skip, int64(len(found))):]
	if int64(len(found)) > per {
		found = found[:per]
		list.Next = found[per-1].cursor(query.Sort...)
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
	text := `SELECT ` + PropertyColumns + ` FROM properties WHERE id IN (` + strings.Join(names, `, `) + `)`
	for record, err := range Each(s.q, ScanProperty, text, args) {
		if err != nil {
			return items, err
		}
		items[places[record.ID]] = record.Property
	}
	return items, nil
}
