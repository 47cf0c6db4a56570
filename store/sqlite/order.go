package sqlite

import (
	"fmt"
	"strings"

	"example.com/perks/api"
)

// sortColumns is what each sort field is sorted by. Fields of other names are not sorted by.
var sortColumns = map[string]string{
	"title":          `p.title_fold`,
	"category":       `p.category_fold`,
	"merchant_name":  `p.merchant_name_fold`,
	"city":           `p.city_fold`,
	"valid_from":     `p.valid_from`,
	"valid_to":       `p.valid_to`,
	"created_at":     `p.created_at`,
	"updated_at":     `p.updated_at`,
	api.SortDistance: `CAST(round(1000000 * ` + distance + `) AS INTEGER)`, // whole millimetres
}

// sortIndexes serve the order of all perks by one field, ascending and descending.
var sortIndexes = map[string][2]string{
	"title":         {`perks_title_asc`, `perks_title_desc`},
	"category":      {`perks_category_asc`, `perks_category_desc`},
	"merchant_name": {`perks_merchant_name_asc`, `perks_merchant_name_desc`},
	"city":          {`perks_city_asc`, `perks_city_desc`},
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

// orderBy writes the order, or the same order read from its other end.
func orderBy(columns map[string]string, keys []api.SortKey, id string, fromEnd bool) (string, error) {
	var terms []string
	for _, key := range keys {
		column, ok := columns[key.Field]
		if !ok {
			return "", fmt.Errorf("there is no order by %q", key.Field)
		}
		terms = append(terms, column+direction(key.Desc, fromEnd))
	}
	terms = append(terms, id+direction(false, fromEnd))
	return strings.Join(terms, `, `), nil
}

func direction(descending, fromEnd bool) string {
	switch {
	case fromEnd && descending:
		return ` ASC NULLS FIRST`
	case fromEnd:
		return ` DESC NULLS FIRST`
	case descending:
		return ` DESC NULLS LAST`
	}
	return ` ASC NULLS LAST`
}
