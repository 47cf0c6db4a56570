package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// loft is a property with a value in every field.
const loft = `{"propertyId":1,"title":"Loft","description":"Bright","address":"1 Main St","city":"Berlin",` +
	`"postcode":"10115","images":["https://img.example/1.jpg","https://img.example/2.jpg"],` +
	`"price_pw":"120.50","bedrooms":2,"bathrooms":1,"lat":52.5,"lng":13.4,"deposit":500}`

// listed starts a server with the loft and returns a token of its owner.
func listed(t *testing.T) (*servertest.Server, string) {
	t.Helper()
	s := servertest.Start(t)
	id, token := s.Caller()
	list(t, s, id)
	return s, token
}

// list imports the loft in its initial state.
func list(t *testing.T, s *servertest.Server, owner string) {
	t.Helper()
	var property api.Property
	decode(t, []byte(loft), &property)
	s.ImportProperties(owner, property)
}

func readProperty(s *servertest.Server, token string) (string, string) {
	response, body := s.Get(token, s.URL+"/get-property/1")
	return strings.TrimSpace(string(body)), response.Header.Get("ETag")
}

func patchRequest(s *servertest.Server, token, mediaType, body string) *http.Request {
	request := s.Request(token, "PATCH", s.URL+"/update-property/1", body)
	request.Header.Set("Content-Type", mediaType)
	return request
}

func TestPatchChangesOnlyTheFieldsItNames(t *testing.T) {
	s := servertest.Start(t)
	owner, token := s.Caller()
	for _, r := range []struct{ name, json, form, from, to string }{
		{"city", `{"city":"Köln"}`, "city=K%C3%B6ln", `"city":"Berlin"`, `"city":"Köln"`},
		{
			"images", `{"images":["https://x.example/a","https://x.example/b,c"]}`,
			"images[]=https://x.example/a&images%5B%5D=https://x.example/b,c",
			`["https://img.example/1.jpg","https://img.example/2.jpg"]`,
			`["https://x.example/a","https://x.example/b,c"]`,
		},
		{
			"price with many digits", `{"price_pw":12345678901234567.10}`, "price_pw=12345678901234567.10",
			`"120.50"`, `"12345678901234567.10"`,
		},
		{"no position", `{"lat":null,"lng":null}`, "lat=&lng=null", `"lat":52.5,"lng":13.4`, `"lat":null,"lng":null`},
		{"only its own id", `{"propertyId":1.0}`, "propertyId=1", "", ""},
	} {
		for _, body := range []struct{ mediaType, text string }{{"application/json", r.json},
			{"application/x-www-form-urlencoded", r.form}} {
			t.Run(r.name+" "+body.mediaType, func(t *testing.T) {
				list(t, s, owner)
				response, raw := s.Send(patchRequest(s, token, body.mediaType, body.text))
				if response.StatusCode != http.StatusOK ||
					strings.TrimSpace(string(raw)) != `{"message":"Property successfully updated"}` {
					t.Fatalf("%d %s", response.StatusCode, raw)
				}
				got, _ := readProperty(s, token)
				if diff := cmp.Diff(strings.Replace(loft, r.from, r.to, 1), got); diff != "" {
					t.Errorf("want (-), got (+):\n%s", diff)
				}
			})
		}
	}
}

func TestRefusedPatchNamesEveryFieldAndChangesNothing(t *testing.T) {
	s, token := listed(t)
	for body, want := range map[string]string{
		`{"title":"","bedrooms":-1,"lat":91,"garden":1,"price_pw":"1e3"}`: "bedrooms garden lat price_pw title",
		`{"title":null,"images":null,"deposit":null}`:                     "deposit images title",
		`{"propertyId":2,"title":"a","title":"b"}`:                        "propertyId title",
	} {
		_, refusal := wantError(t, s, patchRequest(s, token, "application/json", body),
			http.StatusUnprocessableEntity, jsonType, api.CodeValidationFailed)
		if named := strings.Join(slices.Sorted(maps.Keys(refusal.Errors)), " "); named != want {
			t.Errorf("%s: the errors are of %s, want %s", body, named, want)
		}
		if got, _ := readProperty(s, token); got != loft {
			t.Errorf("a refused patch changed the property to %s", got)
		}
	}
}

func TestIfMatchPreventsLostEdits(t *testing.T) {
	s, token := listed(t)
	_, tag := readProperty(s, token)
	send := func(request *http.Request, ifMatch string, want int) {
		t.Helper()
		request.Header.Set("If-Match", ifMatch)
		if got := s.Do(request, nil); got != want {
			t.Errorf("%s with the tag %s: %d, want %d", request.Method, ifMatch, got, want)
		}
	}
	entitled := func(title string) *http.Request {
		return patchRequest(s, token, "application/json", `{"title":"`+title+`"}`)
	}
	removal := func() *http.Request { return s.Request(token, "DELETE", s.URL+"/delete-property/1", "") }
	send(entitled("First"), tag, http.StatusOK)
	send(entitled("Second"), tag, http.StatusPreconditionFailed)
	body, tag := readProperty(s, token)
	if !strings.Contains(body, `"title":"First"`) {
		t.Errorf("the first edit is lost: %s", body)
	}
	send(removal(), "W/"+tag+"x", http.StatusPreconditionFailed)
	send(removal(), `"other", W/`+tag, http.StatusOK) // as a compressing proxy changes it
}

func TestDeletedPropertyCanBeRestored(t *testing.T) {
	s, token := listed(t)
	response, raw := s.Send(s.Request(token, "DELETE", s.URL+"/delete-property/1", ""))
	if response.StatusCode != http.StatusOK ||
		strings.TrimSpace(string(raw)) != `{"message":"Property successfully deleted"}` {
		t.Fatalf("%d %s", response.StatusCode, raw)
	}
	for _, request := range []*http.Request{
		s.Request(token, "GET", s.URL+"/get-property/1", ""),
		s.Request(token, "PATCH", s.URL+"/update-property/1", "{}"),
		s.Request(token, "DELETE", s.URL+"/delete-property/1", ""),
	} {
		wantError(t, s, request, http.StatusNotFound, jsonType, api.CodeNotFound)
	}
	if _, err := s.Live.RestoreProperty(t.Context(), store.PropertyRestoration{
		ID: 1, By: store.Operator, At: day(1),
	}); err != nil {
		t.Fatal(err)
	}
	if got, _ := readProperty(s, token); got != loft {
		t.Errorf("restored as %s", got)
	}
}

// FuzzPropertyPatchOverHTTP sends whatever the fuzzer finds as both kinds of body: the answer is never a server error.
func FuzzPropertyPatchOverHTTP(f *testing.F) {
	s := servertest.Start(f)
	id, token := s.Caller()
	s.ImportProperties(id, api.Property{ID: 1})
	f.Add(`{"title":"a","lat":null}`)
	f.Add("title=a&lat=&images=https://x.example/a,b")
	f.Add(`{"price_pw":1e400,"deposit":1e999}`)
	f.Fuzz(func(t *testing.T, body string) {
		s := s.With(t)
		for _, mediaType := range []string{"application/json", "application/x-www-form-urlencoded"} {
			response, raw := s.Send(patchRequest(s, token, mediaType, body))
			if response.StatusCode >= 500 {
				t.Errorf("%s %q: %d %s", mediaType, body, response.StatusCode, raw)
			}
		}
	})
}

// FuzzPerkListOverHTTP sends whatever the fuzzer finds as a query.
func FuzzPerkListOverHTTP(f *testing.F) {
	s := servertest.Start(f)
	s.ImportUsers("alice")
	s.ImportPerks(manyPerks()...)
	token := s.Token()
	f.Add("title,-city", "coffee", "Berlin", "52.5", "13.4", "10", "2")
	f.Add("-distance", `"*" OR NEAR(a b)`, "%", "-90", "180", "500", "9223372036854775807")
	f.Fuzz(func(t *testing.T, sort, q, city, lat, lng, radius, page string) {
		s := s.With(t)
		values := url.Values{"sort": {sort}, "q": {q}, "city": {city}, "page": {page}}
		if lat != "" {
			values["lat"], values["lng"], values["radius"] = []string{lat}, []string{lng}, []string{radius}
		}
		for _, path := range []string{"/perks", "/perks/users/alice"} {
			response, raw := s.Get(token, s.LiveURL()+path+"?"+values.Encode())
			if response.StatusCode >= 500 {
				t.Errorf("%s: %d %s", values.Encode(), response.StatusCode, raw)
			}
		}
	})
}

func propertyIDs(page api.Page[api.Property]) []int64 {
	ids := []int64{}
	for _, p := range page.Data {
		ids = append(ids, p.ID)
	}
	return ids
}

func priced(t *testing.T, id int64, city, digits string, bedrooms int) api.Property {
	t.Helper()
	p := api.Property{ID: id, Title: fmt.Sprintf("Flat %d", id), City: city, Bedrooms: bedrooms}
	var err error
	if p.PricePW, err = api.ParsePrice(digits); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPropertiesAreListedByWhatTheCallerMayRead(t *testing.T) {
	s := servertest.Start(t)
	id, all := s.Caller()
	other, writing := s.Caller(api.ScopePropertiesWrite)
	creator, creating := s.Caller(api.ScopePropertiesCreate)
	s.ImportProperties(id, priced(t, 1, "Bath", "100", 1), priced(t, 2, "Köln", "99.50", 3))
	s.ImportProperties(other, priced(t, 3, "bath", "100.00", 2))
	s.ImportProperties(creator, priced(t, 4, "York", "1000", 0))
	for _, test := range []struct {
		what, token, query string
		want               []int64
	}{
		{"all, the newest first", all, "", []int64{4, 3, 2, 1}},
		{"own", all, "?own=true", []int64{2, 1}},
		{"who may only write", writing, "", []int64{3}},
		{"who may only create", creating, "?own=false", []int64{4}},
		{"words and prices", all, "?q=fla&min_price=99.50&max_price=100.000&sort=price_pw", []int64{2, 1, 3}},
	} {
		page, _ := servertest.Read[api.Page[api.Property]](s, test.token, s.LiveURL()+"/properties"+test.query)
		if diff := cmp.Diff(test.want, propertyIDs(page)); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", test.what, diff)
		}
	}
	response, body := s.Get(all, s.LiveURL()+"/properties?own=true&sort=propertyId&per_page=1")
	if next := links(response.Header)["next"]; !strings.Contains(next, "after=") ||
		response.Header.Get("X-Total-Count") != "2" || strings.Contains(string(body), id) {
		t.Errorf("the first page is %s, and the next %s", body, next)
	}
	if got := s.Status(all, "GET", s.SandboxURL()+"/properties", ""); got != http.StatusNotFound {
		t.Errorf("in the sandbox: %d", got)
	}
}

func TestManyPropertiesAreFollowedByTheirLinks(t *testing.T) {
	s := servertest.Start(t)
	id, token := s.Caller(api.ScopePropertiesRead)
	var many []api.Property
	for i := range store.MaxCounted + 30 {
		many = append(many, priced(t, int64(i+1), "Bath", fmt.Sprint(i%7), i%4))
	}
	s.ImportProperties(id, many...)
	for _, sort := range []string{"", "&sort=price_pw", "&sort=-bedrooms"} {
		seen := map[int64]bool{}
		for page, response := range walk[api.Property](s, token, s.LiveURL()+"/properties?per_page=50"+sort) {
			if page.Meta.MoreThan != store.MaxCounted || response.Header.Get("X-Total-Count") != "" {
				t.Fatalf("%s: it is counted: %+v", response.Request.URL, page.Meta)
			}
			for _, id := range propertyIDs(page) {
				seen[id] = true
			}
		}
		if len(seen) != len(many) {
			t.Errorf("by%s, the pages have %d of %d properties", sort, len(seen), len(many))
		}
	}
}

// landlord is a server with a client that creates listings.
func landlord(t *testing.T) (s *servertest.Server, clock *servertest.Clock, id, token string) {
	t.Helper()
	clock = clockAt(10)
	s = servertest.Start(t, servertest.WithClock(clock))
	id, token = s.Caller(api.ScopePropertiesRead, api.ScopePropertiesWrite, api.ScopePropertiesCreate)
	return s, clock, id, token
}

func create(s *servertest.Server, token, mediaType, body, key string) (*http.Response, string) {
	request := s.Request(token, "POST", s.LiveURL()+"/properties", body)
	request.Header.Set("Content-Type", mediaType)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, raw := s.Send(request)
	return response, strings.TrimSpace(string(raw))
}

func TestACreatedPropertyIsTheCallersAndIsReadAtItsLocation(t *testing.T) {
	s, _, id, token := landlord(t)
	whole := strings.Replace(loft, `"propertyId":1,`, "", 1)
	form := url.Values{"title": {"Loft"}, "description": {"Bright"}, "address": {"1 Main St"}, "city": {"Berlin"},
		"postcode": {"10115"}, "price_pw": {"120.50"}, "bedrooms": {"2"},
		"bathrooms": {"1"}, "lat": {"52.5"}, "lng": {"13.4"}, "deposit": {"500"}, "images[]": {
			"https://img.example/1.jpg", "https://img.example/2.jpg"}}.Encode()
	for i, test := range []struct{ mediaType, body, want string }{
		{"application/json", whole, loft},
		{"application/x-www-form-urlencoded", form, loft},
		{"application/json", `{"title":"Bare","price_pw":7}`,
			`{"propertyId":1,"title":"Bare","description":"","address":"","city":"","postcode":"","images":[],` +
				`"price_pw":"7","bedrooms":0,"bathrooms":0,"lat":null,"lng":null,"deposit":0}`},
	} {
		response, body := create(s, token, test.mediaType, test.body, "")
		want := strings.Replace(test.want, `"propertyId":1,`, fmt.Sprintf(`"propertyId":%d,`, i+1), 1)
		if response.StatusCode != http.StatusCreated || body != want {
			t.Fatalf("%d %s, want %s", response.StatusCode, body, want)
		}
		read, again := s.Send(s.Request(token, "GET", response.Header.Get("Location"), ""))
		if strings.TrimSpace(string(again)) != want || read.Header.Get("ETag") != response.Header.Get("ETag") ||
			!strings.HasPrefix(response.Header.Get("Location"), "http") {
			t.Errorf("at %s: %s with %s, want the ETag %s", response.Header.Get("Location"), again,
				read.Header.Get("ETag"), response.Header.Get("ETag"))
		}
		record, err := s.Live.Property(t.Context(), int64(i+1))
		if err != nil || record.Owner != id {
			t.Errorf("it belongs to %q, %v", record.Owner, err)
		}
	}
	for entry, err := range s.Live.Audit(t.Context(), store.AuditQuery{Action: store.ActionCreateProperty, Last: 1}) {
		if err != nil || entry.Actor != store.ClientActor(id, "") || entry.Subject != store.PropertySubject(3) {
			t.Errorf("the audit log has %+v, %v", entry, err)
		}
	}
}

func TestAnInvalidPropertyIsNotCreated(t *testing.T) {
	s, _, _, token := landlord(t)
	for body, want := range map[string]string{
		`{}`: "price_pw title",
		`{"title":"x","price_pw":1,"bedrooms":-1,"lat":91}`:        "bedrooms lat",
		`{"propertyId":7,"title":"x","price_pw":"1","owner":"me"}`: "owner propertyId",
	} {
		response, raw := create(s, token, "application/json", body, "key")
		var refusal api.ErrorBody
		decode(t, []byte(raw), &refusal)
		named := strings.Join(slices.Sorted(maps.Keys(refusal.Errors)), " ")
		if response.StatusCode != http.StatusUnprocessableEntity || named != want {
			t.Errorf("%s: %d %s, want errors of %s", body, response.StatusCode, raw, want)
		}
	}
	if response, body := create(s, token, "application/json", `{"title":"x","price_pw":"1"}`,
		"key"); response.StatusCode != http.StatusCreated {
		t.Errorf("a refused request used up its key: %d %s", response.StatusCode, body)
	}
}

func TestACreationIsReplayedUnderItsKey(t *testing.T) {
	s, clock, _, token := landlord(t)
	const flat = `{"title":"Flat","price_pw":"120.50"}`
	first, body := create(s, token, "application/json", flat, "k")
	if first.Header.Get("Idempotency-Key") != "k" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the first response has the headers %v", first.Header)
	}
	if response, changed := s.Send(s.Request(token, "PATCH", s.URL+"/update-property/1",
		`{"title":"Changed"}`)); response.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", response.StatusCode, changed)
	}
	for what, again := range map[string][2]string{
		"the same":         {"application/json", flat},
		"in another order": {"application/json", `{"price_pw":120.50, "images":[], "title":"Flat"}`},
		"as a form":        {"application/x-www-form-urlencoded", "title=Flat&price_pw=120.50"},
	} {
		response, replayed := create(s, token, again[0], again[1], "k")
		if response.StatusCode != http.StatusCreated || replayed != body ||
			response.Header.Get("Idempotent-Replayed") != "true" ||
			response.Header.Get("ETag") != first.Header.Get("ETag") ||
			response.Header.Get("Location") != first.Header.Get("Location") {
			t.Errorf("%s: %d %s %v", what, response.StatusCode, replayed, response.Header)
		}
	}
	if response, raw := create(s, token, "application/json", `{"title":"Flat","price_pw":"120.5"}`,
		"k"); response.StatusCode != http.StatusUnprocessableEntity ||
		!strings.Contains(raw, "idempotency_key_reused") {
		t.Errorf("another body: %d %s", response.StatusCode, raw)
	}
	clock.Advance(store.IdempotencyKeyLife + time.Second)
	token = s.Token(api.ScopePropertiesCreate)
	if response, raw := create(s, token, "application/json", flat, "k"); response.StatusCode != http.StatusCreated ||
		response.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("another client: %d %s", response.StatusCode, raw)
	}
}
