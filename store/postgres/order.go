package postgres

import (
	"fmt"
	"strings"

	"example.com/perks/api"
)

// sortColumn is what a field is sorted by.
type sortColumn struct {
	text      string
	nullable  bool
	isIndexed bool // in either direction
}

// perkSortColumns are the fields that perks can be sorted by.
var perkSortColumns = map[string]sortColumn{
	"id":             {`p.id`, false, true},
	"title":          {`p.title_fold`, false, true},
	"description":    {foldedText("description"), false, false},
	"category":       {`p.category_fold`, true, true},
	"merchant_name":  {`p.merchant_name_fold`, true, true},
	"image_url":      {foldedText("image_url"), true, false},
	"discount_text":  {foldedText("discount_text"), true, false},
	"terms":          {foldedText("terms"), true, false},
	"valid_from":     {`p.valid_from`, true, true},
	"valid_to":       {`p.valid_to`, true, true},
	"city":           {`p.city_fold`, false, true},
	"created_at":     {`p.created_at`, false, true},
	"updated_at":     {`p.updated_at`, false, true},
	api.SortDistance: {distance, false, false},
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
		if column.text == id { // nothing is left to decide
			return strings.Join(terms, `, `), nil
		}
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
