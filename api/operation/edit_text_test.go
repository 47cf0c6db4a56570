package operation

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
)

func propertyOf(p api.Property) *PropertyEdit {
	return Properties.NewEdit("1", PropertyVersion{Record: p})
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
	texts := []string{"0", "0.0", "120", "120.50", "120.5", "0.10", "999999999999999999999999",
		"12345678901234567890.10", "0.0000000000000000000001"}
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
		Bedrooms: r.IntN(1 << 31), Bathrooms: r.IntN(9), Deposit: someNumber(r, 1e9) * math.Pow(10,
			float64(r.IntN(300)-20)),
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

func TestUntouchedTextChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		p := someProperty(r)
		e := propertyOf(p)
		for _, f := range Properties.Fields() {
			e.Type(f.Name, e.Text(f.Name)+"!")
			e.Type(f.Name, e.BaseText(f.Name))
		}
		values := map[string]api.Value{}
		for _, f := range Properties.Fields() {
			values[f.Name] = Properties.Value(f, p)
		}
		if e.Submit() != FoundNothing {
			t.Fatalf("%+v: typed %q, %v", p, e.Typed(), e.Problems())
		}
		e.SetAll(values, nil)
		if event := e.Submit(); event != FoundNothing || len(e.Typed()) > 0 {
			t.Fatalf("%+v: %v, typed %q, %v", p, event, e.Typed(), e.Problems())
		}
	}
}

func TestTextRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	description, _ := Properties.Field("description")
	for range 300 {
		before, after := someProperty(r), someProperty(r)
		after.Description = shown(description, after.Description)
		after.Deposit = math.Abs(after.Deposit) // a form refuses one below 0
		e := propertyOf(before)
		for _, f := range Properties.Fields() {
			e.Type(f.Name, Properties.Text(f.Name, after))
		}
		if e.Submit() == FoundInvalid {
			t.Fatalf("%+v: %v", after, e.Problems())
		}
		got := e.Wanted()
		if !slices.Contains(e.Patch.Fields(), "price_pw") {
			got.PricePW = after.PricePW // the same amount
		}
		if got.Lat != nil && after.Lat != nil && *got.Lat == *after.Lat {
			got.Lat = after.Lat
		}
		if got.Description == restored(description, after.Description, before.Description) {
			got.Description = after.Description
		}
		if !reflect.DeepEqual(got, after) {
			t.Fatalf("want %+v\ngot %+v", after, got)
		}
	}
}

// TestOneChangedLineKeepsTheOthers checks that an edit keeps characters in other lines that a form cannot hold.
func TestOneChangedLineKeepsTheOthers(t *testing.T) {
	description, _ := Properties.Field("description")
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
		e := propertyOf(api.Property{Title: "T", Description: test.was})
		e.Type("description", test.text)
		if e.Submit(); e.Patch.Description.Value != test.want {
			t.Errorf("%s: the patch has %q, want %q", name, e.Patch.Description.Value, test.want)
		}
	}
}

func TestFieldTexts(t *testing.T) {
	lat, price := 1e-7, api.Price{}
	p := api.Property{Images: []string{"https://a/1,2", "https://b"}, PricePW: price, Lat: &lat, Deposit: 1e6}
	for name, want := range map[string]string{
		"images": "https://a/1,2\nhttps://b", "price_pw": "0", "lat": "1e-7", "lng": "", "deposit": "1000000",
		"bedrooms": "0",
	} {
		if got := Properties.Text(name, p); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, test := range []struct{ field, text, problem string }{
		{"price_pw", "12,5", "Use a point: 12.5"},
		{"price_pw", " 12.50 ", ""},
		{"images", "https://a/1\n\n  https://b/2,3 \n", ""},
		{"images", "https://a/1\nftp://b", "Line 2: enter a full URL, such as https://…"},
		{"price_pw", "12,5,1", "must be digits and a point, such as 120.50"},
		{"lat", "", ""},
		{"lat", "91", "must be between -90 and 90"},
		{"bedrooms", "two", "must be a whole number"},
		{"title", " ", "must not be blank"},
	} {
		e := propertyOf(api.Property{Title: "T", Bedrooms: 1, Lat: new(1.0)})
		if e.Type(test.field, test.text); e.Problem(test.field) != test.problem {
			got := e.Problem(test.field)
			t.Errorf("%s %q: %q, want %q", test.field, test.text, got, test.problem)
		}
	}
}
