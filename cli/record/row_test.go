package record

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

func TestParseUpdateRow(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want string // id, version and patch
	}{
		"one field": {"propertyId,title\n42,Loft\n", `42  {"title":"Loft"}`},
		"an alias":  {"title,property_id\nLoft,42\n", `42  {"title":"Loft"}`},
		"an empty cell changes nothing": {"id,title,description,images,lat,deposit\n42,Loft,,,,\n",
			`42  {"title":"Loft"}`},
		"null clears a position": {"id,lat,lng\n42,null,null\n", `42  {"lat":null,"lng":null}`},
		"null is a valid title":  {"id,title\n42,null\n", `42  {"title":"null"}`},
		"numbers": {"id,price_pw,bedrooms,bathrooms,lat,lng,deposit\n42,120.50,2,1,-53.5,1.25,99.9\n",
			`42  {"price_pw":"120.50","bedrooms":2,"bathrooms":1,"lat":-53.5,"lng":1.25,"deposit":99.9}`},
		"images with commas between": {"id,images\n42,\"https://a.example/1.jpg, https://a.example/2.jpg\"\n",
			`42  {"images":["https://a.example/1.jpg","https://a.example/2.jpg"]}`},
		"images as JSON": {"id,images\n42,\"[\"\"https://a.example/1,2.jpg\"\"]\"\n",
			`42  {"images":["https://a.example/1,2.jpg"]}`},
		"no images":           {"id,images\n42,[]\n", `42  {"images":[]}`},
		"a version":           {"id,title,if_match\n42,Loft,abc\n", `42 "abc" {"title":"Loft"}`},
		"a version in quotes": {"id,title,if_match\n42,Loft,\"\"\"abc\"\"\"\n", `42 "abc" {"title":"Loft"}`},
		"no version":          {"id,title\n42,Loft\n", `42  {"title":"Loft"}`},
		"an exported version": {"id,title,etag\n42,Loft,\"\"\"abc\"\"\"\n", `42 "abc" {"title":"Loft"}`},
		"two versions that agree": {"id,title,etag,if_match\n42,Loft,abc,\"\"\"abc\"\"\"\n",
			`42 "abc" {"title":"Loft"}`},
		"json": {`{"propertyId":42,"description":"","lat":null,"images":[],"price_pw":120.50}`,
			`42  {"description":"","images":[],"price_pw":"120.50","lat":null}`},
		"numbers as strings in json": {`{"propertyId":"42","bedrooms":"2"}`, `42  {"bedrooms":2}`},
		"a version in json":          {`{"id":42,"title":"Loft","if_match":"*"}`, `42 * {"title":"Loft"}`},
	} {
		e, err := listings.parseUpdateRow(listings.updateColumns(), firstRow(t, test.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, _ := json.Marshal(e.Patch)
		if got := e.Subject() + " " + e.ETag + " " + string(text); got != test.want || e.invalid != nil {
			t.Errorf("%s:\n got %s, %v\nwant %s", name, got, e.invalid, test.want)
		}
	}
}

func TestInvalidUpdateRows(t *testing.T) {
	const dots = "must not be . or .., which clients take out of an address"
	for name, test := range map[string]struct{ file, want string }{
		"no id":                                 {"id,title\n,Loft\n", "id is required"},
		"an id that no address can have":        {"property_id,title\n..,Loft\n", "property_id " + dots},
		"an id with a newline":                  {`{"id":"4\n2","city":"x"}`, "id must not contain control characters"},
		"an id that is neither text nor number": {`{"id":[42],"title":"Loft"}`, "id must be a text or a number"},
		"values": {"id,bedrooms,lat,price_pw\n.,-1,91,1e3\n", "bedrooms must not be negative; id " + dots +
			"; lat must be between -90 and 90; price_pw must be digits and a point, such as 120.50"},
		"null for a field that requires a value": {"id,bedrooms\n42,null\n", "bedrooms must be a whole number"},
		"null in json": {`{"id":42,"title":null,"deposit":null}`,
			"deposit must not be null; title must not be null"},
		"a version with a newline": {`{"id":42,"title":"Loft","if_match":"a\r\nb"}`,
			"if_match must be printable ASCII"},
		"a null version": {`{"id":42,"title":"Loft","if_match":null}`,
			"if_match must be a string"},
		"an empty version": {`{"id":42,"title":"Loft","if_match":""}`,
			"if_match must not be empty; leave it out to accept any version"},
		"an empty version cell": {"id,title,if_match\n42,Loft,\n",
			"if_match must not be empty; leave it out to accept any version"},
		"an empty exported version": {"id,title,etag\n42,Loft,\n",
			"etag must not be empty; leave it out to accept any version"},
		"one version of two is empty": {"id,title,if_match,etag\n42,Loft,,abc\n",
			"if_match must not be empty; leave it out to accept any version"},
		"two versions": {`{"id":42,"title":"Loft","if_match":"a","etag":"b"}`,
			"if_match differs from etag; leave one of them out"},
		"a field twice": {`{"id":42,"title":"A","title":"B"}`,
			"title is given more than once"},
		"invalid images": {"id,images\n42,a.jpg\n",
			"images number 1 must be an absolute http or https URL"},
		"an owner": {`{"id":42,"title":"A","owner":"me"}`,
			"owner is not a known field. The fields are propertyId, if_match, etag, title, description, address, " +
				"city, postcode, images, price_pw, bedrooms, bathrooms, lat, lng, deposit"},
	} {
		e, err := listings.parseUpdateRow(listings.updateColumns(), firstRow(t, test.file))
		if err == nil {
			err = e.checkInvalid(operation.PropertySaving{HasCurrent: true})
		}
		var invalid *api.Error
		if !errors.As(err, &invalid) || invalid.Fields.String() != test.want {
			t.Errorf("%s:\n got %+v, %v\nwant %s", name, e, err, test.want)
		}
	}
	for _, file := range []string{"id,title\n42,\n", "id,if_match\n42,abc\n", `{"id":42}`} {
		_, err := listings.parseUpdateRow(listings.updateColumns(), firstRow(t, file))
		if api.CodeOf(err) != api.CodeValidationFailed || !strings.HasPrefix(err.Error(),
			"Nothing to change: the row has none of title, ") {
			t.Errorf("%q changes nothing: %v", file, err)
		}
	}
}

func TestParseDeleteRow(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want string // id and version, or the error
	}{
		"only ids":  {"id\n42\n", "42 "},
		"a version": {"propertyId,if_match\n42,abc\n", `42 "abc"`},
		"an export": {"propertyId,title,description,address,city,postcode,images,price_pw,bedrooms,bathrooms,lat,lng," +
			"deposit\n42,Loft,,,,,,x,,,,,\n", "42 "},
		"an export by perksd": {`{"propertyId":42,"title":"Loft","lat":null,"owner":"client"}`, "42 "},
		"a misspelt version": {"id,if_mach\n42,abc\n",
			"if_mach is not a known column. Did you mean \"if_match\"? The columns are propertyId, if_match, etag"},
		"an empty version":    {"id,if_match\n42,\n", "if_match must not be empty; leave it out to accept any version"},
		"an exported version": {"id,title,etag\n42,Loft,abc\n", `42 "abc"`},
		"no id":               {"title\nLoft\n", "propertyId is missing; every row needs it"},
		"two ids": {"id,propertyId\n42,43\n",
			"propertyId means the same as id; only one of them can be there"},
		"another service's": {"id\n7f3c/1\n", "7f3c/1 "},
		"a null id":         {`{"id":null}`, "id must be a text or a number"},
	} {
		e, err := listings.parseDeleteRow(listings.deleteColumns(), firstRow(t, test.file))
		got := ""
		if err == nil {
			got = e.Subject() + " " + e.ETag
		}
		var usage *command.UsageError
		var invalid *api.Error
		switch {
		case errors.As(err, &usage):
			got = usage.Fields.String()
		case errors.As(err, &invalid):
			got = invalid.Fields.String()
		}
		if got != test.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", name, got, err, test.want)
		}
	}
}

// hasTarget tells whether a task has an id, and no ETag that a header cannot have.
func hasTarget(t *listingTask) bool {
	return api.AnyIDRule(string(t.ID)) == "" && (t.ETag == "" || command.EntityTagRule(t.ETag) == "")
}

func FuzzParseUpdateRow(f *testing.F) {
	f.Add("id,title,lat,images,if_match\n42,Loft,null,\"https://a.example/1.jpg,\",abc\n")
	f.Add(`{"propertyId":42,"price_pw":1.50,"lat":null,"images":["https://a.example"]}`)
	f.Add(`{"id":1e3,"deposit":-0,"bedrooms":2.0,"if_match":"*"}`)
	f.Fuzz(func(t *testing.T, file string) {
		for _, row := range readable(file) {
			e, err := listings.parseUpdateRow(listings.updateColumns(), row)
			if err != nil {
				continue
			}
			patch := e.Patch
			if !hasTarget(e) || patch.IsEmpty() && e.invalid == nil {
				t.Errorf("%+v", e)
			}
			body, err := json.Marshal(patch)
			if err != nil {
				t.Fatal(err)
			}
			members, err := api.ParseObject(body)
			if err != nil {
				t.Fatal(err)
			}
			again, err := api.ParsePropertyPatch(members)
			if err != nil {
				t.Errorf("the service refuses an accepted row, %s: %v", body, err)
			}
			var property api.Property
			again.Apply(&property)
			if !patch.IsAppliedTo(property) {
				t.Errorf("%+v is sent as %s, which is %+v", patch, body, property)
			}
		}
	})
}

func FuzzParseDeleteRow(f *testing.F) {
	f.Add("id,title,if_match\n42,Loft,abc\n")
	f.Add(`{"propertyId":42,"owner":"c","if_match":"W/\"x\""}`)
	f.Fuzz(func(t *testing.T, file string) {
		for _, row := range readable(file) {
			e, err := listings.parseDeleteRow(listings.deleteColumns(), row)
			if err == nil && !hasTarget(e) {
				t.Errorf("%+v", e)
			}
		}
	})
}

// readable returns the rows of a file before the first invalid one: JSON lines if it begins with a brace, otherwise
// CSV.
func readable(file string) []rows.Row {
	format := rows.CSV
	if strings.HasPrefix(file, "{") {
		format = rows.JSONL
	}
	var all []rows.Row
	for row, err := range rows.NewReader(strings.NewReader(file), format).Rows() {
		if err != nil {
			break
		}
		all = append(all, row)
	}
	return all
}

func firstRow(t *testing.T, file string) rows.Row {
	t.Helper()
	all := readable(file)
	if len(all) == 0 {
		t.Fatalf("no row in %q", file)
	}
	return all[0]
}
