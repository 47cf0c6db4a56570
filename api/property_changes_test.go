package api_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
)

func testProperty(t testing.TB) api.Property {
	lat := 53.8
	return api.Property{
		ID: 42, Title: "Flat", Description: "Two rooms.\n\n", Address: "1 Lane", City: "Leeds", Postcode: "LS1",
		Images: []string{"https://a/1,2"}, PricePW: price(t, "120.50"), Bedrooms: 2, Bathrooms: 1, Lat: &lat,
		Deposit: 500,
	}
}

// fullPatch changes every field of a property.
func fullPatch(t testing.TB) api.PropertyPatch {
	return api.PropertyPatch{
		Title: api.Some("House"), Description: api.Some("Two rooms.\n"), Address: api.Some("2 Lane"),
		City:     api.Some("York"),
		Postcode: api.Some(""), Images: api.Some([]string{}), PricePW: api.Some(price(t, "120.51")),
		Bedrooms:  api.Some(3),
		Bathrooms: api.Some(0), Lat: api.Some[*float64](nil), Lng: api.Some(new(-1.5)), Deposit: api.Some(0.0),
	}
}

// TestPropertyFieldsMatchStructs checks the table against the JSON names of the structs, and that each entry accesses
// the field with its name.
func TestPropertyFieldsMatchStructs(t *testing.T) {
	tags := func(of reflect.Type) (names []string) {
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "-" {
				names = append(names, name)
			}
		}
		return names
	}
	names := api.PropertyPatchFields()
	if got := tags(reflect.TypeFor[api.PropertyPatch]()); !slices.Equal(got, names) {
		t.Errorf("the patch has %q, the table %q", got, names)
	}
	if got := tags(reflect.TypeFor[api.Property]()); !slices.Equal(got, append([]string{"propertyId"}, names...)) {
		t.Errorf("the property has %q, the table %q", got, names)
	}
	for i, field := range api.PropertyFields() {
		one := fullPatch(t).Only(field.Name)
		before, after := reflect.ValueOf(testProperty(t)), reflect.ValueOf(testProperty(t).With(one))
		for j := range before.NumField() {
			if same := reflect.DeepEqual(before.Field(j).Interface(), after.Field(j).Interface()); same == (j == i+1) {
				t.Errorf("%s: field %d unchanged: %t", field.Name, j, same)
			}
		}
		if held := reflect.ValueOf(one).Field(i).FieldByName("Set"); !held.Bool() {
			t.Errorf("%s accesses another field of the patch", field.Name)
		}
		if field.Label == "" || field.Help == "" {
			t.Errorf("%s has no label, or a flag without help", field.Name)
		}
	}
}

func TestTextsRoundTrip(t *testing.T) {
	p := testProperty(t)
	p.Deposit = 1e21
	for _, field := range api.PropertyFields() {
		value := api.NullValue()
		switch texts := p.Texts(field.Name); {
		case field.Kind == api.ListField:
			value = api.ListValue(texts)
		case len(texts) == 1:
			value = api.TextValue(texts[0])
		}
		patch, err := api.ParsePropertyPatch([]api.Member{{Name: field.Name, Value: value}})
		if err != nil || !slices.Equal(patch.Fields(), []string{field.Name}) || !patch.IsAppliedTo(p) {
			t.Errorf("%s: %+v, %v", field.Name, patch, err)
		}
	}
}

func TestPropertyChangesHoldsExactlyTheChangedFields(t *testing.T) {
	all := fullPatch(t)
	if !slices.Equal(all.Fields(), api.PropertyPatchFields()) {
		t.Fatalf("the full patch has %v", all.Fields())
	}
	for _, name := range api.PropertyPatchFields() {
		before, after := testProperty(t), testProperty(t)
		one := all.Only(name)
		one.Apply(&after)
		if got := api.PropertyChanges(before, after); !reflect.DeepEqual(got, one) {
			t.Errorf("%s: got %+v, want %+v", name, got, one)
		}
		back := api.PropertyChanges(after, before)
		if back.Apply(&after); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: reverted to %+v", name, after)
		}
	}
}

func TestPropertyChangesIgnoresNotation(t *testing.T) {
	before, after := testProperty(t), testProperty(t)
	after.PricePW = price(t, "120.500")
	after.Images = slices.Clone(before.Images)
	if got := api.PropertyChanges(before, after); !got.IsEmpty() {
		t.Errorf("got %+v", got)
	}
	before.Deposit, after.Deposit = 0, math.Copysign(0, -1)
	before.Lat, after.Lat = new(0.0), new(math.Copysign(0, -1))
	if got := api.PropertyChanges(before, after); !got.IsEmpty() {
		t.Errorf("0 and -0: got %+v", got)
	}
	before.Images, after.Images = nil, []string{}
	if got := api.PropertyChanges(before, after); !got.IsEmpty() {
		t.Errorf("nil and empty images: got %+v", got)
	}
}
