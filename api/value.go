package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Value is a value as it was received: JSON, or the text of a form field or CSV cell. Its methods decode it, and return
// what is wrong as the end of a sentence about the field, or "".
type Value struct {
	json  json.RawMessage // nil for text
	raw   string
	texts []string // of a form that gave a list one by one; nil for one text
}

// TextValue is a value written as text, where quotes do not tell strings from numbers.
func TextValue(text string) Value { return Value{raw: text} }

// ListValue is a list whose entries were separate, so that they may contain commas.
func ListValue(entries []string) Value { return Value{texts: append([]string{}, entries...)} }

// NullValue is JSON's null.
func NullValue() Value { return Value{json: json.RawMessage("null")} }

// IsNull tells whether the value is JSON's null.
func (v Value) IsNull() bool { return string(v.json) == "null" }

func (v Value) isText() bool { return v.json == nil }

// Text reads a string.
func (v Value) Text(into *string) string {
	if v.isText() {
		*into = v.raw
		return ""
	}
	if v.json[0] != '"' {
		return "must be a string"
	}
	if bytes.IndexByte(v.json, '\\') < 0 && utf8.Valid(v.json) {
		*into = string(v.json[1 : len(v.json)-1])
		return ""
	}
	if json.Unmarshal(v.json, into) != nil {
		return "must be a string"
	}
	return ""
}

// number returns the digits of a JSON number, or of a text or JSON string in decimal notation. strconv would also
// accept 0x1p4, 1_0 and Inf, which no other reader of forms and CSV does.
func (v Value) number() (string, bool) {
	var digits string
	if v.Text(&digits) == "" {
		return digits, strings.Trim(digits, "+-.0123456789eE") == ""
	}
	c := v.json[0]
	return string(v.json), c == '-' || (c >= '0' && c <= '9')
}

// parseDouble returns the double nearest to a number. None is near enough to 1e400, nor to 1e-400, which strconv rounds
// to 0. It also refuses 0e999: some readers refuse the exponent whatever it multiplies.
func parseDouble(digits string) (float64, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(digits), "e")
	f, err := strconv.ParseFloat(digits, 64)
	power, _ := strconv.Atoi(exponent) // the nearest int if there is none
	isRounded := f == 0 && strings.ContainsAny(mantissa, "123456789") || power < -maxExponent || power > maxExponent
	return f, err == nil && finiteRule(f) == "" && !isRounded
}

// maxExponent is beyond what a double can have in at most 40 digits.
const maxExponent = 400

// Int reads a whole number. Some languages write one with a fraction of zero.
func (v Value) Int(into *int64) string {
	digits, ok := v.number()
	if n, err := strconv.ParseInt(digits, 10, 64); ok && err == nil {
		*into = n
		return ""
	}
	f, isDouble := parseDouble(digits)
	if !ok || !isDouble || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return "must be a whole number"
	}
	*into = int64(f)
	return ""
}

func (v Value) rooms(into *int) string {
	var n int64
	if problem := v.Int(&n); problem != "" {
		return problem
	}
	// numbers out of the range of int are out of the rule's range too
	*into = int(max(math.MinInt, min(n, math.MaxInt)))
	return ""
}

// Float reads a finite number.
func (v Value) Float(into *float64) string {
	digits, ok := v.number()
	f, isDouble := parseDouble(digits)
	if !ok || !isDouble {
		return "must be a number"
	}
	*into = f
	return ""
}

// floatOrNull reads a finite number or null. In text, "" and the word null mean null.
func (v Value) floatOrNull(into **float64) string { return orNullValue(v, into, Value.Float) }

// stockOrNull refuses +50, which Int reads as 50: its author meant to add units.
func (v Value) stockOrNull(into **int64) string {
	var text string
	if v.Text(&text) == "" && strings.HasPrefix(text, "+") {
		return "must be how many units there are in all, without a +"
	}
	return orNullValue(v, into, Value.Int)
}

// timeOrNull cuts to milliseconds, as Millisecond does.
func (v Value) timeOrNull(into **time.Time) string { return orNullValue(v, into, Value.Millisecond) }

func orNullValue[T any](v Value, into **T, parse func(Value, *T) string) string {
	*into = nil
	if v.IsNull() || v.isText() && (v.raw == "" || v.raw == "null") {
		return ""
	}
	*into = new(T)
	return parse(v, *into)
}

// textOrNull reads a string or null. In text, "" means null.
func (v Value) textOrNull(into **string) string {
	*into = nil
	if v.IsNull() || v.isText() && v.raw == "" {
		return ""
	}
	*into = new(string)
	return v.Text(*into)
}

// Time reads an RFC 3339 time as UTC.
func (v Value) Time(into *time.Time) string {
	var text string
	problem := v.Text(&text)
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC() // first, because an offset can lead out of the years that JSON can hold
	if problem != "" || err != nil || t.Year() < 1 || t.Year() > 9999 {
		return "must be an RFC 3339 time such as 2026-01-31T09:00:00Z"
	}
	*into = t
	return ""
}

// Millisecond is Time in the milliseconds that are shown, so that lists sort by what they show.
func (v Value) Millisecond(into *time.Time) string {
	problem := v.Time(into)
	*into = into.Truncate(time.Millisecond)
	return problem
}

// ParseTime reads an RFC 3339 time, or a date, which is its start in UTC.
func ParseTime(text string) (at time.Time, problem string) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, ""
	}
	if problem = TextValue(text).Time(&at); problem != "" {
		problem += ", or a date such as 2026-01-31"
	}
	return at, problem
}

func (v Value) price(into *Price) string {
	digits, isNumber := v.number()
	if !isNumber && v.Text(&digits) != "" {
		return "must be a string or a number such as 120.50"
	}
	price, err := ParsePrice(digits)
	if err != nil {
		return err.Error()
	}
	*into = price
	return ""
}

// list reads an array of strings, or one string with commas between the entries: blanks around an entry, and empty
// entries, are dropped. A text may also hold a JSON array, for entries with commas.
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
		switch err := json.Unmarshal(array, &entries); {
		case err != nil || slices.Contains(entries, nil):
			return "must be an array of strings"
		case !utf8.Valid(array): // a text may have this or the next; ParseObject has refused both in JSON
			return "must be valid UTF-8"
		case loneSurrogate(array) >= 0:
			return "has half of a surrogate pair"
		}
		*into = make([]string, len(entries))
		for i, entry := range entries {
			(*into)[i] = *entry
		}
		return ""
	}
	var joined string
	if v.Text(&joined) != "" {
		return "must be an array of strings, or one string with commas between"
	}
	*into = []string{}
	for entry := range strings.SplitSeq(joined, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			*into = append(*into, entry)
		}
	}
	if len(*into) == 0 && strings.Contains(joined, ",") {
		return "has commas, but no address; send an empty text for no images"
	}
	return ""
}

// Longest texts, in characters.
const (
	maxShortText = 120
	maxTitle     = 200
	maxAddress   = 500
	maxLongText  = 10_000
	maxURL       = 2_048
	maxUserID    = 128
	// MaxImages is the most image addresses that a property can have.
	MaxImages = 50
	// MaxIdempotencyKey is the longest Idempotency-Key header, in bytes.
	MaxIdempotencyKey = 255
	maxRooms          = math.MaxInt32
)

// A rule returns what is wrong with a value as the end of a sentence about the field, or "".

func (f FieldErrors) check(field, problem string) {
	if problem != "" {
		f.Add(field, "%s", problem)
	}
}

// textRule counts characters as runes. PostgreSQL's text cannot store NUL.
func textRule(s string, shortest, longest int) string {
	switch {
	case !utf8.ValidString(s):
		return "must be valid UTF-8"
	case strings.ContainsRune(s, 0):
		return "must not contain a NUL character"
	case shortest > 0 && strings.TrimSpace(s) == "":
		return "must not be blank"
	case utf8.RuneCountInString(s) > longest:
		return fmt.Sprintf("must be at most %d characters long", longest)
	}
	return ""
}

var perkID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// PerkIDRule returns what is wrong with the id of a perk or category, or "". The names of routes beside /perks/{perkId}
// are refused: such a perk could never be read.
func PerkIDRule(id string) string {
	switch {
	case !perkID().MatchString(id):
		return "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -"
	case id == "categories" || id == "users":
		return fmt.Sprintf("must not be %q, which is an address of the service", id)
	}
	return ""
}

var uuid = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`)
})

// LowerUUID returns a UUID in lower case, as the service writes its own, and any other id unchanged. UUIDs in upper and
// lower case are equal (RFC 9562, section 4).
func LowerUUID(id string) string {
	if uuid().MatchString(id) {
		return strings.ToLower(id)
	}
	return id
}

// SameID tells whether two ids identify the same record.
func SameID(a, b string) bool { return LowerUUID(a) == LowerUUID(b) }

// UUIDSpellings returns the spellings under which a UUID may be stored: first as given, then in lower and in upper
// case, each once. Any other id has one spelling.
func UUIDSpellings(id string) []string {
	if !uuid().MatchString(id) {
		return []string{id}
	}
	others := []string{strings.ToLower(id), strings.ToUpper(id)}
	return append([]string{id}, slices.DeleteFunc(others, func(other string) bool { return other == id })...)
}

// AnyIDRule returns what is wrong with the id of a record at any service, or "". The specification says only that ids
// are texts.
func AnyIDRule(id string) string {
	switch {
	case id == "":
		return "is required"
	case !utf8.ValidString(id):
		return "must be valid UTF-8"
	case strings.ContainsFunc(id, unicode.IsControl):
		return "must not contain control characters"
	case strings.TrimSpace(id) != id:
		return "must not begin or end with a blank"
	case id == "." || id == "..":
		return "must not be . or .., which clients take out of an address"
	}
	return ""
}

// UserIDRule returns what is wrong with a user's id at perksd, or "".
func UserIDRule(id string) string {
	switch {
	case id == "" || !utf8.ValidString(id) || id == "." || id == "..":
		return AnyIDRule(id)
	case utf8.RuneCountInString(id) > maxUserID:
		return fmt.Sprintf("must be at most %d characters long", maxUserID)
	case strings.ContainsFunc(id, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '/' }):
		return "must not contain blanks, slashes or control characters"
	}
	return ""
}

// URLRule returns what is wrong with an image address, or "".
func URLRule(address string) string {
	if problem := textRule(address, 1, maxURL); problem != "" {
		return problem
	}
	u, err := url.Parse(address) // lets blanks pass in the path
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") ||
		strings.ContainsFunc(address, unicode.IsSpace) {
		return "must be an absolute http or https URL"
	}
	return ""
}

// LatRule returns what is wrong with a latitude in degrees, or "".
func LatRule(lat float64) string { return betweenRule(lat, -90, 90) }

// LngRule returns what is wrong with a longitude in degrees, or "".
func LngRule(lng float64) string { return betweenRule(lng, -180, 180) }

func betweenRule(value, low, high float64) string {
	if !(value >= low && value <= high) { // false for NaN too
		return fmt.Sprintf("must be between %g and %g", low, high)
	}
	return ""
}

// HeaderActor is the header in which a client says who sits at it. A response repeats it if the service has taken it.
const HeaderActor = "Perks-Actor"

// HeaderFourEyes is in each response of a service where nobody approves or voids what they redeemed themselves.
const HeaderFourEyes = "Perks-Four-Eyes"

// maxActor is the longest name of who sits at a client, in characters.
const maxActor = 100

// ActorRule returns what is wrong with the name of who sits at a client, or "".
func ActorRule(name string) string {
	problem := textRule(name, 1, maxActor)
	switch {
	case problem != "":
		return problem
	case strings.TrimSpace(name) != name:
		return "must not begin or end with a blank"
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "must not contain control characters, nor others that print nothing"
	}
	return ""
}

// IdempotencyKeyRule returns what is wrong with an Idempotency-Key header, or "".
func IdempotencyKeyRule(key string) string {
	switch {
	case len(key) > MaxIdempotencyKey:
		return fmt.Sprintf("must be at most %d characters long", MaxIdempotencyKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }):
		return "must be printable ASCII"
	}
	return ""
}
