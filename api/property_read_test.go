package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
)

// plainListing is testListing as perksd writes it.
const plainListing = `{"propertyId":7,"title":"Flat","description":"","address":"","city":"York","postcode":"",` +
	`"images":["https://a/1","https://a/2"],"price_pw":"250.50","bedrooms":2,"bathrooms":1,"lat":51.5,"lng":-1.08,` +
	`"deposit":1000}`

func readListing(t testing.TB, text string) (p api.Property) {
	t.Helper()
	if err := api.ReadProperty([]byte(text), &p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func TestPropertyAsAnyServiceWritesIt(t *testing.T) {
	want := readListing(t, plainListing)
	for _, text := range []string{
		`{"propertyId":"7","bedrooms":"2","bathrooms":"1","lat":"51.5","lng":"-1.08","deposit":"1000"}`,
		`{"bedrooms":2.0,"bathrooms":1.00,"lat":51.50,"lng":-1.080,"deposit":1000.0,"price_pw":250.50}`,
		`{"propertyId":7e0,"bedrooms":2e+00,"bathrooms":10e-1,"lat":5.15e+01,"lng":-1.08e+00,"deposit":1e3}`,
		`{"images":"https://a/1,https://a/2"}`,
		`{"images":"https://a/1, https://a/2,"}`,
		`{"propertyId":"7","title":null,"extra":{"bedrooms":"many"}}`,
	} {
		var given map[string]json.RawMessage
		if err := json.Unmarshal([]byte(plainListing), &given); err != nil {
			t.Fatal(err)
		}
		title := "Flat"
		if strings.Contains(text, `"title":null`) {
			title = ""
		}
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			t.Fatal(err)
		}
		joined, _ := api.EncodeJSON(given)
		want.Title = title
		if got := readListing(t, string(joined)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nis  %+v\nnot %+v", text, got, want)
		}
		var page api.Page[api.Property]
		list := `{"data":[` + plainListing + `,` + string(joined) + `],"meta":{"total":2}}`
		err := api.ReadProperties([]byte(list), &page)
		if err != nil || page.Meta.Total != 2 || len(page.Data) != 2 || !reflect.DeepEqual(page.Data[1], want) {
			t.Errorf("%s\nin a list is %+v, %v", text, page, err)
		}
	}
}

// TestPropertyIDOfAnyService reads ids as services write them, and what requests have for each.
func TestPropertyIDOfAnyService(t *testing.T) {
	for written, want := range map[string]struct{ id, again string }{
		`7`: {"7", `7`}, `"7"`: {"7", `7`}, `7.0`: {"7", `7`}, `"007"`: {"007", `"007"`}, `"7f3c"`: {"7f3c", `"7f3c"`},
		`"a/é"`: {"a/é", `"a/é"`}, `12345678901234567890`: {"12345678901234567890", `12345678901234567890`},
		`"1e3"`: {"1e3", `"1e3"`}, `null`: {"", `0`},
	} {
		p := readListing(t, `{"propertyId":`+written+`,"price_pw":1,"bedrooms":1,"bathrooms":1,"deposit":1}`)
		text, err := api.EncodeJSON(p)
		begins := `{"propertyId":` + want.again + `,`
		if p.PropertyID() != api.PropertyID(want.id) || err != nil || !strings.HasPrefix(string(text), begins) {
			t.Errorf("%s is %q, and written as %s, %v", written, p.PropertyID(), text, err)
		}
		if remarks := p.Remarks(); len(remarks) > 0 {
			t.Errorf("%s: %v", written, remarks)
		}
		var set api.Property
		set.SetPropertyID(p.PropertyID())
		if set.PropertyID() != p.PropertyID() {
			t.Errorf("%s becomes %q", written, set.PropertyID())
		}
	}
	var p api.Property
	if err := api.ReadProperty([]byte(`{"propertyId":[7]}`), &p); err == nil {
		t.Errorf("a list is read as the id %q", p.PropertyID())
	}
}

func TestAnyPrice(t *testing.T) {
	for written, want := range map[string]string{ // and the price that it equals
		`2.505e+02`: "250.5", `"2.505e+02"`: "250.5", `1e3`: "1000", `1E-2`: "0.01", `"0100.50"`: "100.5", `0e5`: "0",
		`250.50`: "250.5", `1` + strings.Repeat("0", 30) + `.50`: `1` + strings.Repeat("0", 30) + `.5`,
	} {
		p := readListing(t, `{"propertyId":"7","price_pw":`+written+`}`)
		if got := p.PricePW.String(); got != strings.Trim(written, `"`) {
			t.Errorf("%s is shown as %s", written, got)
		}
		var equal api.Property
		if len(want) < 24 {
			equal.PricePW = price(t, want)
			if changes := api.PropertyChanges(p, equal); changes.PricePW.Set {
				t.Errorf("%s does not equal %s", written, want)
			}
		}
		if key := p.PricePW.SortKey(); !strings.HasSuffix(key, want) || len(key) != len(want)+2 {
			t.Errorf("%s is sorted as %s", written, key)
		}
	}
	for _, wrong := range []string{`"0x10"`, `1e999`, `"-5"`, `"1_0"`, `".5"`, `"1."`, `"Inf"`, `true`, `{}`} {
		p := readListing(t, `{"propertyId":7,"price_pw":`+wrong+`}`)
		if odd := p.Odd["price_pw"]; string(odd) != wrong {
			t.Errorf("%s is read as %s, %s", wrong, p.PricePW, odd)
		}
	}
}

func BenchmarkReadProperties(b *testing.B) {
	items := make([]string, 1000)
	without := strings.Replace(plainListing, `"deposit":1000`, `"deposit":0`, 1) // of which it must be sure
	for i := range items {
		items[i] = strings.Replace(without, `"propertyId":7`, fmt.Sprintf(`"propertyId":%d`, i+1), 1)
	}
	body := []byte(`{"data":[` + strings.Join(items, ",") + `],"meta":{"total":1000}}`)
	for name, read := range map[string]func([]byte, *api.Page[api.Property]) error{
		"any":  api.ReadProperties,
		"json": func(body []byte, into *api.Page[api.Property]) error { return json.Unmarshal(body, into) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var page api.Page[api.Property]
				if err := read(body, &page); err != nil || len(page.Data) != 1000 {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestWhatIsNoValueStaysAsItCame is about values that can't be read, and those that are missing.
func TestWhatIsNoValueStaysAsItCame(t *testing.T) {
	for member, remark := range map[string]string{
		`"price_pw":"£295.50"`:        "not a number",
		`"price_pw":"1,200.00"`:       "not a number",
		`"price_pw":""`:               "not a number",
		`"price_pw":-5`:               "not a number",
		`"bathrooms":1.5`:             "not a whole number",
		`"bedrooms":"two"`:            "not a number",
		`"deposit":{"a":[1]}`:         "not a number",
		`"lat":"51° N"`:               "not a number",
		`"lng":true`:                  "not a number",
		`"lat":51.123456789012345`:    "",
		`"title":7`:                   "not a text",
		`"images":{"main":"<a>&\"1"}`: "not a text",
		`"price_pw":null`:             "", `"bedrooms":null`: "", `"bathrooms":null`: "", `"deposit":null`: "",
	} {
		name := strings.Split(member, `"`)[1]
		field, _ := api.PropertyFieldNamed(name)
		plain := regexp.MustCompile(`"` + name + `":("[^"]*"|\[[^]]*\]|[^,}]*)`)
		text := plain.ReplaceAllLiteralString(plainListing, member)
		p := readListing(t, text)
		if got := p.Remarks()[name]; got != remark || len(p.Odd) != 1 {
			t.Errorf("%s: %q, %v", member, got, p.Odd)
		}
		want := text
		if strings.HasSuffix(member, "null") { // no value is no member
			want = strings.NewReplacer(member+",", "", ","+member, "").Replace(text)
		}
		if got, err := api.EncodeJSON(p); err != nil || string(got) != want {
			t.Errorf("%s is written as\n%s, %v, want\n%s", member, got, err, want)
		}
		if again := readListing(t, want); !reflect.DeepEqual(again, p) {
			t.Errorf("%s is read back as %+v, not %+v", want, again, p)
		}
		page := api.Page[api.Property]{}
		list := `{"data":[` + plainListing + `,` + text + `],"meta":{"total":2}}`
		if err := api.ReadProperties([]byte(list), &page); err != nil || !reflect.DeepEqual(page.Data[1], p) {
			t.Errorf("%s in a list is %+v, %v", member, page, err)
		}
		changesOfOdd(t, field, p)
	}
}

// changesOfOdd checks that an odd value differs from every value, equals itself, and that an undo brings it back.
func changesOfOdd(t *testing.T, field api.Field, odd api.Property) {
	t.Helper()
	moved := odd.With(fullPatch(t).Only("address"))
	if names := api.PropertyChanges(odd, moved).Fields(); !slices.Equal(names, []string{"address"}) {
		t.Errorf("with another address, %v changes %v", odd.Odd, names)
	}
	edited := odd.With(fullPatch(t).Only(field.Name))
	names := api.PropertyChanges(odd, edited).Fields()
	if edited.Odd != nil || !slices.Equal(names, []string{field.Name}) || len(odd.Odd) != 1 {
		t.Errorf("%v, edited, is %+v", odd.Odd, edited)
	}
	zero := odd
	zero.Odd = nil
	if names := api.PropertyChanges(odd, zero).Fields(); !slices.Equal(names, []string{field.Name}) {
		t.Errorf("%v equals 0: %v", odd.Odd, names)
	}
	undo := api.PropertyChanges(edited, odd)
	text, err := json.Marshal(undo)
	raw := odd.Odd[field.Name]
	if raw == nil {
		raw = json.RawMessage("null")
	}
	var sent map[string]json.RawMessage
	if json.Unmarshal(text, &sent); err != nil || len(sent) != 1 || !sameJSON(sent[field.Name], raw) {
		t.Errorf("the undo of %v is %s, %v", odd.Odd, text, err)
	}
	undone := edited.With(undo)
	isSame := api.PropertyChanges(undone, odd).IsEmpty() && reflect.DeepEqual(undone.Odd, odd.Odd)
	if !isSame || !undo.IsAppliedTo(odd) {
		t.Errorf("undone, %v is %+v", odd.Odd, undone)
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var first, second any
	return json.Unmarshal(a, &first) == nil && json.Unmarshal(b, &second) == nil && reflect.DeepEqual(first, second)
}

func TestAListingLacksNumbers(t *testing.T) {
	for text, lacks := range map[string]string{
		`{"propertyId":7}`: "bathrooms bedrooms deposit price_pw",
		`{"propertyId":7,"price_pw":0,"bedrooms":0,"bathrooms":0,"deposit":0}`:                "",
		`{"propertyId":7,"price_pw":"0","bedrooms":0,"deposit":0}`:                            "bathrooms",
		`{"propertyId":7,"price_pw":1,"bedrooms":0,"bathrooms" : null,"deposit":1}`:           "bathrooms",
		`{"propertyId":7,"price_pw":1,"bedrooms":2,"bathrooms":1,"_links":{"deposit":1}}`:     "deposit",
		`{"propertyId":7,"price_pw":1,"bedrooms":2,"bathrooms":1,"title":"\"deposit\":{"}`:    "deposit",
		`{"propertyId":7,"price_pw": 1, "bedrooms": 0, "bathrooms": 1, "deposit": 0}`:         "",
		`{"PropertyID":7,"Price_PW":1,"bedrooms":2,"bathrooms":1,"deposit":0,"title":"{{{{"}`: "price_pw",
	} {
		var page api.Page[api.Property]
		list := `{"data":[` + plainListing + `,` + text + `],"meta":{}}`
		if err := api.ReadProperties([]byte(list), &page); err != nil {
			t.Fatal(err)
		}
		for _, p := range []api.Property{readListing(t, text), page.Data[1]} {
			if got := strings.Join(slices.Sorted(maps.Keys(p.Odd)), " "); got != lacks || p.ID != 7 {
				t.Errorf("%s lacks %q, want %q", text, got, lacks)
			}
		}
		if first := page.Data[0]; first.Odd != nil {
			t.Errorf("the first lacks %v", first.Odd)
		}
	}
}
