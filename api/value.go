package api

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Value is a value that is still in the form in which it came: JSON, or the text of a form field or a CSV cell. Its
// readers store what they read and return what is wrong as the end of a sentence whose subject is the field, or "".
type Value struct {
	json  json.RawMessage // nil for text
	raw   string
	texts []string // of a form that gave a list one by one; nil for one text
}

// TextValue is a value written as text, where numbers have no quotes to tell them from strings.
func TextValue(text string) Value { return Value{raw: text} }

// IsNull tells whether the value is JSON's null.
func (v Value) IsNull() bool { return string(v.json) == "null" }

func (v Value) isText() bool { return v.json == nil }

// Text reads a string.
func (v Value) Text(into *string) string {
	if v.isText() {
		*into = v.raw
		return ""
	}
	if v.json[0] != '"' || json.Unmarshal(v.json, into) != nil {
		return "must be a string"
	}
	return ""
}

// number returns the digits of a JSON number, or a text in decimal notation. Go by itself would also take the texts
// 0x1p4, 1_0 and Inf for numbers, which no other reader of forms and CSV does.
func (v Value) number() (string, bool) {
	if v.isText() {
		return v.raw, strings.Trim(v.raw, "+-.0123456789eE") == ""
	}
	c := v.json[0]
	return string(v.json), c == '-' || (c >= '0' && c <= '9')
}

// Int reads a whole number. A JSON number that is written with a fraction of zero, as some languages do, is whole too.
func (v Value) Int(into *int64) string {
	const problem = "must be a whole number"
	digits, ok := v.number()
	if !ok {
		return problem
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		*into = n
		return ""
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return problem
	}
	*into = int64(f)
	return ""
}

func (v Value) rooms(into *int) string {
	var n int64
	if problem := v.Int(&n); problem != "" {
		return problem
	}
	if problem := roomsRule(n); problem != "" {
		return problem
	}
	*into = int(n)
	return ""
}

// Float reads a finite number.
func (v Value) Float(into *float64) string {
	digits, ok := v.number()
	if !ok {
		return "must be a number"
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || finiteRule(f) != "" {
		return "must be a number"
	}
	*into = f
	return ""
}

// Time reads an RFC 3339 time and keeps it in UTC.
func (v Value) Time(into *time.Time) string {
	const problem = "must be an RFC 3339 time such as 2026-01-31T09:00:00Z"
	var text string
	if v.Text(&text) != "" {
		return problem
	}
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC() // first, because an offset can lead out of the years that JSON can hold
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return problem
	}
	*into = t
	return ""
}

func (v Value) price(into *Price) string {
	var digits string
	if v.isText() || v.json[0] == '"' {
		if problem := v.Text(&digits); problem != "" {
			return problem
		}
	} else if number, ok := v.number(); ok {
		digits = number
	} else {
		return "must be a string or a number such as 120.50"
	}
	price, err := ParsePrice(digits)
	if err != nil {
		return err.Error()
	}
	*into = price
	return ""
}

// list reads an array of strings, or one string that separates them with commas. Blanks around an entry do not count,
// and the empty string is the empty list. Text can hold the array as JSON, because an entry may have a comma in it.
func (v Value) list(into *[]string) string {
	if v.texts != nil {
		*into = slices.Clone(v.texts)
		return ""
	}
	array := v.json
	if v.isText() {
		array = json.RawMessage(strings.TrimSpace(v.raw))
	}
	if len(array) > 0 && array[0] == '[' {
		var entries []*string
		if json.Unmarshal(array, &entries) != nil {
			return "must be an array of strings"
		}
		switch { // a text may have either; ParseObject has refused both in JSON
		case !utf8.Valid(array):
			return "must be valid UTF-8"
		case loneSurrogate(array) >= 0:
			return "has half of a surrogate pair"
		}
		*into = make([]string, len(entries))
		for i, entry := range entries {
			if entry == nil {
				return "must be an array of strings"
			}
			(*into)[i] = *entry
		}
		return ""
	}
	var joined string
	if v.Text(&joined) != "" {
		return "must be an array of strings, or one string with commas between"
	}
	*into = []string{}
	if strings.TrimSpace(joined) == "" {
		return ""
	}
	for entry := range strings.SplitSeq(joined, ",") {
		*into = append(*into, strings.TrimSpace(entry))
	}
	return ""
}
