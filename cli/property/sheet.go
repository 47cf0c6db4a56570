package property

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/perks/api"
)

// sheet is the fields of a property as a person edits them, by their names on the wire.
type sheet map[string]value

// value is what a field holds. Numbers and prices are digits here and nothing else, so that they stay as they were written.
type value struct {
	null bool
	text string
	list []string // of images
}

// kind is what a field's values are compared as.
type kind int

const (
	asText kind = iota
	asList
	asPrice
	asNumber
)

func kindOf(field string) kind {
	switch field {
	case "images":
		return asList
	case "price_pw":
		return asPrice
	case "bedrooms", "bathrooms", "lat", "lng", "deposit":
		return asNumber
	}
	return asText
}

// sheetOf reads the fields from the property's JSON, which keeps digits.
func sheetOf(p api.Property) (sheet, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("lay out the property: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var members map[string]any
	if err := dec.Decode(&members); err != nil {
		return nil, fmt.Errorf("lay out the property: %w", err)
	}
	s := sheet{}
	for _, field := range api.PropertyPatchFields() {
		s[field] = valueOf(members[field], kindOf(field))
	}
	return s, nil
}

func valueOf(member any, k kind) value {
	switch member := member.(type) {
	case string:
		return value{text: member}
	case json.Number:
		return value{text: member.String()}
	case []any:
		return listOf(member)
	}
	return value{null: k != asList}
}

func listOf(entries []any) value {
	v := value{list: []string{}}
	for _, entry := range entries {
		text, _ := entry.(string) // api.Property holds nothing else
		v.list = append(v.list, text)
	}
	return v
}

// same tells whether two values of a field are the same to the service: 250 and 250.00 are one price.
func same(field string, a, b value) bool {
	if a.null || b.null {
		return a.null == b.null
	}
	switch kindOf(field) {
	case asList:
		return slices.Equal(a.list, b.list) && a.text == b.text
	case asPrice:
		return withoutZeros(a.text) == withoutZeros(b.text)
	case asNumber:
		return a.text == b.text || sameNumber(a.text, b.text)
	}
	return a.text == b.text
}

func withoutZeros(digits string) string {
	if !strings.Contains(digits, ".") {
		return digits
	}
	return strings.TrimSuffix(strings.TrimRight(digits, "0"), ".")
}

func sameNumber(a, b string) bool {
	if !isNumber(a) || !isNumber(b) {
		return false
	}
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x == y
}

// isNumber takes only what the service takes for the digits of a number; Go would take 0x10 and inf as well.
func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "+-.0123456789eE") == ""
}

// changesTo returns the fields of s that before does not hold like that. Fields that s lacks are no changes.
func (s sheet) changesTo(before sheet) sheet {
	changed := sheet{}
	for field, v := range s {
		if was, known := before[field]; !known || !same(field, was, v) {
			changed[field] = v
		}
	}
	return changed
}

// over returns before with the fields of s in place of its own.
func (s sheet) over(before sheet) sheet {
	whole := sheet{}
	for field, v := range before {
		whole[field] = v
	}
	for field, v := range s {
		whole[field] = v
	}
	return whole
}

// fields returns the names that s holds, in the order of the contract; those that it does not know are left out.
func (s sheet) fields() []string {
	var names []string
	for _, field := range api.PropertyPatchFields() {
		if _, held := s[field]; held {
			names = append(names, field)
		}
	}
	return names
}

// member is the value as the contract reads it from text, in which "null" is what can be nothing.
func (v value) member() api.Value {
	switch {
	case v.null:
		return api.TextValue("null")
	case v.list != nil:
		array, _ := json.Marshal(v.list) // strings always marshal
		return api.TextValue(string(array))
	}
	return api.TextValue(v.text)
}

// takenOut returns the fields that the sheet no longer has.
func (s sheet) takenOut() []string {
	var names []string
	for _, field := range api.PropertyPatchFields() {
		if _, held := s[field]; !held {
			names = append(names, field)
		}
	}
	return names
}
