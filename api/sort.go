package api

import (
	"fmt"
	"slices"
	"strings"
)

// SortKey is one field of an order, ascending unless Desc.
type SortKey struct {
	Field string
	Desc  bool
}

// MaxSortKeys is how many fields one order can name.
const MaxSortKeys = 4

// SortDistance is the perk sort field that needs a position to measure from.
const SortDistance = "distance"

// PerkSortFields returns the fields that a list of perks can be sorted by: all of a perk, and the distance.
func PerkSortFields() []string {
	return []string{
		"id", "title", "description", "category", "merchant_name", "image_url", "discount_text", "terms", "valid_from", "valid_to",
		"city", "created_at", "updated_at", SortDistance,
	}
}

// RedemptionSortFields returns the fields that a list of redemptions can be sorted by: all of a redemption but metadata,
// which is an object.
func RedemptionSortFields() []string {
	return []string{"id", "perk_id", "user_id", "redeemed_at", "status"}
}

// ParseSort reads comma-separated field names, each with a leading "-" for descending order, such as "title,-created_at".
// A leading "+" says that the order ascends, and a comma at the end says nothing. The error says which name is wrong and
// what is allowed. The empty text is no order.
func ParseSort(text string, allowed []string) ([]SortKey, error) {
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, ",")
	if last := len(names) - 1; last > 0 && strings.Trim(names[last], " ") == "" {
		names = names[:last]
	}
	if len(names) > MaxSortKeys {
		return nil, fmt.Errorf("must name at most %d fields", MaxSortKeys)
	}
	var keys []SortKey
	for _, name := range names {
		field, desc := strings.CutPrefix(strings.Trim(name, " "), "-")
		if !desc {
			field = strings.TrimPrefix(field, "+")
		}
		if !slices.Contains(allowed, field) {
			return nil, fmt.Errorf("cannot sort by %q; the fields are %s", field, strings.Join(allowed, ", "))
		}
		if slices.ContainsFunc(keys, func(k SortKey) bool { return k.Field == field }) {
			return nil, fmt.Errorf("names %q twice", field)
		}
		keys = append(keys, SortKey{Field: field, Desc: desc})
	}
	return keys, nil
}

// FormatSort is the inverse of ParseSort.
func FormatSort(keys []SortKey) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Field
		if key.Desc {
			names[i] = "-" + key.Field
		}
	}
	return strings.Join(names, ",")
}
