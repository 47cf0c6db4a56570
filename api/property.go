package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
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

// FieldKind is the kind of value of a property's field, and so how forms, tables and sheets write it.
type FieldKind int

// The kinds of fields.
const (
	LineField FieldKind = iota // a text of one line
	TextField                  // a text of several lines
	ListField
	PriceField
	NumberField
)

// Field is a field of a record that can be changed.
type Field struct {
	Name  string // on the wire
	Kind  FieldKind
	Label string // in front of the value
	Help  string // says to what a flag sets it
	Hint  string // an example for a form
	// MaxLength is that of a text, in characters; 0 is unlimited.
	MaxLength int
	Nullable  bool
}

// IsMultiline tells whether the field is edited as several lines.
func (f Field) IsMultiline() bool { return f.Kind == TextField || f.Kind == ListField }

// propertyField is a field of a property. A new one needs a line in Property, in PropertyPatch and in propertyFields,
// and a number that cannot be null also in numbersOrNone. All else here and in both clients follows from that.
type propertyField struct {
	Field
	access
}

var propertyFields = []propertyField{
	text(LineField, "title", "Title", "the title", "what guests read first", 1, maxTitle,
		func(p *Property) *string { return &p.Title }, func(p *PropertyPatch) *Optional[string] { return &p.Title }),
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
	{Field{Kind: ListField, Name: "images", Label: "Images", Hint: "addresses such as https://example.com/1.jpg",
		Help: "addresses of images, comma-separated; they replace all that are there"}, accessTo[[]string]{
		func(p *Property) *[]string { return &p.Images },
		func(p *PropertyPatch) *Optional[[]string] { return &p.Images }, Value.list, checkImages}},
	{Field{Kind: PriceField, Name: "price_pw", Label: "Price per week", Hint: "such as 120.50",
		Help: "the price for a week, such as 295.50; its digits are kept"}, accessTo[Price]{
		func(p *Property) *Price { return &p.PricePW }, func(p *PropertyPatch) *Optional[Price] { return &p.PricePW },
		Value.price, nil}},
	number("bedrooms", "Bedrooms", "how many bedrooms", "such as 2", Value.rooms, must(roomsRule),
		func(p *Property) *int { return &p.Bedrooms }, func(p *PropertyPatch) *Optional[int] { return &p.Bedrooms }),
	number("bathrooms", "Bathrooms", "how many bathrooms", "such as 1", Value.rooms, must(roomsRule),
		func(p *Property) *int { return &p.Bathrooms }, func(p *PropertyPatch) *Optional[int] { return &p.Bathrooms }),
	number("lat", "Latitude", "the latitude in degrees; empty for none", "degrees, such as 53.8; empty for none",
		Value.floatOrNull, orNull(LatRule),
		func(p *Property) **float64 { return &p.Lat }, func(p *PropertyPatch) *Optional[*float64] { return &p.Lat }),
	number("lng", "Longitude", "the longitude in degrees; empty for none", "degrees, such as -1.55; empty for none",
		Value.floatOrNull, orNull(LngRule),
		func(p *Property) **float64 { return &p.Lng }, func(p *PropertyPatch) *Optional[*float64] { return &p.Lng }),
	number("deposit", "Deposit", "the deposit", "such as 500", Value.Float, must(depositRule),
		func(p *Property) *float64 { return &p.Deposit },
		func(p *PropertyPatch) *Optional[float64] { return &p.Deposit }),
}

func text(
	kind FieldKind, name, label, help, hint string, shortest, longest int,
	of func(*Property) *string, in func(*PropertyPatch) *Optional[string],
) propertyField {
	rule := func(text string) string { return textRule(text, shortest, longest) }
	field := Field{Kind: kind, Name: name, Label: label, Help: help, Hint: hint, MaxLength: longest}
	return propertyField{field, accessTo[string]{of, in, Value.Text, must(rule)}}
}

func number[T any](
	name, label, help, hint string, parse func(Value, *T) string, rule func(FieldErrors, string, T),
	of func(*Property) *T, in func(*PropertyPatch) *Optional[T],
) propertyField {
	isNullable := reflect.TypeFor[T]().Kind() == reflect.Pointer
	field := Field{Kind: NumberField, Name: name, Label: label, Help: help, Hint: hint, Nullable: isNullable}
	return propertyField{field, accessTo[T]{of, in, parse, rule}}
}

// PropertyFields returns the fields that can be changed, in the order of Property.
func PropertyFields() []Field {
	fields := make([]Field, len(propertyFields))
	for i, field := range propertyFields {
		fields[i] = field.Field
	}
	return fields
}

// propertyFieldNamed returns a field by its name on the wire; nil if there is none.
func propertyFieldNamed(name string) *propertyField {
	for i := range propertyFields {
		if propertyFields[i].Name == name {
			return &propertyFields[i]
		}
	}
	return nil
}

// PropertyFieldNamed returns a field by its name on the wire.
func PropertyFieldNamed(name string) (field Field, known bool) {
	if field := propertyFieldNamed(name); field != nil {
		return field.Field, true
	}
	return Field{Name: name}, false
}

// PropertyPatchFields returns the names of these fields.
func PropertyPatchFields() []string {
	var names []string
	for _, field := range propertyFields {
		names = append(names, field.Name)
	}
	return names
}

// access reads and writes a field in properties and patches.
type access interface {
	read(v Value, into *PropertyPatch) (problem string)
	isIn(p *PropertyPatch) bool
	carry(from, to *PropertyPatch)
	take(name string, from *Property, into *PropertyPatch)
	apply(name string, from *PropertyPatch, to *Property)
	check(fields FieldErrors, name string, p *Property)
	texts(p *Property) []string
	lacksNumber(p *Property) bool
	double(p *Property) *float64
	isWhole() bool
}

// accessTo is the access to a field of type T.
type accessTo[T any] struct {
	of    func(*Property) *T
	in    func(*PropertyPatch) *Optional[T]
	parse func(Value, *T) string
	rule  func(fields FieldErrors, name string, value T) // nil where every T is right
}

func (a accessTo[T]) read(v Value, into *PropertyPatch) string {
	var value T
	problem := a.parse(v, &value)
	switch {
	case problem == "":
		*a.in(into) = Some(value)
	case v.IsNull():
		return "must not be null"
	}
	return problem
}

func (a accessTo[T]) isIn(p *PropertyPatch) bool { return a.in(p).Set }

func (a accessTo[T]) carry(from, to *PropertyPatch) { *a.in(to) = *a.in(from) }

func (a accessTo[T]) take(name string, from *Property, into *PropertyPatch) {
	value := *a.of(from)
	if list, isList := any(&value).(*[]string); isList {
		*list = append([]string{}, *list...) // never nil: a patch with null for images would be refused
	}
	taken := Some(value)
	if odd, isOdd := from.Odd[name]; isOdd {
		taken.odd = cmp.Or(string(odd), "null")
	}
	*a.in(into) = taken
}

func (a accessTo[T]) apply(name string, from *PropertyPatch, to *Property) {
	if value := *a.in(from); value.Set {
		*a.of(to) = value.Value
		to.setOdd(name, value.odd)
	}
}

func (a accessTo[T]) check(fields FieldErrors, name string, p *Property) {
	if a.rule != nil {
		a.rule(fields, name, *a.of(p))
	}
}

func (a accessTo[T]) texts(p *Property) []string {
	var number any
	switch value := any(*a.of(p)).(type) {
	case string:
		return []string{value}
	case []string:
		return value
	case Price:
		return []string{value.String()}
	case float64:
		number = value + 0 // -0 is 0
	case *float64:
		if value == nil {
			return nil
		}
		number = *value + 0
	default:
		number = value
	}
	digits, _ := json.Marshal(number) // an infinite number has no digits, and breaks its field's rule
	return []string{string(digits)}
}

// lacksNumber tells whether the value is 0, so that the number may have been missing.
func (a accessTo[T]) lacksNumber(p *Property) bool {
	switch value := any(a.of(p)).(type) {
	case *Price:
		return value.digits == ""
	case *int:
		return *value == 0
	case *float64:
		return *value == 0
	}
	return false
}

// double returns a number that is held as the nearest double; nil for other fields, and without a value.
func (a accessTo[T]) double(p *Property) *float64 {
	switch value := any(a.of(p)).(type) {
	case *float64:
		return value
	case **float64:
		return *value
	}
	return nil
}

// isWhole tells whether the field takes whole numbers only.
func (a accessTo[T]) isWhole() bool { _, isInt := any(*new(T)).(int); return isInt }

// Texts returns the value of a field as texts that ParsePropertyPatch reads back without loss: one for each entry of a
// list, none for null. Numbers have as few digits as possible.
//
// If the service wrote something that is not a value of the field, Texts returns that.
func (p Property) Texts(name string) []string {
	if odd, isOdd := p.Odd[name]; isOdd {
		return oddTexts(odd)
	}
	if field := propertyFieldNamed(name); field != nil {
		return field.texts(&p)
	}
	return nil
}

func (f propertyField) isSame(a, b *Property) bool {
	_, isOdd := a.Odd[f.Name]
	if _, isOddToo := b.Odd[f.Name]; isOdd || isOddToo {
		return isOdd == isOddToo && slices.Equal(a.Texts(f.Name), b.Texts(f.Name))
	}
	if f.Kind == PriceField {
		return a.PricePW.plainDigits() == b.PricePW.plainDigits()
	}
	return slices.Equal(f.texts(a), f.texts(b))
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
	for _, field := range propertyFields {
		field.check(fields, field.Name, p)
	}
	return fields.Err()
}

// With returns the property with the patch applied.
func (p Property) With(patch PropertyPatch) Property {
	patch.Apply(&p)
	return p
}

// must makes a check of a rule.
func must[T any](rule func(T) string) func(FieldErrors, string, T) {
	return func(fields FieldErrors, name string, value T) { fields.check(name, rule(value)) }
}

func orNull[T any](rule func(T) string) func(FieldErrors, string, *T) {
	return func(fields FieldErrors, name string, value *T) {
		if value != nil {
			fields.check(name, rule(*value))
		}
	}
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
	var p PropertyPatch
	var probe Property
	fields := FieldErrors{}
	for _, m := range members {
		field := propertyFieldNamed(m.Name)
		switch {
		case field != nil:
			fields.check(m.Name, field.read(m.Value, &p))
		case m.Name == propertyID:
			fields.Add(m.Name, "cannot be changed")
		default:
			fields.Add(m.Name, "is not a field of a property; the fields are %s",
				strings.Join(PropertyPatchFields(), ", "))
		}
		fields.checkRepeated(m)
	}
	for _, field := range propertyFields {
		if field.isIn(&p) {
			field.apply(field.Name, &p, &probe)
			field.check(fields, field.Name, &probe)
		}
	}
	return p, fields.Err()
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
	var changes PropertyPatch
	for _, field := range propertyFields {
		if !field.isSame(&before, &after) {
			field.take(field.Name, &after, &changes)
		}
	}
	return changes
}

// Fields returns the names of the fields in the patch, in the order of Property.
func (p PropertyPatch) Fields() []string {
	var names []string
	for _, field := range propertyFields {
		if field.isIn(&p) {
			names = append(names, field.Name)
		}
	}
	return names
}

// Only returns the patch reduced to the named fields.
func (p PropertyPatch) Only(names ...string) PropertyPatch {
	var only PropertyPatch
	for _, field := range propertyFields {
		if slices.Contains(names, field.Name) {
			field.carry(&p, &only)
		}
	}
	return only
}

// IsEmpty tells whether the patch changes nothing.
func (p PropertyPatch) IsEmpty() bool { return len(p.Fields()) == 0 }

// Apply sets the fields of the patch in the property.
func (p PropertyPatch) Apply(to *Property) {
	for _, field := range propertyFields {
		field.apply(field.Name, &p, to)
	}
}

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
