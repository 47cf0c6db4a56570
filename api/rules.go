package api

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

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

// A rule returns what is wrong with a value as the end of a sentence whose subject is the field, or "" if it is right.

func (f FieldErrors) check(field, problem string) {
	if problem != "" {
		f.Add(field, "%s", problem)
	}
}

func (f FieldErrors) checkOptional(field string, value *string, rule func(string) string) {
	if value != nil {
		f.check(field, rule(*value))
	}
}

// textRule holds for characters counted as runes. NUL is refused because PostgreSQL's text cannot hold it.
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

// PerkIDRule returns what is wrong with a perk's or category's id, or "". The names of the routes beside /perks/{perkId}
// are refused, because a perk called so could never be read.
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

// LowerUUID returns a UUID as the service writes those that it makes, and any other id as it is: some languages write UUIDs
// in upper case, and both are the same (RFC 9562, section 4).
func LowerUUID(id string) string {
	if uuid().MatchString(id) {
		return strings.ToLower(id)
	}
	return id
}

// SameID tells whether two ids name the same record.
func SameID(a, b string) bool { return LowerUUID(a) == LowerUUID(b) }

// UUIDSpellings returns the spellings in which a record with this UUID may be stored: as written here, in lower case and in
// upper case, each once. Any other id has one spelling.
func UUIDSpellings(id string) []string {
	spellings := []string{id}
	if uuid().MatchString(id) {
		for _, other := range []string{strings.ToLower(id), strings.ToUpper(id)} {
			if !slices.Contains(spellings, other) {
				spellings = append(spellings, other)
			}
		}
	}
	return spellings
}

// UserIDRule returns what is wrong with a user's id, or "".
func UserIDRule(id string) string {
	switch {
	case id == "":
		return "is required"
	case !utf8.ValidString(id):
		return "must be valid UTF-8"
	case utf8.RuneCountInString(id) > maxUserID:
		return fmt.Sprintf("must be at most %d characters long", maxUserID)
	case strings.ContainsFunc(id, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '/' }):
		return "must not contain blanks, slashes or control characters"
	case id == "." || id == "..":
		return "must not be . or .., which clients take out of an address"
	}
	return ""
}

// URLRule returns what is wrong with an image address, or "".
func URLRule(address string) string {
	if problem := textRule(address, 1, maxURL); problem != "" {
		return problem
	}
	u, err := url.Parse(address) // lets blanks pass in the path
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") || strings.ContainsFunc(address, unicode.IsSpace) {
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
