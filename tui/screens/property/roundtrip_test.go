package property

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

func testShell() *screen.Shell {
	return &screen.Shell{Theme: theme.New(theme.None, termenv.Ascii)}
}

// someText returns a text of pieces that caused bugs before.
func someText(r *rand.Rand, lines bool) string {
	pieces := []string{"flat", " ", "  ", "é", "漢字", "שלום", "🙂", "1,2", "null", "[", "\"", "-", "\\"}
	if lines {
		pieces = append(pieces, "\n", "\n\n", "\t", "\r\n", "\x1b[31m", "\u202e", "\u200f", "\ufffd", "    ")
	}
	var text strings.Builder
	for range r.IntN(12) {
		text.WriteString(pieces[r.IntN(len(pieces))])
	}
	return text.String()
}

func somePrice(r *rand.Rand) api.Price {
	texts := []string{"0", "0.0", "120", "120.50", "120.5", "0.10", "999999999999999999999999", "12345678901234567890.10", "0.0000000000000000000001"}
	price, err := api.ParsePrice(texts[r.IntN(len(texts))])
	if err != nil {
		panic(err)
	}
	return price
}

func someNumber(r *rand.Rand, most float64) float64 {
	switch r.IntN(4) {
	case 0:
		return 0
	case 1:
		return float64(r.IntN(int(most)))
	case 2:
		return math.Nextafter(r.Float64()*most, 0)
	}
	return -r.Float64() * most
}

func someProperty(r *rand.Rand) api.Property {
	p := api.Property{
		ID: 1, Title: "T" + someText(r, false), Description: someText(r, true), Address: someText(r, false),
		City: someText(r, false), Postcode: someText(r, false), Images: []string{}, PricePW: somePrice(r),
		Bedrooms: r.IntN(1 << 31), Bathrooms: r.IntN(9), Deposit: someNumber(r, 1e9) * math.Pow(10, float64(r.IntN(300)-20)),
	}
	for range r.IntN(4) {
		p.Images = append(p.Images, []string{"https://a/1,2", "https://b/é?x=[1]", "http://c"}[r.IntN(3)])
	}
	if lat := someNumber(r, 90); r.IntN(3) > 0 {
		p.Lat = &lat
	}
	if lng := someNumber(r, 180); r.IntN(3) > 0 {
		p.Lng = &lng
	}
	return p
}

func TestUntouchedFormChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		base := client.Version{Property: someProperty(r)}
		e := newEdit(testShell(), base)
		if patch, wrong := e.changes(); !patch.IsEmpty() || wrong != nil || len(e.typed()) > 0 {
			t.Fatalf("%+v: changes %v, wrong %v, typed %q", base, patch.Fields(), wrong, e.typed())
		}
	}
}

func TestFormRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		before, after := someProperty(r), someProperty(r)
		after.Description = withoutControls(fieldNamed("description"), after.Description)
		after.Deposit = math.Abs(after.Deposit) // a form refuses one below 0
		e := newEdit(testShell(), client.Version{Property: before})
		for _, f := range fields {
			e.form.Set(f.Name, f.text(after))
		}
		patch, wrong := e.changes()
		if wrong != nil {
			t.Fatalf("%+v: wrong %v", after, wrong)
		}
		got := e.base.Property.With(patch)
		if !slices.Contains(patch.Fields(), "price_pw") {
			got.PricePW = after.PricePW // the same amount
		}
		if got.Lat != nil && after.Lat != nil && *got.Lat == *after.Lat {
			got.Lat = after.Lat
		}
		restoredLines := restored(fieldNamed("description"), after.Description, before.Description)
		if got.Description == restoredLines {
			got.Description = after.Description
		}
		if !reflect.DeepEqual(got, after) {
			t.Fatalf("want %+v\ngot %+v", after, got)
		}
	}
}

// TestOneChangedLineKeepsTheOthers checks that an edit keeps characters in other lines that a form cannot hold.
func TestOneChangedLineKeepsTheOthers(t *testing.T) {
	description := fieldNamed("description")
	for name, test := range map[string]struct{ was, text, want string }{
		"tabs":                    {"\ta\n\tb\nc", "\ta\n\tb\nC", "\ta\n\tb\nC"},
		"CRLF":                    {"a\r\nb\r\n", "a\nb\nnew\n", "a\r\nb\r\nnew\n"},
		"direction marks":         {"\u200fשלום\nb", "שלום\nB", "\u200fשלום\nB"},
		"a removed line":          {"\x1ba\nb\n\x1bc", "a\nc", "\x1ba\n\x1bc"},
		"two similar lines":       {"\x1ba\na\nb", "a\na\nB", "\x1ba\na\nB"},
		"the marked line changed": {"\u200fa\nb", "A\nb", "A\nb"},
		"blank lines at the end":  {"a\n\n\n", "A\n\n\n", "A\n\n\n"},
	} {
		if got := restored(description, test.text, test.was); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		e := newEdit(testShell(), client.Version{Property: api.Property{Title: "T", Description: test.was}})
		e.form.Set("description", test.text)
		if patch, _ := e.changes(); patch.Description.Value != test.want {
			t.Errorf("%s: the patch has %q, want %q", name, patch.Description.Value, test.want)
		}
	}
}

func TestFieldTexts(t *testing.T) {
	lat, price := 1e-7, api.Price{}
	p := api.Property{Images: []string{"https://a/1,2", "https://b"}, PricePW: price, Lat: &lat, Deposit: 1e6}
	for name, want := range map[string]string{
		"images": "https://a/1,2\nhttps://b", "price_pw": "0", "lat": "1e-7", "lng": "", "deposit": "1000000", "bedrooms": "0",
	} {
		if got := fieldNamed(name).text(p); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, test := range []struct{ field, text, problem string }{
		{"price_pw", "12,5", "must be digits and a point, such as 120.50"},
		{"price_pw", " 12.50 ", ""},
		{"images", "https://a/1\n\n  https://b/2,3 \n", ""},
		{"images", "https://a/1\nftp://b", "number 2 must be an absolute http or https URL"},
		{"lat", "", ""},
		{"lat", "91", "must be between -90 and 90"},
		{"bedrooms", "two", "must be a whole number"},
		{"title", " ", "must not be blank"},
	} {
		if got := problemWith(fieldNamed(test.field), test.text); got != test.problem {
			t.Errorf("%s %q: %q, want %q", test.field, test.text, got, test.problem)
		}
	}
}

func TestFieldsAreThoseOfThePatch(t *testing.T) {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, api.PropertyPatchFields()) {
		t.Errorf("the form has %v", names)
	}
}
