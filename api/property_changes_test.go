package api_test

import (
	"reflect"
	"slices"
	"testing"

	"example.com/perks/api"
)

func aProperty(t testing.TB) api.Property {
	lat := 53.8
	return api.Property{
		ID: 42, Title: "Flat", Description: "Two rooms.\n\n", Address: "1 Lane", City: "Leeds", Postcode: "LS1",
		Images: []string{"https://a/1,2"}, PricePW: price(t, "120.50"), Bedrooms: 2, Bathrooms: 1, Lat: &lat, Deposit: 500,
	}
}

// changedEach is every field of a property with another value.
func changedEach(t testing.TB) api.PropertyPatch {
	return api.PropertyPatch{
		Title: api.Some("House"), Description: api.Some("Two rooms.\n"), Address: api.Some("2 Lane"), City: api.Some("York"),
		Postcode: api.Some(""), Images: api.Some([]string{}), PricePW: api.Some(price(t, "120.51")), Bedrooms: api.Some(3),
		Bathrooms: api.Some(0), Lat: api.Null[float64](), Lng: api.Some(-1.5), Deposit: api.Some(0.0),
	}
}

func TestChangesHoldEveryFieldThatDiffersAndNoOther(t *testing.T) {
	all := changedEach(t)
	if !slices.Equal(all.Fields(), api.PropertyPatchFields()) {
		t.Fatalf("a full patch holds %v", all.Fields())
	}
	for _, name := range api.PropertyPatchFields() {
		before, after := aProperty(t), aProperty(t)
		one := all.Only(name)
		one.Apply(&after)
		if got := api.PropertyChanges(before, after); !reflect.DeepEqual(got, one) {
			t.Errorf("%s: got %+v, want %+v", name, got, one)
		}
		back := api.PropertyChanges(after, before)
		if back.Apply(&after); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: the way back leads to %+v", name, after)
		}
	}
}

func TestChangesOverlookHowAPriceIsWritten(t *testing.T) {
	before, after := aProperty(t), aProperty(t)
	after.PricePW = price(t, "120.500")
	after.Images = slices.Clone(before.Images)
	if got := api.PropertyChanges(before, after); !got.IsEmpty() {
		t.Errorf("got %+v", got)
	}
	before.Images, after.Images = nil, []string{}
	if got := api.PropertyChanges(before, after); !got.IsEmpty() {
		t.Errorf("no images and an empty list of them: got %+v", got)
	}
}

func TestConflictsAreWhatBothChangedDifferently(t *testing.T) {
	before := aProperty(t)
	for name, test := range map[string]struct {
		theirs, mine api.PropertyPatch
		want         []string
	}{
		"nobody else":        {mine: api.PropertyPatch{Title: api.Some("A")}},
		"other fields":       {theirs: api.PropertyPatch{City: api.Some("York")}, mine: api.PropertyPatch{Title: api.Some("A")}},
		"the same value":     {theirs: api.PropertyPatch{Title: api.Some("A")}, mine: api.PropertyPatch{Title: api.Some("A")}},
		"the same price":     {theirs: api.PropertyPatch{PricePW: api.Some(price(t, "9.0"))}, mine: api.PropertyPatch{PricePW: api.Some(price(t, "9"))}},
		"one field of three": {changedEach(t).Only("title", "lat"), api.PropertyPatch{Lat: api.Some(1.0), City: api.Some("York")}, []string{"lat"}},
		"gone there, and other here": {
			theirs: api.PropertyPatch{Lat: api.Null[float64](), Images: api.Some([]string{})},
			mine:   api.PropertyPatch{Lat: api.Some(0.0), Images: api.Some([]string{"https://a/3"})}, want: []string{"images", "lat"},
		},
	} {
		theirs := aProperty(t)
		test.theirs.Apply(&theirs)
		if got := api.MergePropertyChanges(before, theirs, test.mine); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
