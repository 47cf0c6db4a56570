package store_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func object(t testing.TB, text string) []api.Member {
	t.Helper()
	return must(api.ParseObject([]byte(text)))(t)
}

func pointerTo[T any](value T) *T { return &value }

func TestParsePerkReadsEveryField(t *testing.T) {
	fromJSON := must(store.ParsePerk(object(t,
		`{"id":"tea","title":"Tea","description":"Hot","category":"Food","merchant_name":"Leaf",
		"image_url":"https://img.example/tea.png","discount_text":"-10%","terms":"One each",
		"valid_from":"2026-01-01T01:00:00+01:00",		"valid_to":"2026-02-01T00:00:00.1234567Z","city":"Bath",
		"created_at":"2025-01-01T00:00:00Z","updated_at":"2025-01-02T00:00:00Z",
		"lat":51.38,"lng":-2.36,"stock":0,"approval":"manual","hold_for":"48h"}`)))(t)
	want := store.PerkRecord{
		Perk: api.Perk{ID: "tea", Title: "Tea", Description: "Hot", Category: pointerTo("Food"),
			MerchantName: pointerTo("Leaf"),
			ImageURL:     pointerTo("https://img.example/tea.png"), DiscountText: pointerTo("-10%"),
			Terms:     pointerTo("One each"),
			ValidFrom: pointerTo(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
			ValidTo:   pointerTo(time.Date(2026, 2, 1, 0, 0, 0, 123000000, time.UTC)),
			City:      "Bath",
			CreatedAt: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
			UpdatedAt: time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC)},
		Lat: pointerTo(51.38), Lng: pointerTo(-2.36), Stock: pointerTo(int64(0)), Approval: store.ApprovalManual,
		HoldFor: pointerTo(api.Hold(48 * 60 * 60)),
	}
	if diff := cmp.Diff(want, fromJSON); diff != "" {
		t.Errorf("the perk differs (-want +got):\n%s", diff)
	}

	fromCSV := must(store.ParsePerk(api.CellMembers(store.PerkFields(),
		[]string{"tea", "Tea", "Hot", "Food", "Leaf", "https://img.example/tea.png",
			"-10%", "One each", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00.123456Z", "Bath", "2025-01-01T00:00:00Z",
			"2025-01-02T00:00:00Z",
			"51.38", "-2.36", "0", "manual", "48h"})))(t)
	if diff := cmp.Diff(want, fromCSV); diff != "" {
		t.Errorf("the same perk from CSV differs (-want +got):\n%s", diff)
	}
}

func TestParsePerkFillsInDefaults(t *testing.T) {
	want := store.PerkRecord{Perk: api.Perk{Title: "Tea", Description: "Hot", City: "Bath"},
		Approval: store.ApprovalAuto}
	for _, text := range []string{
		`{"title":"Tea","description":"Hot","city":"Bath"}`,
		`{"title":"Tea","description":"Hot","city":"Bath","id":null,"category":null,"merchant_name":null,
		  "image_url":null,"discount_text":null,"terms":null,"valid_from":null,"valid_to":null,
		  "created_at":null,"updated_at":null,"lat":null,"lng":null,"stock":null,"approval":null,"hold_for":null}`,
	} {
		perk := must(store.ParsePerk(object(t, text)))(t)
		if diff := cmp.Diff(want, perk); diff != "" {
			t.Errorf("the perk of %s differs (-want +got):\n%s", text, diff)
		}
	}
}

func TestParsePropertyReadsEveryField(t *testing.T) {
	want := store.PropertyRecord{
		Property: api.Property{ID: 7, Title: "Flat", Description: "Bright", Address: "1 High St", City: "Bath",
			Postcode: "BA1",
			Images:   []string{"https://img.example/1,2.png", "https://img.example/3.png"}, PricePW: price(t, "120.50"),
			Bedrooms: 2, Bathrooms: 1, Lat: pointerTo(51.38), Deposit: 99.5},
		Owner: "acme",
	}
	fromJSON := must(store.ParseProperty(object(t,
		`{"propertyId":7,"title":"Flat","description":"Bright","address":"1 High St","city":"Bath",
		"postcode":"BA1","images":["https://img.example/1,2.png","https://img.example/3.png"],
		"price_pw":120.50,"bedrooms":2,"bathrooms":1,
		"lat":51.38,"lng":null,"deposit":99.5,"owner":"acme"}`), "someone-else"))(t)
	if diff := cmp.Diff(want, fromJSON, comparePrices); diff != "" {
		t.Errorf("the property differs (-want +got):\n%s", diff)
	}
	fromCSV := must(store.ParseProperty(api.CellMembers(store.PropertyFields(),
		[]string{"7", "Flat", "Bright", "1 High St", "Bath", "BA1",
			`["https://img.example/1,2.png","https://img.example/3.png"]`, "120.50", "2", "1", "51.38", "", "99.5",
			""}),
		"acme"))(t)
	if diff := cmp.Diff(want, fromCSV, comparePrices); diff != "" {
		t.Errorf("the same property from CSV, with a default owner, differs (-want +got):\n%s", diff)
	}
}

func TestParsePropertyFillsInDefaults(t *testing.T) {
	property := must(store.ParseProperty(object(t, `{"propertyId":7,"title":"Flat","price_pw":"120"}`), "acme"))(t)
	want := store.PropertyRecord{Property: api.Property{ID: 7, Title: "Flat", Images: []string{},
		PricePW: price(t, "120")}, Owner: "acme"}
	if diff := cmp.Diff(want, property, comparePrices, cmpopts.IgnoreTypes(store.Row{})); diff != "" {
		t.Errorf("the property differs (-want +got):\n%s", diff)
	}
}

func TestPerkRowKeepsAbsentFields(t *testing.T) {
	from, to := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	known := store.PerkRecord{
		Perk: api.Perk{ID: "tea", Title: "Tea", Description: "Hot", Category: pointerTo("Food"),
			MerchantName: pointerTo("Leaf"), Terms: pointerTo("One each"),
			ValidFrom: &from, ValidTo: &to, City: "Bath"},
		Lat: pointerTo(51.38), Lng: pointerTo(-2.36), Stock: pointerTo(int64(5)), Approval: store.ApprovalManual,
	}
	tests := []struct {
		name, row string
		change    func(*store.PerkRecord)
	}{
		{"nothing but the id", `{"id":"tea"}`, func(p *store.PerkRecord) {}},
		{"values", `{"id":"tea","stock":6,"title":"Green tea"}`,
			func(p *store.PerkRecord) { p.Stock, p.Title = pointerTo(int64(6)), "Green tea" }},
		{"nulls", `{"id":"tea","stock":null,"category":null,"lat":null,"lng":null,"valid_from":null,"approval":null}`,
			func(p *store.PerkRecord) {
				p.Stock, p.Category, p.Lat, p.Lng, p.ValidFrom, p.Approval = nil, nil, nil, nil, nil, store.ApprovalAuto
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := must(store.ParsePerk(object(t, test.row)))(t)
			noError(t, store.PerkKind.Fill(&got, &known, got.Row.Absent))
			want := known
			test.change(&want)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(store.Row{})); diff != "" {
				t.Errorf("the perk differs (-want +got):\n%s", diff)
			}
		})
	}
	row := must(store.ParsePerk(object(t, `{"id":"tea","valid_to":"2025-12-31T00:00:00Z"}`)))(t)
	storetest.Fails(t, "valid_to before the stored valid_from", store.PerkKind.Fill(&row, &known, row.Row.Absent),
		"valid_to must be after valid_from")
}

func TestPropertyRowKeepsAbsentFields(t *testing.T) {
	known := store.PropertyRecord{
		Property: api.Property{ID: 7, Title: "Flat", Description: "Bright", Address: "1 High St", City: "Bath",
			Postcode: "BA1",
			Images:   []string{"https://img.example/1.png"}, PricePW: price(t, "120.50"), Bedrooms: 2, Bathrooms: 1,
			Lat: pointerTo(51.38), Deposit: 99.5},
		Owner: "acme",
	}
	cleared := store.PropertyRecord{Property: api.Property{ID: 7, Title: "Flat", Images: []string{},
		PricePW: price(t, "120.50")}, Owner: "acme"}
	empty := api.CellMembers([]string{"propertyId", "description", "address", "city", "postcode", "images", "bedrooms",
		"bathrooms", "lat", "lng", "deposit"},
		append([]string{"7"}, make([]string, 10)...))
	for name, test := range map[string]struct {
		row  []api.Member
		want store.PropertyRecord
	}{
		"nothing but the id": {object(t, `{"propertyId":7}`), known},
		"empty cells":        {empty, cleared},
		"the same as nulls": {object(t, `{"propertyId":7,"description":null,"address":null,"city":null,"postcode":null,
			"images":null,"bedrooms":null,"bathrooms":null,"lat":null,"deposit":null}`), cleared},
		"another default owner": {object(t, `{"propertyId":7}`), known},
		"values it already has": {object(t, `{"propertyId":7,"city":"Bath","owner":"acme"}`), known},
	} {
		t.Run(name, func(t *testing.T) {
			got := must(store.ParseProperty(test.row, "someone-else"))(t)
			noError(t, store.PropertyKind.Fill(&got, &known, got.Row.Absent))
			if diff := cmp.Diff(test.want, got, comparePrices, cmpopts.IgnoreTypes(store.Row{})); diff != "" {
				t.Errorf("the property differs (-want +got):\n%s", diff)
			}
		})
	}
}

func price(t *testing.T, digits string) api.Price {
	t.Helper()
	return must(api.ParsePrice(digits))(t)
}

var comparePrices = cmp.Comparer(func(a, b api.Price) bool { return a.String() == b.String() })

func parsePerk(m []api.Member) error     { _, err := store.ParsePerk(m); return err }
func parseCategory(m []api.Member) error { _, err := store.ParseCategory(m); return err }
func parseUser(m []api.Member) error     { _, err := store.ParseUser(m); return err }
func parseProperty(m []api.Member) error { _, err := store.ParseProperty(m, ""); return err }

func TestParseReportsEveryProblem(t *testing.T) {
	const allPerkFields = "id, title, description, category, merchant_name, image_url, discount_text, terms, " +
		"valid_from, valid_to, city, " +
		"created_at, updated_at, lat, lng, stock, approval, hold_for"
	tests := []struct {
		name  string
		parse func([]api.Member) error
		json  string
		want  api.FieldErrors
	}{
		{"an empty perk", parsePerk, `{}`,
			api.FieldErrors{"title": {"is required"}, "description": {"is required"}, "city": {"is required"}}},
		{"an unknown field", parsePerk, `{"title":"T","description":"D","city":"C","colour":"red"}`,
			api.FieldErrors{"colour": {"is not a field of this record; the fields are " + allPerkFields}}},
		{"a repeated field", parsePerk, `{"title":"T","description":"D","city":"C","title":"U"}`,
			api.FieldErrors{"title": {"is given more than once"}}},
		{"values of the wrong type", parsePerk,
			`{"title":1,"description":"D","city":"C","lat":"north","stock":1.5,"valid_from":"soon","hold_for":3600}`,
			api.FieldErrors{
				"title": {"must be a string"}, "lat": {"must be a number"}, "stock": {"must be a whole number"},
				"valid_from": {"must be an RFC 3339 time such as 2026-01-31T09:00:00Z"},
				"hold_for":   {"must be a duration of whole seconds from 1s to 8760h, such as 48h"}}},
		{"values that break a rule", parsePerk,
			`{"id":"users","title":" ","description":"D","city":"C","lat":91,"lng":-181,"stock":-1,"approval":"maybe",
			"image_url":"ftp://x","valid_from":"2026-01-02T00:00:00Z","valid_to":"2026-01-01T00:00:00Z"}`,
			api.FieldErrors{
				"id": {`must not be "users", which is an address of the service`}, "title": {"must not be blank"},
				"lat": {"must be between -90 and 90"}, "lng": {"must be between -180 and 180"},
				"stock":    {"must not be negative"},
				"approval": {"must be auto or manual"}, "image_url": {"must be an absolute http or https URL"},
				"valid_to": {"must be after valid_from"}}},
		{"dates that are the same to the microsecond", parsePerk, `{"title":"T","description":"D","city":"C",
			"valid_from":"2026-01-01T00:00:00.0000001Z","valid_to":"2026-01-01T00:00:00.0000002Z"}`,
			api.FieldErrors{"valid_to": {"must be after valid_from"}}},
		{"a perk that may exist, with an empty required field", parsePerk, `{"id":"tea","title":null,"city":""}`,
			api.FieldErrors{"title": {"is required"}, "city": {"must not be blank"}}},
		{"a latitude alone of a perk that may exist", parsePerk, `{"id":"tea","lat":1}`,
			api.FieldErrors{"lng": {"is required with lat"}}},
		{"a property that may exist, with empty required fields", parseProperty,
			`{"propertyId":7,"title":null,"price_pw":null,"owner":null}`,
			api.FieldErrors{"title": {"is required"}, "price_pw": {"is required"}, "owner": {"is required"}}},
		{"a latitude alone", parsePerk, `{"title":"T","description":"D","city":"C","lat":1}`,
			api.FieldErrors{"lng": {"is required with lat"}}},
		{"a longitude alone", parsePerk, `{"title":"T","description":"D","city":"C","lng":1,"lat":null}`,
			api.FieldErrors{"lat": {"is required with lng"}}},
		{"an empty category", parseCategory, `{}`,
			api.FieldErrors{"id": {"is required"}, "category_name": {"is required"}}},
		{"a category's rules", parseCategory, `{"id":"a b","category_name":""}`, api.FieldErrors{
			"id": {"must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -"}, "category_name": {"must not be blank"}}},
		{"an empty user", parseUser, `{}`, api.FieldErrors{"id": {"is required"}}},
		{"a user's rules", parseUser, `{"id":"a b","name":"Al"}`, api.FieldErrors{
			"id":   {"must not contain blanks, slashes or control characters"},
			"name": {"is not a field of this record; the fields are id"}}},
		{"an empty property", parseProperty, `{}`, api.FieldErrors{
			"propertyId": {"is required"}, "title": {"is required"}, "price_pw": {"is required"},
			"owner": {"is required"}}},
		{"nulls where a property needs a value", parseProperty,
			`{"propertyId":null,"title":null,"price_pw":null,"owner":null}`, api.FieldErrors{
				"propertyId": {"is required"}, "title": {"is required"}, "price_pw": {"is required"},
				"owner": {"is required"}}},
		{"a property's rules", parseProperty,
			`{"propertyId":0,"title":"","price_pw":-1,"owner":"acme","bedrooms":-1,"lat":91,"rooms":2}`,
			api.FieldErrors{
				"propertyId": {"must be a whole number above 0"}, "title": {"must not be blank"},
				"price_pw": {"must not be negative"},
				"bedrooms": {"must not be negative"}, "lat": {"must be between -90 and 90"},
				"rooms": {"is not a field of a property; the fields are " +
					strings.Join(api.PropertyPatchFields(), ", ")}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.parse(object(t, test.json))
			var invalid *api.Error
			if !errors.As(err, &invalid) || invalid.Code != api.CodeValidationFailed {
				t.Fatalf("the error is %v, want one with %s", err, api.CodeValidationFailed)
			}
			if diff := cmp.Diff(test.want, invalid.Fields); diff != "" {
				t.Errorf("the problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFieldsAreTheMembersOfTheRecords(t *testing.T) {
	tests := []struct {
		record any
		want   []string
	}{
		{store.PerkRecord{}, store.PerkFields()},
		{api.Category{}, store.CategoryFields()},
		{store.User{}, store.UserFields()},
		{store.PropertyRecord{}, store.PropertyFields()},
	}
	for _, test := range tests {
		var got []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(test.record)) {
			name := f.Tag.Get("json")
			if !f.Anonymous && name != "-" && f.Type != reflect.TypeFor[store.Row]() {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%T is written with different fields than it is read with (-read +written):\n%s", test.record,
				diff)
		}
	}
}

// FuzzParse checks that each row of any imported file is refused or gives a valid record.
func FuzzParse(f *testing.F) {
	f.Add([]byte("id,title,description,city,lat,lng,stock,valid_from\ntea,Tea,Hot,Bath,1,2,3,2026-01-01T00:00:00Z\n"))
	f.Add([]byte(`[{"propertyId":1,"title":"Flat","price_pw":120.50,"images":"https://a.example, https://b.example",
		"owner":"acme"}]`))
	f.Add([]byte("{\"id\":\"food\",\"category_name\":\"Food\"}\n{\"id\":\"alice\"}\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, format := range []rows.Format{rows.CSV, rows.JSON, rows.JSONL} {
			for row, err := range rows.NewReader(bytes.NewReader(file), format).Rows() {
				if err != nil {
					continue
				}
				members := api.CellMembers(row.Header, row.Cells)
				if row.Object != nil {
					if members, err = api.ParseObject(row.Object); err != nil {
						continue
					}
				}
				if perk, err := store.ParsePerk(members); err == nil && perk.Row.Absent&store.PerkKind.Needs() == 0 &&
					perk.Validate() != nil {
					t.Errorf("an invalid perk was read: %v", perk.Validate())
				}
				if category, err := store.ParseCategory(members); err == nil && category.Validate() != nil {
					t.Errorf("an invalid category was read: %v", category.Validate())
				}
				if user, err := store.ParseUser(members); err == nil && api.UserIDRule(user.ID) != "" {
					t.Errorf("an invalid user was read: %q", user.ID)
				}
				if property, err := store.ParseProperty(members, "acme"); err == nil &&
					property.Row.Absent&store.PropertyKind.Needs() == 0 && property.Validate() != nil {
					t.Errorf("an invalid property was read: %v", property.Validate())
				}
			}
		}
	})
}
