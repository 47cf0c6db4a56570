package postgres

import (
	"fmt"
	"strings"

	"example.com/perks/api"
)

// sortColumn is what a field is sorted by.
type sortColumn struct {
	text     string
	nullable bool
}

// perkSortColumns are the fields that perks can be sorted by. Each but the distance has an index for either direction.
var perkSortColumns = map[string]sortColumn{
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

// orderBy writes the order, or the same order read from its other end, which PostgreSQL walks on the same index.
func orderBy(columns map[string]sortColumn, keys []api.SortKey, id string, fromEnd bool) (string, error) {
	var terms []string
	for _, key := range keys {
		column, ok := columns[key.Field]
		if !ok {
			return "", fmt.Errorf("there is no order by %q", key.Field)
		}
		terms = append(terms, column.text+direction(column, key.Desc, fromEnd))
	}
	terms = append(terms, id+direction(sortColumn{}, false, fromEnd))
	return strings.Join(terms, `, `), nil
}

// direction says where nulls go only where PostgreSQL would put them elsewhere: to it they are greater than every value,
// and an index serves an order only if both have nulls at the same end, even where there are none.
func direction(column sortColumn, descending, fromEnd bool) string {
	switch {
	case descending && fromEnd && column.nullable:
		return ` ASC NULLS FIRST`
	case descending && !fromEnd && column.nullable:
		return ` DESC NULLS LAST`
	case descending != fromEnd:
		return ` DESC`
	}
	return ` ASC`
}
