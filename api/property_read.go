package api

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
)

// ReadProperty is json.Unmarshal, but also reads a listing whose numbers are texts or have a fraction or an exponent,
// and whose images are one text: the specification leaves that open.
func ReadProperty(body []byte, into *Property) error {
	err := json.Unmarshal(body, into)
	if err == nil {
		return nil
	}
	*into = Property{}
	return into.readMembers(body, err)
}

// ReadProperties is ReadProperty for a page of listings. Only a page that json.Unmarshal cannot read costs more.
func ReadProperties(body []byte, into *Page[Property]) error {
	err := json.Unmarshal(body, into)
	if err == nil {
		return nil
	}
	var items Page[json.RawMessage]
	if json.Unmarshal(body, &items) != nil {
		return err
	}
	*into = Page[Property]{Data: make([]Property, len(items.Data)), Meta: items.Meta}
	for i, item := range items.Data {
		if err := into.Data[i].readMembers(item, err); err != nil {
			return err
		}
	}
	return nil
}

// readMembers reads a listing member by member. A body that is no object is the error that is given.
func (p *Property) readMembers(body []byte, otherwise error) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return otherwise
	}
	if id, came := members["propertyId"]; came && string(id) != "null" {
		if problem := (Value{json: id}).Int(&p.ID); problem != "" {
			return fmt.Errorf("propertyId %s", problem)
		}
	}
	var patch PropertyPatch
	for _, field := range propertyFields {
		value := Value{json: members[field.Name]}
		if value.json == nil || value.IsNull() {
			continue
		}
		problem := field.read(value, &patch)
		if price, isPrice := value.anyPrice(); isPrice && field.Kind == PriceField {
			patch.PricePW, problem = Some(price), ""
		}
		if problem != "" {
			return fmt.Errorf("%s %s", field.Name, problem)
		}
	}
	patch.Apply(p)
	return nil
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
