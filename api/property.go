package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Property is a rental listing.
type Property struct {
	ID          int64    `json:"propertyId"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Address     string   `json:"address"`
	City        string   `json:"city"`
	Postcode    string   `json:"postcode"`
	Images      []string `json:"images"`   // absolute http(s) URLs, never nil on the wire
	PricePW     Price    `json:"price_pw"` // per week
	Bedrooms    int      `json:"bedrooms"`
	Bathrooms   int      `json:"bathrooms"`
	Lat         *float64 `json:"lat"` // degrees
	Lng         *float64 `json:"lng"` // degrees
	Deposit     float64  `json:"deposit"`
}

// Message is the body of an answer that only confirms.
type Message struct {
	Message string `json:"message"`
}

// The confirmations of the property endpoints.
const (
	MessagePropertyUpdated = "Property successfully updated"
	MessagePropertyDeleted = "Property successfully deleted"
)

// Validate checks every rule that a whole property obeys, its id among them.
func (p *Property) Validate() error {
	fields := FieldErrors{}
	if p.ID <= 0 {
		fields.Add("propertyId", "must be a whole number above 0")
	}
	p.checkFields(fields)
	return fields.Err()
}

func (p *Property) checkFields(fields FieldErrors) {
	fields.check("title", textRule(p.Title, 1, maxTitle))
	fields.check("description", textRule(p.Description, 0, maxLongText))
	fields.check("address", textRule(p.Address, 0, maxAddress))
	fields.check("city", textRule(p.City, 0, maxShortText))
	fields.check("postcode", textRule(p.Postcode, 0, maxShortText))
	if len(p.Images) > MaxImages {
		fields.Add("images", "must be at most %d addresses", MaxImages)
	}
	for i, address := range p.Images {
		if problem := imageRule(address); problem != "" {
			fields.Add("images", "number %d %s", i+1, problem)
			break
		}
	}
	fields.check("bedrooms", roomsRule(int64(p.Bedrooms)))
	fields.check("bathrooms", roomsRule(int64(p.Bathrooms)))
	if p.Lat != nil {
		fields.check("lat", LatRule(*p.Lat))
	}
	if p.Lng != nil {
		fields.check("lng", LngRule(*p.Lng))
	}
	fields.check("deposit", finiteRule(p.Deposit))
}

var joinedURLs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i),\s*https?://`) })

// imageRule tells several addresses in one entry from an address with a comma of its own: another one begins after it.
func imageRule(address string) string {
	if joinedURLs().MatchString(address) {
		return "must be one URL; send each in an entry of its own"
	}
	return URLRule(address)
}

func roomsRule(n int64) string {
	switch {
	case n < 0:
		return "must not be negative"
	case n > maxRooms:
		return fmt.Sprintf("must be at most %d", maxRooms)
	}
	return ""
}

func finiteRule(value float64) string {
	if value-value != 0 { // infinities and NaN
		return "must be a finite number"
	}
	return ""
}

// patchParts is every field that a patch can hold, in the order of the Property, and how it is carried from one patch to
// another and taken from a property.
var patchParts = []patchPart{
	{"title", part(func(p *PropertyPatch) *Optional[string] { return &p.Title }), func(p *PropertyPatch, of Property) { p.Title = Some(of.Title) }},
	{"description", part(func(p *PropertyPatch) *Optional[string] { return &p.Description }), func(p *PropertyPatch, of Property) { p.Description = Some(of.Description) }},
	{"address", part(func(p *PropertyPatch) *Optional[string] { return &p.Address }), func(p *PropertyPatch, of Property) { p.Address = Some(of.Address) }},
	{"city", part(func(p *PropertyPatch) *Optional[string] { return &p.City }), func(p *PropertyPatch, of Property) { p.City = Some(of.City) }},
	{"postcode", part(func(p *PropertyPatch) *Optional[string] { return &p.Postcode }), func(p *PropertyPatch, of Property) { p.Postcode = Some(of.Postcode) }},
	{"images", part(func(p *PropertyPatch) *Optional[[]string] { return &p.Images }), func(p *PropertyPatch, of Property) { p.Images = Some(copied(of.Images)) }},
	{"price_pw", part(func(p *PropertyPatch) *Optional[Price] { return &p.PricePW }), func(p *PropertyPatch, of Property) { p.PricePW = Some(of.PricePW) }},
	{"bedrooms", part(func(p *PropertyPatch) *Optional[int] { return &p.Bedrooms }), func(p *PropertyPatch, of Property) { p.Bedrooms = Some(of.Bedrooms) }},
	{"bathrooms", part(func(p *PropertyPatch) *Optional[int] { return &p.Bathrooms }), func(p *PropertyPatch, of Property) { p.Bathrooms = Some(of.Bathrooms) }},
	{"lat", part(func(p *PropertyPatch) *Optional[float64] { return &p.Lat }), func(p *PropertyPatch, of Property) { p.Lat = someOrNull(of.Lat) }},
	{"lng", part(func(p *PropertyPatch) *Optional[float64] { return &p.Lng }), func(p *PropertyPatch, of Property) { p.Lng = someOrNull(of.Lng) }},
	{"deposit", part(func(p *PropertyPatch) *Optional[float64] { return &p.Deposit }), func(p *PropertyPatch, of Property) { p.Deposit = Some(of.Deposit) }},
}

type patchPart struct {
	name  string
	carry func(from PropertyPatch, to *PropertyPatch) (set bool)
	take  func(p *PropertyPatch, of Property)
}

func part[T any](field func(*PropertyPatch) *Optional[T]) func(PropertyPatch, *PropertyPatch) bool {
	return func(from PropertyPatch, to *PropertyPatch) bool {
		value := *field(&from)
		if value.Set {
			*field(to) = value
		}
		return value.Set
	}
}

func someOrNull(value *float64) Optional[float64] {
	if value == nil {
		return Null[float64]()
	}
	return Some(*value)
}

// copied never returns nil: a patch with null for images would be refused.
func copied(list []string) []string { return append([]string{}, list...) }

// PropertyChanges returns the patch that makes after of before. It holds only what differs as IsHeldBy compares: the price
// 250 is no change to 250.00.
func PropertyChanges(before, after Property) PropertyPatch {
	var changes PropertyPatch
	for _, part := range patchParts {
		var one PropertyPatch
		part.take(&one, after)
		if !one.IsHeldBy(before) {
			part.carry(one, &changes)
		}
	}
	return changes
}

// Fields returns the names of the fields that the patch holds, in the order of the Property.
func (p PropertyPatch) Fields() []string {
	var names []string
	for _, part := range patchParts {
		if part.carry(p, &PropertyPatch{}) {
			names = append(names, part.name)
		}
	}
	return names
}

// Only returns a patch of those fields of this one that have the names.
func (p PropertyPatch) Only(names ...string) PropertyPatch {
	var only PropertyPatch
	for _, part := range patchParts {
		if slices.Contains(names, part.name) {
			part.carry(p, &only)
		}
	}
	return only
}

// MergePropertyChanges compares a change that was made to before with what somebody else has made of it meanwhile. It
// returns the fields that both changed, and to different values: only a person can tell which is right. Of all others the
// change holds as it is.
func MergePropertyChanges(before, theirs Property, mine PropertyPatch) (conflicts []string) {
	for _, name := range PropertyChanges(before, theirs).Fields() {
		if one := mine.Only(name); !one.IsEmpty() && !one.IsHeldBy(theirs) {
			conflicts = append(conflicts, name)
		}
	}
	return conflicts
}

// Price is an amount of money that keeps its digits exactly as they were given ("120.50" stays "120.50") and never
// passes through a floating-point number. It is not negative. On the wire it is a JSON string; a JSON number is accepted
// too. The zero Price is "0".
type Price struct{ digits string }

const maxPriceDigits = 24

var plainDecimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`) })

// ParsePrice reads plain decimal digits such as "120", "0.5" or "120.50". Signs, exponents, leading zeros, blanks and
// more than 24 characters are refused.
func ParsePrice(text string) (Price, error) {
	switch {
	case strings.HasPrefix(text, "-"):
		return Price{}, errors.New("must not be negative")
	case len(text) > maxPriceDigits:
		return Price{}, errors.New("must be at most 24 characters long")
	case !plainDecimal().MatchString(text):
		return Price{}, errors.New("must be plain decimal digits such as 120.50")
	}
	return Price{digits: text}, nil
}

// String returns the digits as they were given.
func (p Price) String() string {
	if p.digits == "" {
		return "0"
	}
	return p.digits
}

// MarshalJSON writes the digits as a JSON string.
func (p Price) MarshalJSON() ([]byte, error) { return []byte(`"` + p.String() + `"`), nil }

// UnmarshalJSON reads a JSON string or number, digit by digit. Null leaves the price as it is, as encoding/json has it.
func (p *Price) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if text == "null" {
		return nil
	}
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	price, err := ParsePrice(text)
	if err != nil {
		return err
	}
	*p = price
	return nil
}

// PropertyPatch is a partial update of a property: an absent field stays as it is. Only Lat and Lng can be null.
type PropertyPatch struct {
	Title       Optional[string]   `json:"title,omitzero"`
	Description Optional[string]   `json:"description,omitzero"`
	Address     Optional[string]   `json:"address,omitzero"`
	City        Optional[string]   `json:"city,omitzero"`
	Postcode    Optional[string]   `json:"postcode,omitzero"`
	Images      Optional[[]string] `json:"images,omitzero"`
	PricePW     Optional[Price]    `json:"price_pw,omitzero"`
	Bedrooms    Optional[int]      `json:"bedrooms,omitzero"`
	Bathrooms   Optional[int]      `json:"bathrooms,omitzero"`
	Lat         Optional[float64]  `json:"lat,omitzero"`
	Lng         Optional[float64]  `json:"lng,omitzero"`
	Deposit     Optional[float64]  `json:"deposit,omitzero"`
}

// patchFields is every field that a patch can hold, in the order of the Property, with its reader.
var patchFields = []patchField{
	{"title", required(Value.Text, func(p *PropertyPatch) *Optional[string] { return &p.Title })},
	{"description", required(Value.Text, func(p *PropertyPatch) *Optional[string] { return &p.Description })},
	{"address", required(Value.Text, func(p *PropertyPatch) *Optional[string] { return &p.Address })},
	{"city", required(Value.Text, func(p *PropertyPatch) *Optional[string] { return &p.City })},
	{"postcode", required(Value.Text, func(p *PropertyPatch) *Optional[string] { return &p.Postcode })},
	{"images", required(Value.list, func(p *PropertyPatch) *Optional[[]string] { return &p.Images })},
	{"price_pw", required(Value.price, func(p *PropertyPatch) *Optional[Price] { return &p.PricePW })},
	{"bedrooms", required(Value.rooms, func(p *PropertyPatch) *Optional[int] { return &p.Bedrooms })},
	{"bathrooms", required(Value.rooms, func(p *PropertyPatch) *Optional[int] { return &p.Bathrooms })},
	{"lat", nullable(Value.Float, func(p *PropertyPatch) *Optional[float64] { return &p.Lat })},
	{"lng", nullable(Value.Float, func(p *PropertyPatch) *Optional[float64] { return &p.Lng })},
	{"deposit", required(Value.Float, func(p *PropertyPatch) *Optional[float64] { return &p.Deposit })},
}

type patchField struct {
	name string
	read func(*PropertyPatch, Value) string
}

func required[T any](read func(Value, *T) string, field func(*PropertyPatch) *Optional[T]) func(*PropertyPatch, Value) string {
	return func(p *PropertyPatch, v Value) string {
		if v.IsNull() {
			return "must not be null"
		}
		var value T
		if problem := read(v, &value); problem != "" {
			return problem
		}
		*field(p) = Some(value)
		return ""
	}
}

// nullable takes null as JSON writes it; text has no null, so an empty text and the word stand for it.
func nullable[T any](read func(Value, *T) string, field func(*PropertyPatch) *Optional[T]) func(*PropertyPatch, Value) string {
	return func(p *PropertyPatch, v Value) string {
		if v.IsNull() || v.isText() && (v.raw == "" || v.raw == "null") {
			*field(p) = Null[T]()
			return ""
		}
		return required(read, field)(p, v)
	}
}

// PropertyPatchFields returns the names of the fields that a patch can hold, in the order of the Property.
func PropertyPatchFields() []string {
	names := make([]string, len(patchFields))
	for i, field := range patchFields {
		names[i] = field.name
	}
	return names
}

// ParsePropertyPatch reads a patch from its members, whatever they were written in, and checks every field's rule. The
// error is CodeValidationFailed and names every field that is unknown, repeated, of the wrong type or out of bounds.
func ParsePropertyPatch(members []Member) (PropertyPatch, error) {
	var p PropertyPatch
	fields := FieldErrors{}
	for _, m := range members {
		fields.check(m.Name, p.set(m))
		fields.checkRepeated(m)
	}
	p.checkFields(fields)
	return p, fields.Err()
}

// ParsePropertyPatchOf is ParsePropertyPatch for the property with that id, which the members may repeat: what was read can
// then be sent back as it is.
func ParsePropertyPatchOf(id int64, members []Member) (PropertyPatch, error) {
	return ParsePropertyPatch(slices.DeleteFunc(slices.Clone(members), func(m Member) bool {
		var given int64
		return m.Name == "propertyId" && !m.Repeated && m.Value.Int(&given) == "" && given == id
	}))
}

func (p *PropertyPatch) set(m Member) string {
	for _, field := range patchFields {
		if field.name == m.Name {
			return field.read(p, m.Value)
		}
	}
	if m.Name == "propertyId" {
		return "cannot be changed"
	}
	return "is not a field of a property; the fields are " + strings.Join(PropertyPatchFields(), ", ")
}

// checkFields applies the patch to a property that breaks no rule, so that only what the patch brings can be wrong.
func (p PropertyPatch) checkFields(fields FieldErrors) {
	probe := Property{Title: "valid"}
	p.Apply(&probe)
	probe.checkFields(fields)
}

// IsEmpty tells whether the patch changes nothing.
func (p PropertyPatch) IsEmpty() bool {
	return !(p.Title.Set || p.Description.Set || p.Address.Set || p.City.Set || p.Postcode.Set || p.Images.Set ||
		p.PricePW.Set || p.Bedrooms.Set || p.Bathrooms.Set || p.Lat.Set || p.Lng.Set || p.Deposit.Set)
}

// IsHeldBy tells whether the property is as if the patch had been applied: every field of the patch has its value there.
// Prices are compared as numbers (120.5 is 120.50), everything else exactly.
func (p PropertyPatch) IsHeldBy(held Property) bool {
	after := held
	p.Apply(&after)
	if withoutLastZeros(after.PricePW) == withoutLastZeros(held.PricePW) {
		after.PricePW = held.PricePW
	}
	if len(after.Images) == 0 && len(held.Images) == 0 {
		after.Images = held.Images
	}
	return reflect.DeepEqual(after, held)
}

func withoutLastZeros(price Price) string {
	digits := price.String()
	if !strings.Contains(digits, ".") {
		return digits
	}
	return strings.TrimSuffix(strings.TrimRight(digits, "0"), ".")
}

// Apply sets every field of the property that the patch holds.
func (p PropertyPatch) Apply(to *Property) {
	apply(p.Title, &to.Title)
	apply(p.Description, &to.Description)
	apply(p.Address, &to.Address)
	apply(p.City, &to.City)
	apply(p.Postcode, &to.Postcode)
	apply(p.Images, &to.Images)
	apply(p.PricePW, &to.PricePW)
	apply(p.Bedrooms, &to.Bedrooms)
	apply(p.Bathrooms, &to.Bathrooms)
	applyNullable(p.Lat, &to.Lat)
	applyNullable(p.Lng, &to.Lng)
	apply(p.Deposit, &to.Deposit)
}

func apply[T any](field Optional[T], to *T) {
	if field.Set {
		*to = field.Value
	}
}

func applyNullable[T any](field Optional[T], to **T) {
	switch {
	case field.Null:
		*to = nil
	case field.Set:
		*to = &field.Value
	}
}
