package sqlite

import (
	"database/sql/driver"
	"fmt"
	"strings"

	"modernc.org/sqlite"

	"example.com/perks/api"
	"example.com/perks/store"
)

// sortColumn is what a field is sorted by.
type sortColumn struct {
	text     string
	nullable bool
}

// perkSortColumns are the fields that perks can be sorted by.
var perkSortColumns = map[string]sortColumn{
	"id":             {`p.id`, false},
	"description":    {`fold(p.description)`, false},
	"image_url":      {`fold(p.image_url)`, true},
	"discount_text":  {`fold(p.discount_text)`, true},
	"terms":          {`fold(p.terms)`, true},
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

func init() {
	sqlite.MustRegisterDeterministicScalarFunction("fold", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		if text, ok := args[0].(string); ok {
			return store.Fold(text), nil
		}
		return args[0], nil
	})
}

// sortIndexes serve the order of all perks by one field, ascending and descending. The fields that are not here are folded
// and sorted anew for each page.
var sortIndexes = map[string][2]string{
	"title":         {`perks_title_asc`, `perks_title_desc`},
	"category":      {`perks_category_asc`, `perks_category_desc`},
	"merchant_name": {`perks_merchant_name_asc`, `perks_merchant_name_desc`},
	"city":          {`perks_city_asc`, `perks_city_desc`},
	"id":            {`sqlite_autoindex_perks_1`, `sqlite_autoindex_perks_1`},
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

// orderBy writes the order, or the same order read from its other end, which SQLite walks on the same index.
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

// direction says where nulls go only where SQLite would put them elsewhere: to it they are less than every value, and
// telling it what is so anyway keeps it from using the index.
func direction(column sortColumn, descending, fromEnd bool) string {
	switch {
	case descending && fromEnd:
		return ` ASC`
	case descending:
		return ` DESC`
	case column.nullable && fromEnd:
		return ` DESC NULLS FIRST`
	case column.nullable:
		return ` ASC NULLS LAST`
	case fromEnd:
		return ` DESC`
	}
	return ` ASC`
}
