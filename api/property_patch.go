package api

import (
	"reflect"
	"slices"
	"strings"
)

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
