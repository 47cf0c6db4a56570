package api

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The default radius in kilometres, and the largest.
const (
	DefaultRadiusKM = 10
	MaxRadiusKM     = 500
)

// maxFilterText is the longest text in a filter, in characters.
const maxFilterText = 200

// PerkFilter selects perks. The zero value selects every perk that has not expired.
type PerkFilter struct {
	Query          string // words, each the beginning of one in title, merchant or description
	Category       string // name or id, without regard to case
	City           string // without regard to case
	Near           *Circle
	IncludeExpired bool
}

// HasWords tells whether the filter searches for words.
func (f PerkFilter) HasWords() bool { return hasWords(f.Query) }

// hasWords tells whether a text has a word, which punctuation alone has not.
func hasWords(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.L, unicode.Nd, unicode.M) })
}

// CanSortBy tells whether perks that the filter selects can be sorted by a field: distance needs a position, relevance
// needs words.
func (f PerkFilter) CanSortBy(field string) bool {
	return (field != SortDistance || f.Near != nil) && (field != SortRelevance || f.HasWords())
}

// Circle is the area within a distance of a point, in degrees. In a client's filter, a radius of 0 means the service's
// default, and the point may be named instead: a client looks up where that is before it asks for the list.
type Circle struct {
	Lat, Lng, RadiusKM float64
	Name               string // of a city, or the id of a perk
}

// FilterField is one field of a filter, as it appears in a flag, a form, a query and a URL. In a URL, the point of a
// PerkFilter is two parameters.
type FilterField[F any] struct {
	Name        string // in a URL, and in a form
	Flag, Usage string
	Label, Hint string // in a form; "" for a field that forms do not have
	// before the colon in a query; "" for the words. Fields of one key are the lower and the upper end of a range
	Key        string
	Values     []string // all that it takes, where these are fixed
	IsSwitch   bool     // takes true and false alone
	Unit       string   // of a distance, which a query may write as <5km
	isPoint    bool     // is two numbers
	needs      string   // the field that it depends on
	isSeparate bool     // is read from a URL without regard to other fields
	needsValue string   // the problem of an empty value in a URL; "" if that means no filter

	Get func(F) string                    // "" if the filter does not use the field
	Set func(*F, string) (problem string) // "" clears the field

	// fits tells whether a record, given by its pointer, matches the filter, and returns the value that is in doubt. It
	// is nil if records do not show that.
	fits func(f F, record any) (fit Fit, value string)
}

// PerkFilterFields is every field, in the order of a form. The radius must follow the point that it belongs to.
var PerkFilterFields = []FilterField[PerkFilter]{
	judged(takesWords(needsWords(textFilter("q", "query", "Words", "(start of words)",
		"only perks where each of these `words` starts a word of the title, merchant or description; "+
			"also takes filters, such as city:rome",
		func(f *PerkFilter) *string { return &f.Query }))),
		func(f PerkFilter, p *Perk) Fit {
			return holdsWords(f.Query, p.Title, p.Description, orEmpty(p.MerchantName))
		}),
	judged(textFilter("city", "city", "City", "(such as Rome)", "only this city",
		func(f *PerkFilter) *string { return &f.City }),
		func(f PerkFilter, p *Perk) Fit { return sameText(f.City, p.City) }),
	categoryFilter(),
	{
		Name: "near", Flag: "near", Usage: "only perks near this `PLACE`: LAT,LNG in degrees, a city or a perk's id",
		Label: "Near", Hint: "(lat,lng, city or perk)", Key: "near", isPoint: true,
		Get: func(f PerkFilter) string {
			switch {
			case f.Near == nil:
				return ""
			case f.Near.Name != "":
				return f.Near.Name
			}
			return decimal(f.Near.Lat) + "," + decimal(f.Near.Lng)
		},
		Set: setPoint,
	},
	{
		Name: "radius", Flag: "radius", Usage: "distance from --near in `km`", Label: "Radius km",
		Hint: fmt.Sprintf("(%d)", DefaultRadiusKM),
		Key:  "radius", Unit: "km", needs: "near",
		Get: func(f PerkFilter) string {
			if f.Near == nil || f.Near.RadiusKM == 0 {
				return ""
			}
			return decimal(f.Near.RadiusKM)
		},
		Set: setRadius,
	},
	switchFilter("include_expired", "include-expired", "also show expired perks",
		func(f *PerkFilter) *bool { return &f.IncludeExpired }),
}

func categoryFilter() FilterField[PerkFilter] {
	field := textFilter("category", "category", "Category", "(name or id)", "only this category, by name or id",
		func(f *PerkFilter) *string { return &f.Category })
	field.fits = fitCategory
	return field
}

// takesWords makes a field the one for the words of a query.
func takesWords[F any](field FilterField[F]) FilterField[F] {
	field.Key = ""
	return field
}

// needsWords makes a field refuse a text without words: searched for, it would find everything.
func needsWords[F any](field FilterField[F]) FilterField[F] {
	set := field.Set
	field.Set = func(f *F, text string) string {
		problem := set(f, text)
		if problem == "" && strings.TrimSpace(text) != "" && !hasWords(text) {
			problem = "needs a letter or a digit"
		}
		return problem
	}
	return field
}

// textFilter is a field with a text of one line.
func textFilter[F any](name, flag, label, hint, usage string, of func(*F) *string) FilterField[F] {
	return FilterField[F]{
		Name: name, Flag: flag, Usage: usage, Label: label, Hint: hint, Key: name, isSeparate: true,
		Get: func(f F) string { return *of(&f) },
		Set: func(f *F, text string) string {
			if problem := lineRule(text); problem != "" {
				return problem
			}
			*of(f) = strings.TrimSpace(text)
			return ""
		},
	}
}

func lineRule(text string) string {
	switch {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "must be valid UTF-8 text"
	case utf8.RuneCountInString(text) > maxFilterText:
		return fmt.Sprintf("must be at most %d characters long", maxFilterText)
	}
	return ""
}

// switchFilter is a field that is true or false.
func switchFilter[F any](name, flag, usage string, of func(*F) *bool) FilterField[F] {
	return FilterField[F]{
		Name: name, Flag: flag, Usage: usage, Key: strings.TrimPrefix(name, "include_"), IsSwitch: true,
		isSeparate: true, needsValue: "must be true or false",
		Get: func(f F) string {
			if !*of(&f) {
				return ""
			}
			return "true"
		},
		Set: func(f *F, text string) string {
			if text != "" && text != "true" && text != "false" {
				return "must be true or false"
			}
			*of(f) = text == "true"
			return ""
		},
	}
}

// filterValues returns a filter as URL parameters.
func filterValues[F any](fields []FilterField[F], f F) url.Values {
	values := url.Values{}
	for _, field := range fields {
		if text := field.Get(f); text != "" {
			values.Set(field.Name, text)
		}
	}
	return values
}

// readFilter sets the fields that are separate parameters.
func readFilter[F any](p *Parameters, fields []FilterField[F], f *F) {
	for _, field := range fields {
		text, given := p.Given(field.Name)
		switch {
		case !given || !field.isSeparate:
		case text == "" && field.needsValue != "":
			p.Fields.Add(field.Name, "%s", field.needsValue)
		default:
			p.Fields.check(field.Name, field.Set(f, text))
		}
	}
}

// setPoint reads a point such as "52.52,13.405" or "52.52 13.405", or the name of one, and keeps the radius. A name has
// no comma.
func setPoint(f *PerkFilter, text string) (problem string) {
	if text = strings.TrimSpace(text); text == "" {
		f.Near = nil
		return ""
	}
	var at Circle
	if f.Near != nil {
		at.RadiusKM = f.Near.RadiusKM
	}
	lat, lng, hasComma := strings.Cut(text, ",")
	switch {
	case !hasComma && hasWords(text) && !isNumeric(text):
		if problem := lineRule(text); problem != "" {
			return problem
		}
		at.Name = text
		f.Near = &at
		return ""
	case !hasComma:
		lat, lng, _ = strings.Cut(text, " ")
	}
	if TextValue(strings.TrimSpace(lat)).Float(&at.Lat) != "" ||
		TextValue(strings.TrimSpace(lng)).Float(&at.Lng) != "" {
		return "must be latitude,longitude, such as 52.52,13.405"
	}
	if problem := LatRule(at.Lat); problem != "" {
		return "latitude " + problem
	}
	if problem := LngRule(at.Lng); problem != "" {
		return "longitude " + problem
	}
	f.Near = &at
	return ""
}

func setRadius(f *PerkFilter, text string) (problem string) {
	var km float64
	if text = strings.TrimSpace(text); text != "" {
		if problem := TextValue(text).Float(&km); problem != "" {
			return problem
		}
		if problem := radiusRule(km); problem != "" {
			return problem
		}
		if f.Near == nil {
			return "needs Near: a position to measure from"
		}
	}
	if f.Near != nil {
		at := *f.Near
		at.RadiusKM = km
		f.Near = &at
	}
	return ""
}

func radiusRule(km float64) string {
	if !(km > 0 && km <= MaxRadiusKM) {
		return fmt.Sprintf("must be above 0 and at most %d kilometres", MaxRadiusKM)
	}
	return ""
}

// Values returns the filter as URL parameters. Equal filters have equal values. A service does not know a name of a
// point.
func (f PerkFilter) Values() url.Values {
	values := filterValues(PerkFilterFields, f)
	if f.Near != nil && f.Near.Name == "" {
		values.Del("near")
		values.Set("lat", decimal(f.Near.Lat))
		values.Set("lng", decimal(f.Near.Lng))
	}
	return values
}

// PerkFilterParameters returns the names of all parameters that select perks, with their aliases.
func PerkFilterParameters() []string {
	names := []string{"lat", "latitude", "lng", "longitude"}
	for _, field := range PerkFilterFields {
		if field.Name != "near" {
			names = append(names, field.Name)
		}
	}
	return names
}

// PerkFilter reads the parameters that select perks.
func (p *Parameters) PerkFilter() PerkFilter {
	f := PerkFilter{Near: p.circle()}
	readFilter(p, PerkFilterFields, &f)
	return f
}

func (p *Parameters) circle() *Circle {
	lat, hasLat := p.degrees(LatRule, "lat", "latitude")
	lng, hasLng := p.degrees(LngRule, "lng", "longitude")
	radius, hasRadius := p.number("radius")
	if hasRadius {
		p.Fields.check("radius", radiusRule(radius))
	} else {
		radius = DefaultRadiusKM
	}
	givenLat := p.Values.Has("lat") || p.Values.Has("latitude")
	givenLng := p.Values.Has("lng") || p.Values.Has("longitude")
	latName, lngName := "lat", "lng"
	if !p.Values.Has("lat") && !p.Values.Has("lng") {
		latName, lngName = "latitude", "longitude"
	}
	switch {
	case givenLat && !givenLng:
		p.Fields.Add(lngName, "is required with %s", latName)
	case givenLng && !givenLat:
		p.Fields.Add(latName, "is required with %s", lngName)
	case p.Values.Has("radius") && !givenLat:
		p.Fields.Add("radius", "needs lat and lng")
	}
	if !hasLat || !hasLng {
		return nil
	}
	return &Circle{Lat: lat, Lng: lng, RadiusKM: radius}
}

// degrees reads a coordinate that has several names. If more than one is given, they must be equal.
func (p *Parameters) degrees(rule func(float64) string, names ...string) (degrees float64, given bool) {
	for _, name := range names {
		value, ok := p.number(name)
		if !ok {
			continue
		}
		p.Fields.check(name, rule(value))
		if given && value != degrees {
			p.Fields.Add(name, "is not the same as %s", names[0])
		}
		degrees, given = value, true
	}
	return degrees, given
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// RedemptionFilter selects redemptions. The zero value selects all.
type RedemptionFilter struct {
	PerkID, UserID string
	Actor          string           // who redeemed, as the client said
	Status         RedemptionStatus // "" is every status
	Since, Until   time.Time        // made at that instant or later, and before that instant; zero is without limit
	Own            bool             // only those that the caller made
	Metadata       MetadataFilter   // "" is any metadata
}

// RedemptionFilterFields is every field.
var RedemptionFilterFields = []FilterField[RedemptionFilter]{
	judged(textFilter("perk", "perk", "Perk", "(id)", "only redemptions of this `perk`",
		func(f *RedemptionFilter) *string { return &f.PerkID }),
		func(f RedemptionFilter, r *RedemptionRecord) Fit { return sameText(f.PerkID, r.PerkID) }),
	judged(textFilter("user", "user", "User", "(id)", "the `id` of the user",
		func(f *RedemptionFilter) *string { return &f.UserID }),
		func(f RedemptionFilter, r *RedemptionRecord) Fit { return sameText(f.UserID, r.UserID) }),
	judged(textFilter("actor", "actor", "Actor", "(name)", "only redemptions made by this `name`, as the client said",
		func(f *RedemptionFilter) *string { return &f.Actor }),
		func(f RedemptionFilter, r *RedemptionRecord) Fit {
			if r.Actor == nil { // an older perksd, which ignores the filter
				return Misfits
			}
			return sameText(f.Actor, *r.Actor)
		}),
	judged(choiceFilter("status", "Status", "only redemptions with this `status`: ", RedemptionStatuses(),
		func(f *RedemptionFilter) *RedemptionStatus { return &f.Status }),
		func(f RedemptionFilter, r *RedemptionRecord) Fit { return sameText(string(f.Status), string(r.Status)) }),
	judged(timeFilter("since",
		"only redemptions made at this `TIME` or later, such as 2026-01-31 or 2026-01-31T09:00:00Z",
		func(f *RedemptionFilter) *time.Time { return &f.Since }),
		func(f RedemptionFilter, r *RedemptionRecord) Fit {
			return within(r.RedeemedAt.IsZero(), r.RedeemedAt.Add(tick).After(f.Since))
		}),
	judged(timeFilter("until", "only redemptions made before this `TIME`",
		func(f *RedemptionFilter) *time.Time { return &f.Until }),
		func(f RedemptionFilter, r *RedemptionRecord) Fit {
			return within(r.RedeemedAt.IsZero(), r.RedeemedAt.Before(f.Until.Add(tick)))
		}),
	switchFilter("own", "own", "only redemptions made by the client that asks",
		func(f *RedemptionFilter) *bool { return &f.Own }),
}

// choiceFilter is a field with one of several values. The usage goes before their list.
func choiceFilter[F any, T ~string](name, label, usage string, choices []T, of func(*F) *T) FilterField[F] {
	return FilterField[F]{
		Name: name, Flag: name, Label: label, Usage: usage + listOf(choices), Key: name, Values: Texts(choices),
		isSeparate: true,
		Get:        func(f F) string { return string(*of(&f)) },
		Set: func(f *F, text string) string {
			if text != "" && !slices.Contains(choices, T(text)) {
				return "must be " + listOf(choices)
			}
			*of(f) = T(text)
			return ""
		},
	}
}

// timeFilter is a field with an instant. A date is its start in UTC.
func timeFilter[F any](name, usage string, of func(*F) *time.Time) FilterField[F] {
	return FilterField[F]{
		Name: name, Flag: name, Usage: usage, Key: name, isSeparate: true,
		Get: func(f F) string {
			if of(&f).IsZero() {
				return ""
			}
			return of(&f).UTC().Format(time.RFC3339Nano)
		},
		Set: func(f *F, text string) (problem string) {
			*of(f) = time.Time{}
			if text = strings.TrimSpace(text); text == "" {
				return ""
			}
			*of(f), problem = ParseTime(text)
			return problem
		},
	}
}

// listOf joins choices as a person would: "a, b or c".
func listOf[T ~string](choices []T) string {
	names, last := Texts(choices), len(choices)-1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Values returns the filter as URL parameters. Equal filters have equal values.
func (f RedemptionFilter) Values() url.Values {
	return filterValues(WithMetadata(RedemptionFilterFields, f.Metadata.Keys()), f)
}

// Problem returns the name of a parameter that contradicts another one, and what is wrong with it, or "".
func (f RedemptionFilter) Problem() (name, problem string) {
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return "until", "must be later than since"
	}
	return "", ""
}

// RedemptionFilter reads the parameters that select redemptions. It takes only the keys of metadata that are searched.
func (p *Parameters) RedemptionFilter(searched []string) (f RedemptionFilter) {
	readFilter(p, WithMetadata(RedemptionFilterFields, searched), &f)
	p.refuseUnsearched(searched)
	p.Fields.check(f.Problem())
	return f
}

// PropertyFilter selects listings. The zero value selects all.
type PropertyFilter struct {
	Query                    string // words, each the beginning of one in title, description, address, city or postcode
	City                     string // without regard to case
	MinPrice, MaxPrice       *Price // for a week, both included
	MinBedrooms, MaxBedrooms *int   // both included
	Own                      bool   // only those of the caller
}

// PropertyFilterFields is every field.
var PropertyFilterFields = []FilterField[PropertyFilter]{
	judged(takesWords(needsWords(textFilter("q", "query", "Words", "(start of words)",
		"only listings where each of these `words` starts a word of the title, description, address, city or "+
			"postcode; also takes filters, such as price:..400",
		func(f *PropertyFilter) *string { return &f.Query }))),
		func(f PropertyFilter, p *Property) Fit {
			return holdsWords(f.Query, p.Title, p.Description, p.Address, p.City, p.Postcode)
		}),
	judged(textFilter("city", "city", "City", "(such as Rome)", "only this city",
		func(f *PropertyFilter) *string { return &f.City }),
		func(f PropertyFilter, p *Property) Fit { return sameText(f.City, p.City) }),
	judged(valueFilter("min_price", "min-price",
		"only listings that cost at least this `price` for a week, such as 120.50", Value.price,
		func(f *PropertyFilter) **Price { return &f.MinPrice }),
		func(f PropertyFilter, p *Property) Fit {
			return within(p.PricePW == Price{}, p.PricePW.SortKey() >= f.MinPrice.SortKey())
		}),
	judged(valueFilter("max_price", "max-price", "only listings that cost at most this `price` for a week", Value.price,
		func(f *PropertyFilter) **Price { return &f.MaxPrice }),
		func(f PropertyFilter, p *Property) Fit {
			return within(false, p.PricePW.SortKey() <= f.MaxPrice.SortKey())
		}),
	judged(valueFilter("min_bedrooms", "min-bedrooms",
		"only listings with at least this `number` of bedrooms", bedrooms,
		func(f *PropertyFilter) **int { return &f.MinBedrooms }),
		func(f PropertyFilter, p *Property) Fit { return within(p.Bedrooms == 0, p.Bedrooms >= *f.MinBedrooms) }),
	judged(valueFilter("max_bedrooms", "max-bedrooms", "only listings with at most this `number` of bedrooms", bedrooms,
		func(f *PropertyFilter) **int { return &f.MaxBedrooms }),
		func(f PropertyFilter, p *Property) Fit { return within(false, p.Bedrooms <= *f.MaxBedrooms) }),
	switchFilter("own", "own", "only listings of the client that asks",
		func(f *PropertyFilter) *bool { return &f.Own }),
}

// valueFilter is an end of a range, with a value that parse reads. Its name is min_ or max_, and the key.
func valueFilter[F, T any](name, flag, usage string, parse func(Value, *T) string, of func(*F) **T) FilterField[F] {
	_, key, _ := strings.Cut(name, "_")
	return FilterField[F]{
		Name: name, Flag: flag, Usage: usage, Key: key, isSeparate: true, needsValue: "must have a value",
		Get: func(f F) string {
			if *of(&f) == nil {
				return ""
			}
			return fmt.Sprint(**of(&f))
		},
		Set: func(f *F, text string) (problem string) {
			if *of(f) = nil; text == "" {
				return ""
			}
			var value T
			if problem := parse(TextValue(text), &value); problem != "" {
				return problem
			}
			*of(f) = &value
			return ""
		},
	}
}

// bedrooms reads a number as other parameters have them: only digits.
func bedrooms(v Value, into *int) string {
	n, err := strconv.Atoi(v.raw) // of a number out of its range it returns the nearest
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return "must be a whole number"
	}
	*into = n
	return roomsRule(n)
}

// Problem returns the name of a parameter that contradicts another one, and what is wrong with it, or "".
func (f PropertyFilter) Problem() (name, problem string) {
	switch {
	case f.MinPrice != nil && f.MaxPrice != nil && f.MinPrice.SortKey() > f.MaxPrice.SortKey():
		return "max_price", "must not be below min_price"
	case f.MinBedrooms != nil && f.MaxBedrooms != nil && *f.MinBedrooms > *f.MaxBedrooms:
		return "max_bedrooms", "must not be below min_bedrooms"
	}
	return "", ""
}

// Values returns the filter as URL parameters. Equal filters have equal values.
func (f PropertyFilter) Values() url.Values { return filterValues(PropertyFilterFields, f) }

// PropertyFilter reads the parameters that select listings.
func (p *Parameters) PropertyFilter() (f PropertyFilter) {
	readFilter(p, PropertyFilterFields, &f)
	p.Fields.check(f.Problem())
	return f
}

// UserFilter selects users. The zero value selects all.
type UserFilter struct {
	Prefix string // of the id; cases differ
}

// UserFilterFields is every field.
var UserFilterFields = []FilterField[UserFilter]{
	judged(takesWords(textFilter("prefix", "prefix", "Prefix", "(start of id)",
		"only users whose ids begin with this `text`", func(f *UserFilter) *string { return &f.Prefix })),
		func(f UserFilter, u *User) Fit { return fitPrefix(f.Prefix, u.ID) }),
}

// Values returns the filter as URL parameters.
func (f UserFilter) Values() url.Values { return filterValues(UserFilterFields, f) }

// UserFilter reads the parameters that select users.
func (p *Parameters) UserFilter() (f UserFilter) {
	readFilter(p, UserFilterFields, &f)
	return f
}
