package api_test

import (
	"encoding/json"
	"fmt"
	"reflect"
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
		var p api.Property
		if err := api.ReadProperty([]byte(`{"propertyId":7,"price_pw":`+wrong+`}`), &p); err == nil {
			t.Errorf("%s is read as %s", wrong, p.PricePW)
		}
	}
}

func BenchmarkReadProperties(b *testing.B) {
	items := make([]string, 1000)
	for i := range items {
		items[i] = strings.Replace(plainListing, `"propertyId":7`, fmt.Sprintf(`"propertyId":%d`, i+1), 1)
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
