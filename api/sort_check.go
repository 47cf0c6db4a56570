package api

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// Unsorted tells whether records are certainly not in the order of the first of some comma-separated fields: other
// services may ignore an order that they do not know. It compares numbers, times, and texts of ASCII that differ in
// letters, or in numbers of equally many digits. The order of other texts depends on the language.
func Unsorted[T any](sort string, records []T) bool {
	first, _, _ := strings.Cut(sort, ",")
	field, isDescending := strings.CutPrefix(strings.TrimSpace(first), "-")
	field = strings.TrimPrefix(field, "+")
	if field == "" {
		return false
	}
	var before json.RawMessage
	for _, record := range records {
		text, err := EncodeJSON(record)
		var members map[string]json.RawMessage
		if err != nil || json.Unmarshal(text, &members) != nil {
			return false
		}
		order := certainOrder(before, members[field])
		if isDescending {
			order = -order
		}
		if order > 0 {
			return true
		}
		before = members[field]
	}
	return false
}

// certainOrder compares two JSON values in every order that a service may have; 0 is not certain, or equal.
func certainOrder(a, b json.RawMessage) int {
	var x, y float64
	if json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil {
		return cmp.Compare(x, y)
	}
	var s, t string
	if json.Unmarshal(a, &s) != nil || json.Unmarshal(b, &t) != nil {
		return 0
	}
	earlier, noTime := time.Parse(time.RFC3339, s)
	later, noOther := time.Parse(time.RFC3339, t)
	if noTime == nil && noOther == nil {
		return earlier.Compare(later)
	}
	return certainTextOrder(s, t)
}

// certainTextOrder knows that in some orders every capital comes before every small letter.
func certainTextOrder(a, b string) int {
	isWide := func(r rune) bool { return r >= utf8.RuneSelf }
	if strings.ContainsFunc(a, isWide) || strings.ContainsFunc(b, isWide) {
		return 0
	}
	small, other := strings.ToLower(a), strings.ToLower(b)
	i := 0
	for i < len(small) && i < len(other) && small[i] == other[i] {
		i++
	}
	letter := func(text string) bool { return i < len(text) && 'a' <= text[i] && text[i] <= 'z' }
	digits := func(text string) int { return len(text[i:]) - len(strings.TrimLeft(text[i:], "0123456789")) }
	areLetters := letter(small) && letter(other)
	areNumbers := digits(small) > 0 && digits(small) == digits(other)
	order := strings.Compare(a, b)
	if !areLetters && !areNumbers || order != strings.Compare(small, other) {
		return 0
	}
	return order
}
