package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestAVersionNamesEveryFieldThatItChanged changes one field after the other, and all of them.
func TestAVersionNamesEveryFieldThatItChanged(t *testing.T) {
	price, _ := ParsePrice("250")
	samePrice, _ := ParsePrice("250.00")
	before := Property{ID: 1, Title: "A & B", Images: []string{"http://a/1"}, PricePW: price}
	after := Property{ID: 1, Title: "<B>", Description: "d", Address: "a", City: "c", Postcode: "p", Images: []string{},
		PricePW: samePrice, Bedrooms: 1, Bathrooms: 2, Lat: new(51.5), Lng: new(-0.5), Deposit: 0.1}
	whole := PropertyChanges(before, after)
	whole.PricePW = Some(samePrice) // which is the same number
	names := PropertyPatchFields()
	for i := range len(names) + 1 {
		changed := names // all
		if i < len(names) {
			changed = names[i : i+1]
		}
		is := before.With(whole.Only(changed...))
		var version PropertyVersion
		if err := version.SetChange(&before, &is); err != nil {
			t.Fatal(err)
		}
		var was, set map[string]json.RawMessage
		if err := json.Unmarshal(version.Before, &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(version.After, &set); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(version.Changed, changed) || len(was) != len(changed) || len(set) != len(changed) {
			t.Errorf("of %q it says %q, from %s to %s", changed, version.Changed, version.Before, version.After)
		}
		back, err := ParseObject(version.Before)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := ParsePropertyPatch(back)
		if text, _ := EncodeJSON(is.With(patch)); err != nil || string(text) != encoded(before) {
			t.Errorf("taking %s back gives %s, %v", version.After, text, err)
		}
		if strings.Contains(string(version.Before)+string(version.After), `\u00`) {
			t.Errorf("it is escaped: %s", version.Before)
		}
	}
}

func encoded(p Property) string {
	text, _ := EncodeJSON(p)
	return string(text)
}
