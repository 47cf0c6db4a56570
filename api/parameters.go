package api

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxParameters is the longest query, in bytes. The Link header repeats it four times.
const maxParameters = 8 << 10

// Parameters are the parameters of a URL's query, and their problems by name. Unknown parameters are ignored, except
// nearMisses.
type Parameters struct {
	Values url.Values
	Fields FieldErrors
	known  map[string]bool // the names that were asked for
}

// nearMisses are names that clients guess, and the right ones. Ignoring them would show a longer list, or another
// order, than was asked for.
var nearMisses = [...]struct{ wrong, right string }{
	{"search", "q"}, {"query", "q"}, {"category_id", "category"}, {"radius_km", "radius"},
	{"latitude", "lat"}, {"longitude", "lng"}, {"lon", "lng"}, {"long", "lng"},
	{"perPage", "per_page"}, {"pageSize", "per_page"}, {"page_size", "per_page"}, {"limit", "per_page"},
	{"order_by", "sort"}, {"sort_by", "sort"}, {"asOf", "as_of"}, {"asof", "as_of"},
}

// Err returns the problems of the parameters. Call it after all known parameters were read.
func (p *Parameters) Err() error {
	for _, miss := range nearMisses {
		if p.Values.Get(miss.wrong) != "" && p.known[miss.right] && !p.known[miss.wrong] {
			p.Fields.Add(miss.wrong, "is not known: use %s", miss.right)
		}
	}
	return p.Fields.Err()
}

// ParseParameters reads the raw query of a URL.
func ParseParameters(raw string) *Parameters {
	p := &Parameters{Fields: FieldErrors{}, known: map[string]bool{}}
	if len(raw) > maxParameters {
		p.Fields.Add("query", "must be at most %d bytes long", maxParameters)
		return p
	}
	var err error
	if p.Values, err = url.ParseQuery(raw); err != nil {
		p.Fields.Add("query", "is not valid URL encoding")
	}
	return p
}

// Given returns a parameter's value and whether it is present.
func (p *Parameters) Given(name string) (string, bool) {
	p.known[name] = true
	values := p.Values[name]
	if len(values) == 0 {
		return "", false
	}
	if len(values) > 1 {
		p.Fields.Add(name, "is given more than once")
	}
	return values[0], true
}

// Integer returns a number between low and high, inclusive.
func (p *Parameters) Integer(name string, byDefault, low, high int64) int64 {
	value, given := p.Given(name)
	if !given {
		return byDefault
	}
	n, err := strconv.ParseInt(value, 10, 64) // of a number out of its range it returns the nearest
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		p.Fields.Add(name, "must be a whole number")
	case n < low:
		p.Fields.Add(name, "must be at least %d", low)
	case n > high:
		p.Fields.Add(name, "must be at most %d", high)
	default:
		return n
	}
	return byDefault
}

// Choice returns one of the choices, by default the first.
func (p *Parameters) Choice(name string, choices ...string) string {
	value, given := p.Given(name)
	if !given {
		return choices[0]
	}
	if !slices.Contains(choices, value) {
		p.Fields.Add(name, "must be %s", strings.Join(choices, " or "))
		return choices[0]
	}
	return value
}

// Sort returns the requested order by the allowed fields.
func (p *Parameters) Sort(byDefault string, allowed []string) []SortKey {
	text, _ := p.Given("sort")
	if text == "" {
		text = byDefault
	}
	keys, err := ParseSort(text, allowed)
	if err != nil {
		p.Fields.Add("sort", "%s", err)
	}
	return keys
}

// SortByOne is Sort for a list that is sorted by one field.
func (p *Parameters) SortByOne(byDefault string, allowed []string) []SortKey {
	keys := p.Sort(byDefault, allowed)
	if len(keys) > 1 {
		p.Fields.Add("sort", "must name one field")
	}
	return keys
}

func (p *Parameters) number(name string) (n float64, given bool) {
	value, given := p.Given(name)
	if !given {
		return 0, false
	}
	if problem := TextValue(value).Float(&n); problem != "" {
		p.Fields.Add(name, "%s", problem)
		return 0, false
	}
	return n, true
}
