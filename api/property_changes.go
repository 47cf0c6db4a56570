package api

import "slices"

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
