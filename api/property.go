package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Property is a rental listing.
type Property struct {
	ID          int64    `json:"propertyId"` // 0 if a service has another id than a whole number; see PropertyID
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

	// Odd is what a service wrote instead of values that these fields can hold, by the fields' names on the wire: JSON
	// such as "£295.50", or nil for no value where 0 would be one. It is nil for a listing of perksd.
	Odd map[string]json.RawMessage `json:"-"`
}

// Message is the body of a response that only confirms.
type Message struct {
	Message string `json:"message"`

	ETag       string `json:"-"` // of the version that a change left, from the header; "" if the service gives none
	ETagBefore string `json:"-"` // of the version that it found, and so ETag if it changed nothing; "" likewise
}

// HeaderPreviousETag is the header with the ETag of the version that a change found.
const HeaderPreviousETag = "X-Previous-ETag"

// The confirmations of the property endpoints.
const (
	MessagePropertyUpdated = "Property successfully updated"
	MessagePropertyDeleted = "Property successfully deleted"
)

// propertyField is a field of a property. A new one needs a line in Property, in PropertyPatch and in propertyFields,
// and a number that cannot be null also in numbersOrNone. All else here and in both clients follows from that.
type propertyField = recordField[Property, PropertyPatch]

var propertyFields = sync.OnceValue(func() recordFields[Property, PropertyPatch] {
	return recordFields[Property, PropertyPatch]{
		text(LineField, "title", "Title", "the title", "what guests read first", 1, maxTitle,
			func(p *Property) *string { return &p.Title },
			func(p *PropertyPatch) *Optional[string] { return &p.Title }),
		text(TextField, "description", "Description", "the description", "", 0, maxLongText,
			func(p *Property) *string { return &p.Description },
			func(p *PropertyPatch) *Optional[string] { return &p.Description }),
		text(LineField, "address", "Address", "street and number", "street and number", 0, maxAddress,
			func(p *Property) *string { return &p.Address },
			func(p *PropertyPatch) *Optional[string] { return &p.Address }),
		text(LineField, "city", "City", "the city", "", 0, maxShortText,
			func(p *Property) *string { return &p.City }, func(p *PropertyPatch) *Optional[string] { return &p.City }),
		text(LineField, "postcode", "Postcode", "the postcode", "", 0, maxShortText,
			func(p *Property) *string { return &p.Postcode },
			func(p *PropertyPatch) *Optional[string] { return &p.Postcode }),
		{Field{Kind: ListField, Name: "images", Label: "Images", Hint: "such as https://example.com/1.jpg",
			Help: "addresses of images, comma-separated; they replace all that are there"},
			accessTo[Property, PropertyPatch, []string]{func(p *Property) *[]string { return &p.Images },
				func(p *PropertyPatch) *Optional[[]string] { return &p.Images }, Value.list, checkImages}},
		{Field{Kind: PriceField, Name: "price_pw", Label: "Price per week", Hint: "such as 120.50",
			Help: "the price for a week, such as 295.50; its digits are kept"},
			accessTo[Property, PropertyPatch, Price]{
				func(p *Property) *Price { return &p.PricePW },
				func(p *PropertyPatch) *Optional[Price] { return &p.PricePW },
				Value.price, nil}},
		number("bedrooms", "Bedrooms", "how many bedrooms", "such as 2", Value.rooms, must(roomsRule),
			func(p *Property) *int { return &p.Bedrooms },
			func(p *PropertyPatch) *Optional[int] { return &p.Bedrooms }),
		number("bathrooms", "Bathrooms", "how many bathrooms", "such as 1", Value.rooms, must(roomsRule),
			func(p *Property) *int { return &p.Bathrooms },
			func(p *PropertyPatch) *Optional[int] { return &p.Bathrooms }),
		number("lat", "Latitude", "the latitude in degrees; empty for none", "such as 53.8",
			Value.floatOrNull, orNull(LatRule),
			func(p *Property) **float64 { return &p.Lat },
			func(p *PropertyPatch) *Optional[*float64] { return &p.Lat }),
		number("lng", "Longitude", "the longitude in degrees; empty for none", "such as -1.55",
			Value.floatOrNull, orNull(LngRule),
			func(p *Property) **float64 { return &p.Lng },
			func(p *PropertyPatch) *Optional[*float64] { return &p.Lng }),
		number("deposit", "Deposit", "the deposit", "such as 500", Value.Float, must(depositRule),
			func(p *Property) *float64 { return &p.Deposit },
			func(p *PropertyPatch) *Optional[float64] { return &p.Deposit }),
	}
})

// PropertyFields returns the fields that can be changed, in the order of Property.
func PropertyFields() []Field { return propertyFields().fields() }

// PropertyFieldNamed returns a field by its name on the wire.
func PropertyFieldNamed(name string) (field Field, known bool) {
	if field := propertyFields().named(name); field != nil {
		return field.Field, true
	}
	return Field{Name: name}, false
}

// PropertyPatchFields returns the names of these fields.
func PropertyPatchFields() []string { return propertyFields().names() }

// Texts returns the value of a field as texts that ParsePropertyPatch reads back without loss: one for each entry of a
// list, none for null. Numbers have as few digits as possible.
//
// If the service wrote something that is not a value of the field, Texts returns that.
func (p Property) Texts(name string) []string {
	if odd, isOdd := p.Odd[name]; isOdd {
		return oddTexts(odd)
	}
	if field := propertyFields().named(name); field != nil {
		return field.texts(&p)
	}
	return nil
}

// isSameInProperties compares prices as numbers, and what a service wrote instead of values as texts.
func isSameInProperties(f *propertyField, a, b *Property) bool {
	_, isOdd := a.Odd[f.Name]
	if _, isOddToo := b.Odd[f.Name]; isOdd || isOddToo {
		return isOdd == isOddToo && slices.Equal(a.Texts(f.Name), b.Texts(f.Name))
	}
	if f.Kind == PriceField {
		return a.PricePW.plainDigits() == b.PricePW.plainDigits()
	}
	return f.isEqual(a, b)
}

// ParseNewProperty reads a listing without its id, which the service chooses. It needs a title and a price; any other
// field can be absent. The error is as that of ParsePropertyPatch.
func ParseNewProperty(members []Member) (Property, error) {
	fields, listing := FieldErrors{}, []Member{}
	for _, m := range members {
		if m.Name == propertyID {
			fields.Add(m.Name, "is chosen by the service; leave it out")
		} else {
			listing = append(listing, m)
		}
	}
	patch, err := ParsePropertyPatch(listing)
	var invalid *Error
	if errors.As(err, &invalid) {
		maps.Copy(fields, invalid.Fields)
	}
	for name, given := range map[string]bool{"title": patch.Title.Set, "price_pw": patch.PricePW.Set} {
		if !given && len(fields[name]) == 0 {
			fields.Add(name, "is required")
		}
	}
	return Property{Images: []string{}}.With(patch), fields.Err()
}

// Validate checks the rules of all fields, the id among them.
func (p *Property) Validate() error {
	fields := FieldErrors{}
	if p.ID <= 0 {
		fields.Add(propertyID, "must be a whole number above 0")
	}
	propertyFields().check(fields, p)
	return fields.Err()
}

// With returns the property with the patch applied.
func (p Property) With(patch PropertyPatch) Property {
	patch.Apply(&p)
	return p
}

func checkImages(fields FieldErrors, name string, images []string) {
	if len(images) > MaxImages {
		fields.Add(name, "must be at most %d addresses", MaxImages)
	}
	for i, address := range images {
		if problem := imageRule(address); problem != "" {
			fields.Add(name, "number %d %s", i+1, problem)
			return
		}
	}
}

var joinedURLs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i),\s*https?://`) })

// imageRule also refuses several addresses in one entry. A comma alone may be part of an address.
func imageRule(address string) string {
	if joinedURLs().MatchString(address) {
		return "must be one URL; send each in a separate entry"
	}
	return URLRule(address)
}

func roomsRule(n int) string {
	switch {
	case n < 0:
		return "must not be negative"
	case n > maxRooms:
		return fmt.Sprintf("must be at most %d", maxRooms)
	}
	return ""
}

func depositRule(value float64) string {
	if value < 0 {
		return "must not be negative"
	}
	return finiteRule(value)
}

func finiteRule(value float64) string {
	if value-value != 0 { // infinities and NaN
		return "must be a finite number"
	}
	return ""
}

// PropertyPatch is a partial update of a property: absent fields stay as they are.
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
	Lat         Optional[*float64] `json:"lat,omitzero"`
	Lng         Optional[*float64] `json:"lng,omitzero"`
	Deposit     Optional[float64]  `json:"deposit,omitzero"`
}

// ParsePropertyPatch reads a patch and checks the rules of its fields. The error is CodeValidationFailed and names
// every field that is unknown, repeated, of the wrong type or out of bounds.
func ParsePropertyPatch(members []Member) (PropertyPatch, error) {
	return propertyFields().parse(members, "a property", propertyID)
}

// ParsePropertyPatchOf is ParsePropertyPatch for the property with that id. The members may contain the id, so that
// what was read can be sent back.
func ParsePropertyPatchOf(id int64, members []Member) (PropertyPatch, error) {
	return ParsePropertyPatch(slices.DeleteFunc(slices.Clone(members), func(m Member) bool {
		var given int64
		return m.Name == propertyID && !m.Repeated && m.Value.Int(&given) == "" && given == id
	}))
}

// PropertyChanges returns the patch that changes before to after. Prices are compared as numbers: 250 equals 250.00.
func PropertyChanges(before, after Property) PropertyPatch {
	return propertyFields().changes(&before, &after, isSameInProperties)
}

// Fields returns the names of the fields in the patch, in the order of Property.
func (p PropertyPatch) Fields() []string { return propertyFields().in(&p) }

// Only returns the patch reduced to the named fields.
func (p PropertyPatch) Only(names ...string) PropertyPatch { return propertyFields().only(&p, names) }

// IsEmpty tells whether the patch changes nothing.
func (p PropertyPatch) IsEmpty() bool { return len(p.Fields()) == 0 }

// Apply sets the fields of the patch in the property.
func (p PropertyPatch) Apply(to *Property) { propertyFields().apply(&p, to) }

// IsAppliedTo tells whether applying the patch to the property would change nothing, with prices compared as numbers.
func (p PropertyPatch) IsAppliedTo(held Property) bool {
	return PropertyChanges(held, held.With(p)).IsEmpty()
}

// plainDigits returns the digits that ParsePrice would accept for an equal price, but without zeros at the end.
func (p Price) plainDigits() string {
	digits := p.String()
	if strings.ContainsAny(digits, "eE") || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' { // see anyPrice
		value, _ := new(big.Rat).SetString(digits)
		decimals, _ := value.FloatPrec()
		return value.FloatString(decimals)
	}
	if !strings.Contains(digits, ".") {
		return digits
	}
	return strings.TrimSuffix(strings.TrimRight(digits, "0"), ".")
}

// Price is an amount of money, not negative, that keeps its digits as given ("120.50") and is never converted to
// floating point. In JSON it is a string; a number is accepted too. The zero Price is "0".
type Price struct{ digits string }

const maxPriceDigits = 24

var plainDecimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`) })

// ParsePrice reads plain decimal digits such as "120", "0.5" or "120.50", at most 24 characters, without sign,
// exponent, leading zeros or blanks.
func ParsePrice(text string) (Price, error) {
	switch {
	case strings.HasPrefix(text, "-"):
		return Price{}, errors.New("must not be negative")
	case len(text) > maxPriceDigits:
		return Price{}, errors.New("must be at most 24 characters long")
	case !plainDecimal().MatchString(text):
		return Price{}, errors.New("must be digits and a point, such as 120.50")
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

// SortKey returns a text by which prices sort as numbers, byte by byte: that of 120.50 equals that of 120.5. The number
// of digits before the point comes first.
func (p Price) SortKey() string {
	digits := p.plainDigits()
	whole, _, _ := strings.Cut(digits, ".")
	return fmt.Sprintf("%02d", len(whole)) + digits
}

// MarshalJSON writes the digits as a JSON string.
func (p Price) MarshalJSON() ([]byte, error) { return []byte(`"` + p.String() + `"`), nil }

// UnmarshalJSON reads a JSON string or number. Null keeps the price, as is usual with encoding/json.
func (p *Price) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	if problem := (Value{json: raw}).price(p); problem != "" {
		return errors.New(problem)
	}
	return nil
}
