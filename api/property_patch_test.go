package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
)

// patchJSON parses a patch as the server does with a JSON body.
func patchJSON(t testing.TB, text string) (api.PropertyPatch, error) {
	t.Helper()
	members, err := api.ParseObject([]byte(text))
	if err != nil {
		return api.PropertyPatch{}, err
	}
	return api.ParsePropertyPatch(members)
}

// patchForm parses a patch as the server does with a form.
func patchForm(t testing.TB, text string) (api.PropertyPatch, error) {
	t.Helper()
	form, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return api.ParsePropertyPatch(api.FormListMembers(form, "images"))
}

func price(t testing.TB, digits string) api.Price {
	t.Helper()
	price, err := api.ParsePrice(digits)
	if err != nil {
		t.Fatal(err)
	}
	return price
}

func images(addresses ...string) api.PropertyPatch {
	return api.PropertyPatch{Images: api.Some(append([]string{}, addresses...))}
}

func TestPatchReadsEveryFieldOfJSON(t *testing.T) {
	for text, want := range map[string]api.PropertyPatch{
		`{}`:                     {},
		`{"title":"A"}`:          {Title: api.Some("A")},
		`{"title":" é\u00e9 "}`:  {Title: api.Some(" éé ")},
		`{"description":""}`:     {Description: api.Some("")},
		`{"address":"1 Lane"}`:   {Address: api.Some("1 Lane")},
		`{"city":"Leeds"}`:       {City: api.Some("Leeds")},
		`{"postcode":"LS1 4AP"}`: {Postcode: api.Some("LS1 4AP")},
		`{"images":[]}`:          images(),
		`{"images":""}`:          images(),
		`{"images":["http://a/1","https://b/2,3"]}`:              images("http://a/1", "https://b/2,3"),
		`{"images":["http://a/w,h/x,y.jpg?r=1,2&u=http://b/3"]}`: images("http://a/w,h/x,y.jpg?r=1,2&u=http://b/3"),
		`{"images":"http://a/1 , https://b/2"}`:                  images("http://a/1", "https://b/2"),
		`{"images":"http://a/1,http://a/2,"}`:                    images("http://a/1", "http://a/2"),
		`{"images":"http://a/1, ,http://a/2,,"}`:                 images("http://a/1", "http://a/2"),

		`{"price_pw":"120.50"}`:                {PricePW: api.Some(price(t, "120.50"))},
		`{"price_pw":120.50}`:                  {PricePW: api.Some(price(t, "120.50"))},
		`{"price_pw":12345678901234567890.10}`: {PricePW: api.Some(price(t, "12345678901234567890.10"))},
		`{"bedrooms":0}`:                       {Bedrooms: api.Some(0)},
		`{"bedrooms":3.0}`:                     {Bedrooms: api.Some(3)},
		`{"bedrooms":1e2}`:                     {Bedrooms: api.Some(100)},
		`{"bathrooms":2147483647}`:             {Bathrooms: api.Some(2147483647)},
		`{"lat":-90}`:                          {Lat: api.Some(new(-90.0))},
		`{"lat":null}`:                         {Lat: api.Some[*float64](nil)},
		`{"lng":180}`:                          {Lng: api.Some(new(180.0))},
		`{"lng":null}`:                         {Lng: api.Some[*float64](nil)},
		`{"deposit":1.5e2}`:                    {Deposit: api.Some(150.0)},
		`{"lat":1,"title":"A"}`:                {Title: api.Some("A"), Lat: api.Some(new(1.0))},
	} {
		if got, err := patchJSON(t, text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s gives %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestPatchReadsNumbersThatAreStrings(t *testing.T) {
	got, err := patchJSON(t, `{"bedrooms":"2","bathrooms":"1.0","lat":"51.5","lng":"-1e-1","deposit":"5\u00300"}`)
	want := api.PropertyPatch{
		Bedrooms: api.Some(2), Bathrooms: api.Some(1), Lat: api.Some(new(51.5)), Lng: api.Some(new(-0.1)),
		Deposit: api.Some(500.0),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestPatchReadsEveryFieldOfAForm(t *testing.T) {
	for text, want := range map[string]api.PropertyPatch{
		"":                                      {},
		"title=A+B":                             {Title: api.Some("A B")},
		"description=":                          {Description: api.Some("")},
		"address=null":                          {Address: api.Some("null")},
		"city=Leeds&postcode=1":                 {City: api.Some("Leeds"), Postcode: api.Some("1")},
		"images=":                               images(),
		"images=http://a/1,+http://a/2":         images("http://a/1", "http://a/2"),
		"images=,http://a/1,http://a/2,":        images("http://a/1", "http://a/2"),
		"images=http://a/2,b&images=http://a/1": images("http://a/2,b", "http://a/1"),
		"images[]=http://a/2&images[]=http://a/1": images("http://a/2", "http://a/1"),
		"images%5B%5D=http://a/1":                 images("http://a/1"),
		"images[]=":                               images(),
		"images[10]=http://a/3&images[2]=http://a/2&images[0]=http://a/1": images("http://a/1", "http://a/2",
			"http://a/3"),
		"price_pw=120.50":          {PricePW: api.Some(price(t, "120.50"))},
		"bedrooms=2&bathrooms=1.0": {Bedrooms: api.Some(2), Bathrooms: api.Some(1)},
		"lat=&lng=null":            {Lat: api.Some[*float64](nil), Lng: api.Some[*float64](nil)},
		"lat=52.5&lng=-0.1":        {Lat: api.Some(new(52.5)), Lng: api.Some(new(-0.1))},
		"deposit=482":              {Deposit: api.Some(482.0)},
	} {
		if got, err := patchForm(t, text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s gives %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// fault is a refused value, the field named in the error and part of the message.
type fault struct{ text, field, want string }

func TestPatchRefusesInvalidJSON(t *testing.T) {
	images := strings.Repeat(`"http://a/1",`, api.MaxImages) + `"http://a/1"`
	faults := []fault{
		{`{"title":""}`, "title", "must not be blank"},
		{`{"title":" \u3000"}`, "title", "must not be blank"},
		{`{"title":"` + strings.Repeat("é", 201) + `"}`, "title", "at most 200 characters"},
		{`{"title":"a\u0000b"}`, "title", "NUL"},
		{`{"title":7}`, "title", "must be a string"},
		{`{"description":"` + strings.Repeat("a", 10_001) + `"}`, "description", "at most 10000 characters"},
		{`{"address":"` + strings.Repeat("a", 501) + `"}`, "address", "at most 500 characters"},
		{`{"city":["Leeds"]}`, "city", "must be a string"},
		{`{"postcode":"` + strings.Repeat("a", 121) + `"}`, "postcode", "at most 120 characters"},
		{`{"images":{}}`, "images", "array of strings"},
		{`{"images":[1]}`, "images", "array of strings"},
		{`{"images":["http://a/1",null]}`, "images", "array of strings"},
		{`{"images":["http://a/1",""]}`, "images", "number 2 must not be blank"},
		{`{"images":" , "}`, "images", "has commas, but no address"},
		{`{"images":["http://a/1","/2"]}`, "images", "number 2 must be an absolute http or https URL"},
		{`{"images":["http://a/0","http://a/1,https://a/2"]}`, "images",
			"number 2 must be one URL; send each in a separate entry"},
		{`{"images":["http://a/1, HTTP://a/2"]}`, "images", "number 1 must be one URL"},
		{`{"images":["javascript:alert(1)"]}`, "images", "number 1 must be an absolute http or https URL"},
		{`{"images":[` + images + `]}`, "images", "at most 50"},
		{`{"price_pw":-1}`, "price_pw", "must not be negative"},
		{`{"price_pw":1e2}`, "price_pw", "digits and a point"},
		{`{"price_pw":"1,50"}`, "price_pw", "digits and a point"},
		{`{"price_pw":true}`, "price_pw", "a string or a number"},
		{`{"bedrooms":-1}`, "bedrooms", "must not be negative"},
		{`{"bedrooms":1.5}`, "bedrooms", "whole number"},
		{`{"bedrooms":"two"}`, "bedrooms", "whole number"},
		{`{"bedrooms":""}`, "bedrooms", "whole number"},
		{`{"bedrooms":"2.5"}`, "bedrooms", "whole number"},
		{`{"bathrooms":["2"]}`, "bathrooms", "whole number"},
		{`{"bathrooms":2147483648}`, "bathrooms", "at most 2147483647"},
		{`{"bathrooms":1e400}`, "bathrooms", "whole number"},
		{`{"bathrooms":9007199254740994.0}`, "bathrooms", "whole number"},
		{`{"lat":90.0000001}`, "lat", "between -90 and 90"},
		{`{"lat":"0x1p4"}`, "lat", "must be a number"},
		{`{"lat":""}`, "lat", "must be a number"},
		{`{"lat":"91"}`, "lat", "between -90 and 90"},
		{`{"lng":-180.5}`, "lng", "between -180 and 180"},
		{`{"deposit":-0.01}`, "deposit", "must not be negative"},
		{`{"deposit":1e999}`, "deposit", "must be a number"},
		{`{"deposit":"much"}`, "deposit", "must be a number"},
		{`{"propertyId":1}`, "propertyId", "cannot be changed"},
		{`{"owner":"me"}`, "owner", "is not a field of a property; the fields are title,"},
		{`{"Title":"A"}`, "Title", "is not a field of a property"},
		{`{"title":"A","title":"A"}`, "title", "more than once"},
	}
	for _, field := range api.PropertyPatchFields() {
		if field != "lat" && field != "lng" {
			faults = append(faults, fault{fmt.Sprintf(`{%q:null}`, field), field, "must not be null"})
		}
	}
	checkFaults(t, faults, patchJSON)
}

func TestPatchRefusesInvalidForms(t *testing.T) {
	checkFaults(t, []fault{
		{"title=", "title", "must not be blank"},
		{"title=%FF", "title", "valid UTF-8"},
		{"title=A&title=B", "title", "more than once"},
		{"images=http://a/1&images[]=http://a/2", "images", "more than once"},
		{"images[0]=http://a/1&images[]=http://a/2", "images", "more than once"},
		{"images[0]=http://a/1&images=http://a/2&images=http://a/3", "images", "more than once"},
		{"images[0]=http://a/1&images[0]=http://a/2", "images", "more than once"},
		{"images[00]=http://a/1", "images[00]", "is not a field of a property"},
		{"images[-1]=http://a/1", "images[-1]", "is not a field of a property"},
		{"images[0][url]=http://a/1", "images[0][url]", "is not a field of a property"},
		{"title[]=A", "title[]", "is not a field of a property"},
		{"images[]=http://a/1&images[]=", "images", "number 2 must not be blank"},
		{"images[]=%FF", "images", "valid UTF-8"},
		{`images=["http://a/%FF"]`, "images", "valid UTF-8"},
		{`images=["http://a/\ud800"]`, "images", "has half of a surrogate pair"},
		{"images[]=http://a/1,http://a/2", "images", "number 1 must be one URL"},
		{"images=http://a/1,http://a/2&images=http://a/3", "images", "number 1 must be one URL"},
		{"images=a", "images", "absolute http or https URL"},
		{"price_pw=", "price_pw", "digits and a point"},
		{"price_pw=null", "price_pw", "digits and a point"},
		{"bedrooms=", "bedrooms", "whole number"},
		{"bedrooms=two", "bedrooms", "whole number"},
		{"bedrooms=0x10", "bedrooms", "whole number"},
		{"bedrooms=0x1p4", "bedrooms", "whole number"},
		{"bathrooms=%202", "bathrooms", "whole number"},
		{"bathrooms=1_0", "bathrooms", "whole number"},
		{"lat=NaN", "lat", "must be a number"},
		{"lat=0x1p4", "lat", "must be a number"},
		{"lng=-Inf", "lng", "must be a number"},
		{"deposit=", "deposit", "must be a number"},
		{"deposit=inf", "deposit", "must be a number"},
		{"propertyId=1", "propertyId", "cannot be changed"},
		{"price=1", "price", "is not a field of a property"},
	}, patchForm)
}

func checkFaults(t *testing.T, faults []fault, parse func(testing.TB, string) (api.PropertyPatch, error)) {
	t.Helper()
	for _, f := range faults {
		_, err := parse(t, f.text)
		wantFault(t, f.text, err, f.field, f.want)
	}
}

func TestPatchReportsAllErrorsAtOnce(t *testing.T) {
	_, err := patchJSON(t, `{"title":"","bedrooms":-1,"lat":91,"color":"red","city":"Leeds","lng":7,"lng":8}`)
	fields := err.(*api.Error).Fields
	var got []string
	for field := range fields {
		got = append(got, field)
	}
	slices.Sort(got)
	if want := []string{"bedrooms", "color", "lat", "lng", "title"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPatchIsAppliedTo(t *testing.T) {
	lat := 52.5
	price, _ := api.ParsePrice("120.50")
	current := api.Property{ID: 1, Title: "A", City: "B", Images: []string{"http://a/1", "http://a/2"}, PricePW: price,
		Bedrooms: 2, Lat: &lat, Deposit: 0.1}
	for text, want := range map[string]bool{
		`{}`: true,
		`{"title":"A","city":"B","images":["http://a/1","http://a/2"],"bedrooms":2,"lat":52.5,"lng":null,` +
			`"deposit":0.1}`: true,
		`{"price_pw":"120.50"}`:                         true,
		`{"price_pw":120.5}`:                            true,
		`{"price_pw":"120.500"}`:                        true,
		`{"price_pw":"120.05"}`:                         false,
		`{"price_pw":"1205"}`:                           false,
		`{"lat":52.50}`:                                 true,
		`{"lat":52.500001}`:                             false,
		`{"lat":null}`:                                  false,
		`{"lng":0}`:                                     false,
		`{"deposit":0.10000000000000002}`:               false,
		`{"title":"a"}`:                                 false,
		`{"images":["http://a/2","http://a/1"]}`:        false,
		`{"images":[]}`:                                 false,
		`{"title":"A","bedrooms":3}`:                    false,
		`{"description":"","address":"","postcode":""}`: true,
	} {
		patch, err := patchJSON(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := patch.IsAppliedTo(current); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	whole, _ := api.ParsePrice("120")
	bare := api.Property{PricePW: whole}
	for text, want := range map[string]bool{`{"images":[]}`: true, `{"price_pw":"120.0"}`: true,
		`{"price_pw":"12"}`: false, `{"lat":0}`: false, `{"lat":null}`: true} {
		if patch, err := patchJSON(t, text); err != nil || patch.IsAppliedTo(bare) != want {
			t.Errorf("bare: %s: %t, %v", text, !want, err)
		}
	}
	if bare.Images != nil || bare.Lat != nil || current.PricePW.String() != "120.50" {
		t.Error("IsAppliedTo changed the property")
	}
}

func FuzzPropertyPatchJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"title":"A","images":["http://a/1"],"price_pw":120.50,"bedrooms":2.0,"lat":null,"lng":-1.5e1,` +
			`"deposit":0}`,
		`{"images":"http://a/1, http://a/2"}`, `{"title":"A","title":"B"}`, `{"propertyId":1}`, `{"bathrooms":1e2}`,
		`[`, `{"title":"\ud800"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if patch, err := patchJSON(t, text); err == nil {
			checkPatch(t, patch)
		}
	})
}

func FuzzPropertyPatchForm(f *testing.F) {
	for _, seed := range []string{
		"", "title=A&images=http://a/1,http://a/2&price_pw=1.50&bedrooms=2&lat=&lng=null&deposit=1e2",
		"title=A&title=B", "lat=0x1p-2", "propertyId=1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		form, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		if patch, err := api.ParsePropertyPatch(api.FormMembers(form)); err == nil {
			checkPatch(t, patch)
		}
	})
}

// checkPatch checks that an accepted patch survives the wire and keeps a property valid.
func checkPatch(t *testing.T, patch api.PropertyPatch) {
	t.Helper()
	written, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := patchJSON(t, string(written)); err != nil || !reflect.DeepEqual(again, patch) {
		t.Fatalf("%+v, written as %s, is read as %+v, %v", patch, written, again, err)
	}
	property := api.Property{ID: 1, Title: "A", Images: []string{}}
	patch.Apply(&property)
	if err := property.Validate(); err != nil {
		t.Fatalf("%s makes a property invalid: %v", written, err)
	}
	if _, err := json.Marshal(property); err != nil {
		t.Fatalf("%s makes a property that cannot be written: %v", written, err)
	}
}
