package server

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

// The bounds of a radius, in kilometres, and of a search text, in characters.
const (
	defaultRadiusKM = 10
	maxRadiusKM     = 500
	maxQueryText    = 200
)

// maxQuery is how many bytes all parameters together may have. The Link header repeats them four times.
const maxQuery = 8 << 10

// query reads query parameters and collects what is wrong with them. Parameters that nobody asks for are ignored.
type query struct {
	values url.Values
	fields api.FieldErrors
}

func newQuery(raw string) *query {
	q := &query{fields: api.FieldErrors{}}
	if len(raw) > maxQuery {
		q.fields.Add("query", "must be at most %d bytes long", maxQuery)
		return q
	}
	var err error
	if q.values, err = url.ParseQuery(raw); err != nil {
		q.fields.Add("query", "is not valid URL encoding")
	}
	return q
}

// given returns a parameter's value and whether it is there at all.
func (q *query) given(name string) (string, bool) {
	values := q.values[name]
	if len(values) == 0 {
		return "", false
	}
	if len(values) > 1 {
		q.fields.Add(name, "is given more than once")
	}
	return values[0], true
}

func (q *query) text(name string) string {
	value, _ := q.given(name)
	switch {
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		q.fields.Add(name, "must be valid UTF-8 text")
		return ""
	case utf8.RuneCountInString(value) > maxQueryText:
		q.fields.Add(name, "must be at most %d characters long", maxQueryText)
		return ""
	}
	return strings.TrimSpace(value)
}

func (q *query) integer(name string, byDefault, low, high int64) int64 {
	value, given := q.given(name)
	if !given {
		return byDefault
	}
	n, err := strconv.ParseInt(value, 10, 64) // of a number out of its range it returns the nearest
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		q.fields.Add(name, "must be a whole number")
	case n < low:
		q.fields.Add(name, "must be at least %d", low)
	case n > high:
		q.fields.Add(name, "must be at most %d", high)
	default:
		return n
	}
	return byDefault
}

func (q *query) number(name string) (float64, bool) {
	value, given := q.given(name)
	if !given {
		return 0, false
	}
	var n float64
	if problem := api.TextValue(value).Float(&n); problem != "" {
		q.fields.Add(name, "%s", problem)
		return 0, false
	}
	return n, true
}

func (q *query) boolean(name string) bool {
	value, given := q.given(name)
	if !given {
		return false
	}
	if value != "true" && value != "false" {
		q.fields.Add(name, "must be true or false")
	}
	return value == "true"
}

func (q *query) choice(name string, choices ...string) string {
	value, given := q.given(name)
	if !given {
		return choices[0]
	}
	if !slices.Contains(choices, value) {
		q.fields.Add(name, "must be %s", strings.Join(choices, " or "))
		return choices[0]
	}
	return value
}

func (q *query) sort(byDefault string, allowed []string) []api.SortKey {
	text, _ := q.given("sort")
	if text == "" {
		text = byDefault
	}
	keys, err := api.ParseSort(text, allowed)
	if err != nil {
		q.fields.Add("sort", "%s", err)
	}
	return keys
}

func (q *query) window() store.Window {
	return store.Window{
		Page:    q.integer("page", 1, 1, api.MaxPage),
		PerPage: int(q.integer("per_page", api.DefaultPerPage, 1, api.MaxPerPage)),
	}
}

func (q *query) circle() *store.Circle {
	lat, hasLat := q.degrees("lat", "latitude", api.LatRule)
	lng, hasLng := q.degrees("lng", "longitude", api.LngRule)
	radius, hasRadius := q.number("radius")
	if hasRadius && !(radius > 0 && radius <= maxRadiusKM) {
		q.fields.Add("radius", "must be above 0 and at most %d kilometres", maxRadiusKM)
	}
	givenLat, givenLng := q.values.Has("lat") || q.values.Has("latitude"), q.values.Has("lng") || q.values.Has("longitude")
	latName, lngName := "lat", "lng"
	if !q.values.Has("lat") && !q.values.Has("lng") {
		latName, lngName = "latitude", "longitude"
	}
	switch {
	case givenLat && !givenLng:
		q.fields.Add(lngName, "is required with %s", latName)
	case givenLng && !givenLat:
		q.fields.Add(latName, "is required with %s", lngName)
	case q.values.Has("radius") && !givenLat:
		q.fields.Add("radius", "needs lat and lng")
	}
	if !hasLat || !hasLng {
		return nil
	}
	if !hasRadius {
		radius = defaultRadiusKM
	}
	return &store.Circle{Lat: lat, Lng: lng, RadiusKM: radius}
}

// degrees reads a coordinate that goes by two names. Both may be given only if they say the same.
func (q *query) degrees(short, long string, rule func(float64) string) (float64, bool) {
	value, given := q.number(short)
	if given {
		q.check(short, rule(value))
	}
	other, givenLong := q.number(long)
	if givenLong {
		q.check(long, rule(other))
	}
	if given && givenLong && value != other {
		q.fields.Add(long, "is not the same as %s", short)
	}
	if !given {
		value = other
	}
	return value, given || givenLong
}

func (q *query) check(name, problem string) {
	if problem != "" {
		q.fields.Add(name, "%s", problem)
	}
}

// perkFilters are the parameters that choose perks.
var perkFilters = []string{"q", "category", "city", "lat", "latitude", "lng", "longitude", "radius", "include_expired"}

func (q *query) perks(at time.Time) store.PerkQuery {
	perks := store.PerkQuery{
		Text:           q.text("q"),
		Category:       q.text("category"),
		City:           q.text("city"),
		Near:           q.circle(),
		IncludeExpired: q.boolean("include_expired"),
		At:             at,
		Sort:           q.sort("-created_at", api.PerkSortFields()),
		Window:         q.window(),
	}
	byDistance := func(key api.SortKey) bool { return key.Field == api.SortDistance }
	if perks.Near == nil && slices.ContainsFunc(perks.Sort, byDistance) {
		q.fields.Add("sort", "by %s needs lat and lng", api.SortDistance)
	}
	return perks
}

func (q *query) redemptions(userID string) store.RedemptionQuery {
	for _, name := range perkFilters {
		if q.values.Has(name) {
			q.fields.Add(name, "applies only to type=available")
		}
	}
	return store.RedemptionQuery{
		UserID: userID,
		Sort:   q.sort("-redeemed_at", api.RedemptionSortFields()),
		Window: q.window(),
	}
}

// writePage answers with one window of a list, its total in X-Total-Count and its neighbours in Link.
func writePage[T any](s *service, c echo.Context, list store.List[T], window store.Window) error {
	page := api.Page[T]{Data: list.Items, Meta: api.NewPageMeta(window.Page, window.PerPage, list.Total)}
	header := c.Response().Header()
	header.Set("X-Total-Count", strconv.FormatInt(list.Total, 10))
	if links := pageLinks(s.address(c.Request()), page.Meta); links != "" {
		header.Set("Link", links)
	}
	return writeRead(c, page)
}

// pageLinks is the Link header (RFC 8288, which replaced RFC 5988) of a page, "" when there is only one. Every parameter
// but page stays as it was asked for. Behind the end, prev leads back to the last page.
func pageLinks(address url.URL, meta api.PageMeta) string {
	if meta.TotalPages <= 1 {
		return ""
	}
	var links []string
	add := func(relation string, page int64) {
		target := address
		parameters := target.Query()
		parameters.Set("page", strconv.FormatInt(page, 10))
		target.RawQuery = parameters.Encode()
		links = append(links, "<"+target.String()+`>; rel="`+relation+`"`)
	}
	add("first", 1)
	if meta.Page > 1 {
		add("prev", min(meta.Page-1, meta.TotalPages))
	}
	if meta.Page < meta.TotalPages {
		add("next", meta.Page+1)
	}
	add("last", meta.TotalPages)
	return strings.Join(links, ", ")
}

// address is the URL that the caller asked for. What a proxy says of it counts only when there is one. It is absolute unless
// the caller named no valid host: then it is the path alone, which clients resolve against the address they asked for.
func (s *service) address(r *http.Request) url.URL {
	address := url.URL{Scheme: s.proxies.scheme(r), Host: r.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	if host := r.Header.Get("X-Forwarded-Host"); s.proxies.believes(r) && plainHost.MatchString(host) {
		address.Host = host
	}
	if !plainHost.MatchString(address.Host) {
		address.Scheme, address.Host = "", ""
	}
	return address
}

// plainHost is what cannot be more than a host and a port. Callers send more, in the target of a request too; many proxies
// hand that on, and package url writes some of it as it is, such as > and ".
var plainHost = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$`)
