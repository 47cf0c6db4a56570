package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestPriceRefusesAnythingButPlainDigits(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "digits and a point",
		"-1":                           "must not be negative",
		"-0":                           "must not be negative",
		"+1":                           "digits and a point",
		"01":                           "digits and a point",
		"1.":                           "digits and a point",
		".5":                           "digits and a point",
		"1e3":                          "digits and a point",
		"1,50":                         "digits and a point",
		" 1":                           "digits and a point",
		"1\n":                          "digits and a point",
		"0x10":                         "digits and a point",
		"NaN":                          "digits and a point",
		"١":                            "digits and a point",
		"£5":                           "digits and a point",
		strings.Repeat("9", 25):        "at most 24 characters",
		"1." + strings.Repeat("0", 23): "at most 24 characters",
	} {
		if price, err := api.ParsePrice(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %s and %v, want an error that says %q", text, price, err, want)
		}
	}
}

func TestPriceInJSON(t *testing.T) {
	for _, refused := range []string{`true`, `{}`, `[]`, `1e2`, `-1`, `"-1"`, `" 1"`, `""`} {
		var price api.Price
		if err := json.Unmarshal([]byte(refused), &price); err == nil {
			t.Errorf("JSON %s is read as %s", refused, price)
		}
	}
	var price api.Price
	if written, err := json.Marshal(price); err != nil || string(written) != `"0"` {
		t.Errorf("the zero price is written as %s, %v", written, err)
	}
	if err := json.Unmarshal([]byte(`"7.00"`), &price); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`null`), &price); err != nil || price.String() != "7.00" {
		t.Errorf("null changes the price to %s, %v", price, err)
	}
}

// FuzzPrice checks that prices, the seeds among them, keep their digits.
func FuzzPrice(f *testing.F) {
	seeds := []string{"0", "0.0", "120", "120.50", "0.10", "99999999999999999999999", "0.1000000000000000055511"}
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		price, err := api.ParsePrice(text)
		if err != nil && slices.Contains(seeds, text) {
			t.Fatal(err)
		} else if err != nil {
			return
		}
		if price.String() != text {
			t.Fatalf("%q became %q", text, price)
		}
		written, err := json.Marshal(price)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{string(written), text} {
			var read api.Price
			if err := json.Unmarshal([]byte(form), &read); err != nil || read != price {
				t.Fatalf("JSON %s is read as %q, %v", form, read, err)
			}
		}
	})
}
