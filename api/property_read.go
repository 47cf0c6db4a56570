package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ReadProperty is json.Unmarshal, but also reads a listing whose numbers are texts or have a fraction or an exponent,
// and whose images are one text: the specification leaves that open. What it can't read, or is missing, is in Odd.
func ReadProperty(body []byte, into *Property) error {
	*into = Property{}
	err := json.Unmarshal(body, into)
	if err == nil && !mayLackNumbers(body, 0, []Property{*into}) {
		return nil
	}
	return into.readAgain(body, err)
}

// ReadProperties is ReadProperty for a page of listings. Only a page that json.Unmarshal cannot read, or that may lack
// numbers, costs more.
func ReadProperties(body []byte, into *Page[Property]) error {
	err, around := json.Unmarshal(body, into), 1
	if into.Meta != (PageMeta{}) {
		around = 2
	}
	if err == nil && !mayLackNumbers(body, around, into.Data) {
		return nil
	}
	var items Page[json.RawMessage]
	if failed := json.Unmarshal(body, &items); failed != nil {
		return cmp.Or(err, failed)
	}
	if err != nil {
		*into = Page[Property]{Data: make([]Property, len(items.Data)), Meta: items.Meta}
	}
	for i, item := range items.Data {
		if err := into.Data[i].readAgain(item, err); err != nil {
			return err
		}
	}
	return nil
}

// requiredNumbers are the fields in which 0 may also be a missing number, and doubles those that are held as the
// nearest double.
var (
	requiredNumbers = sync.OnceValue(func() []*propertyField {
		return fieldsThat(func(f *propertyField) bool {
			return !f.Nullable && (f.Kind == PriceField || f.Kind == NumberField)
		})
	})
	doubles = sync.OnceValue(func() []*propertyField {
		return fieldsThat(func(f *propertyField) bool { return f.Kind == NumberField && !f.isWhole() })
	})
)

func fieldsThat(are func(*propertyField) bool) (list []*propertyField) {
	table := propertyFields()
	for i := range table {
		if are(&table[i]) {
			list = append(list, &table[i])
		}
	}
	return list
}

// mayLackNumbers tells whether some of the listings that were decoded from a body may lack a number, or have one that
// was rounded. The body has that many objects around them. For perksd, which writes no blanks, the result is exact: to
// look for each number again would take longer than decoding.
func mayLackNumbers(body []byte, around int, read []Property) bool {
	var lacking uint // by the indexes of requiredNumbers
	for i := range read {
		if read[i].isRounded() {
			return true
		}
		for n, field := range requiredNumbers() {
			if field.lacksNumber(&read[i]) {
				lacking |= 1 << n
			}
		}
	}
	if lacking == 0 {
		return false
	}
	hasOthers := bytes.Count(body, []byte("{")) > len(read)+around // whose members may have the same names
	for n, field := range requiredNumbers() {
		if lacking>>n&1 == 1 && (hasOthers || countNumbers(body, field.Name) != len(read)) {
			return true
		}
	}
	return false
}

// countNumbers counts the members of a name that are not null, in JSON without blanks.
func countNumbers(body []byte, name string) (count int) {
	end := []byte(name + `":`)
	for at := bytes.Index(body, end); at >= 0; at = bytes.Index(body, end) {
		isMember := at > 0 && body[at-1] == '"'
		body = body[at+len(end):]
		if isMember && len(body) > 0 && body[0] != 'n' && body[0] > ' ' {
			count++
		}
	}
	return count
}

// isRounded tells whether a double may have had more digits than it holds: only then it needs 16 or 17 of them.
func (p *Property) isRounded() bool {
	for _, field := range doubles() {
		double := field.double(p)
		if double == nil || *double*1e6 == math.Trunc(*double*1e6) { // as most have
			continue
		}
		if digits := strconv.FormatFloat(math.Abs(*double), 'e', -1, 64); strings.IndexByte(digits, 'e') > 16 {
			return true
		}
	}
	return false
}

// readAgain reads a listing member by member if decoding it gave an error, and finds out which numbers it lacks. A body
// that is not an object has that error.
func (p *Property) readAgain(body []byte, err error) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return err
	}
	if err != nil {
		*p = Property{}
		err = p.readMembers(members)
	}
	for _, field := range requiredNumbers() {
		if raw := members[field.Name]; raw == nil || string(raw) == "null" {
			p.setOdd(field.Name, "null")
		}
	}
	for _, field := range doubles() {
		_, isOdd := p.Odd[field.Name]
		digits, isNumber := (Value{json: members[field.Name]}).number()
		isLong := isNumber && !isOdd && len(digits) > 16 && !strings.ContainsAny(digits, "eE")
		if isLong && digits != field.texts(p)[0] {
			p.setOdd(field.Name, string(members[field.Name]))
		}
	}
	return err
}

func (p *Property) readMembers(members map[string]json.RawMessage) error {
	if id, came := members[propertyID]; came && string(id) != "null" {
		var text PropertyID
		if problem := (Value{json: id}).PropertyID(&text); problem != "" {
			return fmt.Errorf("%s %s", propertyID, problem)
		}
		if p.SetPropertyID(text); p.ID == 0 {
			p.setOdd(propertyID, string(id))
		}
	}
	var patch PropertyPatch
	for _, field := range propertyFields() {
		value := Value{json: members[field.Name]}
		if value.json == nil || value.IsNull() {
			continue
		}
		problem := field.read(value, &patch)
		if price, isPrice := value.anyPrice(); isPrice && field.Kind == PriceField {
			patch.PricePW, problem = Some(price), ""
		}
		if problem != "" {
			p.setOdd(field.Name, string(value.json))
		}
	}
	patch.Apply(p)
	return nil
}

// setOdd sets the JSON that a service wrote instead of a value: "null" if it wrote no value, and "" for a proper one.
func (p *Property) oddOf(name string) (odd json.RawMessage, isOdd bool) {
	odd, isOdd = p.Odd[name]
	return odd, isOdd
}

func (p *Property) setOdd(name, raw string) {
	if _, isOdd := p.Odd[name]; !isOdd && raw == "" {
		return
	}
	odd := maps.Clone(p.Odd) // other copies of the property have the same one
	delete(odd, name)
	if raw != "" {
		if odd == nil {
			odd = map[string]json.RawMessage{}
		}
		odd[name] = nil
	}
	if raw != "" && raw != "null" {
		odd[name] = json.RawMessage(strings.ToValidUTF8(raw, "\uFFFD"))
	}
	if p.Odd = odd; len(odd) == 0 {
		p.Odd = nil
	}
}

func oddTexts(raw json.RawMessage) []string {
	var text string
	switch {
	case raw == nil:
		return nil
	case json.Unmarshal(raw, &text) == nil:
		return []string{text}
	}
	return []string{string(raw)}
}

const propertyID = "propertyId"

// PropertyID is the id of a listing at any service, as requests have it. In JSON it is a number if it has the digits of
// one; perksd has only those from 1.
type PropertyID string

// number returns the id as Property.ID holds it; 0 if it cannot.
func (id PropertyID) number() int64 {
	n, _ := strconv.ParseInt(string(id), 10, 64)
	if strconv.FormatInt(n, 10) != string(id) {
		return 0
	}
	return n
}

// Field is the name of the id in a record.
func (PropertyID) Field() string { return propertyID }

// Subject is the same for the ids that perksd takes for one listing, such as 42 and 042.
func (id PropertyID) Subject() string {
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return string(id)
}

// MarshalJSON writes a number or a text.
func (id PropertyID) MarshalJSON() ([]byte, error) {
	if id.number() != 0 {
		return []byte(id), nil
	}
	return EncodeJSON(string(id))
}

// UnmarshalJSON reads what Value.PropertyID does.
func (id *PropertyID) UnmarshalJSON(raw []byte) error {
	if problem := (Value{json: raw}).PropertyID(id); problem != "" {
		return errors.New(problem)
	}
	return nil
}

// PropertyID reads a text, or a number, which may have a fraction of zero.
func (v Value) PropertyID(into *PropertyID) string {
	var text string
	if v.Text(&text) == "" {
		*into = PropertyID(text)
		return ""
	}
	digits, isNumber := v.number()
	if !isNumber {
		return "must be a text or a number"
	}
	if n := int64(0); v.Int(&n) == "" {
		digits = strconv.FormatInt(n, 10)
	}
	*into = PropertyID(digits)
	return ""
}

// PropertyID is the id of the listing; "" if the service wrote none.
func (p Property) PropertyID() PropertyID {
	switch raw, isOdd := p.Odd[propertyID]; {
	case isOdd:
		return PropertyID(oddTexts(raw)[0])
	case p.ID == 0:
		return ""
	}
	return PropertyID(strconv.FormatInt(p.ID, 10))
}

// SetPropertyID sets the id of a listing.
func (p *Property) SetPropertyID(id PropertyID) {
	odd := ""
	if p.ID = id.number(); p.ID == 0 && id != "" {
		text, _ := EncodeJSON(string(id))
		odd = string(text)
	}
	p.setOdd(propertyID, odd)
}

// Has tells whether a field has the value, valid or not: what a service wrote can be sent back.
func (p Property) Has(name string, value Value) bool {
	field, _ := PropertyFieldNamed(name)
	return hasTexts(field, p.Texts(name), value)
}

// hasTexts tells whether the texts of a field are those of a value.
func hasTexts(field Field, has []string, value Value) bool {
	var texts []string // none for null
	switch {
	case value.IsNull():
	case field.Kind == ListField && value.list(&texts) == "":
	case value.isText():
		texts = []string{value.raw}
	default:
		texts = oddTexts(value.json)
	}
	return slices.Equal(has, texts)
}

// Remarks says of each field whose value can't be read what it is, such as "not a number".
func (p Property) Remarks() map[string]string {
	remarks := map[string]string{}
	for name, raw := range p.Odd {
		field := propertyFields().named(name)
		_, isNumber := (Value{json: raw}).number()
		switch {
		case raw == nil || field == nil || isNumber && field.Kind == NumberField && !field.isWhole():
		case field.Kind != NumberField && field.Kind != PriceField:
			remarks[name] = "not a text"
		case isNumber && field.Kind == NumberField:
			remarks[name] = "not a whole number"
		default:
			remarks[name] = "not a number"
		}
	}
	return remarks
}

// wire writes odd values as they came, and leaves out those that did not come.
func (p Property) wire() any {
	type fields Property
	text, _ := EncodeJSON(fields(p))
	members, err := ParseObject(text)
	if err != nil {
		return fields(p) // whose encoding says what is wrong
	}
	record := []byte("{")
	for _, m := range members {
		raw := m.Value.json
		if odd, isOdd := p.Odd[m.Name]; isOdd {
			raw = odd
		}
		if raw != nil {
			record = fmt.Appendf(record, "%q:%s,", m.Name, raw)
		}
	}
	return json.RawMessage(append(record[:len(record)-1], '}')) // there is propertyId
}

var anyDecimal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
})

// anyPrice reads a price as other services may write it, which ParsePrice would refuse: in any length, with zeros in
// front, or with an exponent. It keeps the digits.
func (v Value) anyPrice() (Price, bool) {
	digits, isNumber := v.number()
	_, isDouble := parseDouble(digits)
	return Price{digits}, isNumber && isDouble && anyDecimal().MatchString(digits)
}
