package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// loft is a property with a value in every field.
func loft() string {
	return `{"propertyId":1,"title":"Loft","description":"Bright","address":"1 Main St","city":"Berlin",` +
		`"postcode":"10115","images":["https://img.example/1.jpg","https://img.example/2.jpg"],` +
		`"price_pw":"120.50","bedrooms":2,"bathrooms":1,"lat":52.5,"lng":13.4,"deposit":500}`
}

// listed starts a server with the loft and returns a token of its owner.
func listed(t *testing.T) (*servertest.Server, string) {
	t.Helper()
	s := servertest.Start(t)
	id, secret := s.Client()
	list(t, s, id)
	return s, s.TokenFor(id, secret)
}

// list imports the loft in its initial state.
func list(t *testing.T, s *servertest.Server, owner string) {
	t.Helper()
	var property api.Property
	if err := json.Unmarshal([]byte(loft()), &property); err != nil {
		t.Fatal(err)
	}
	s.ImportProperties(owner, property)
}

func readProperty(s *servertest.Server, token string) (string, string) {
	response, body := s.Send(s.Request(token, "GET", s.URL+"/get-property/1", ""))
	return strings.TrimSpace(string(body)), response.Header.Get("ETag")
}

func patchRequest(s *servertest.Server, token, mediaType, body string) *http.Request {
	request := s.Request(token, "PATCH", s.URL+"/update-property/1", body)
	request.Header.Set("Content-Type", mediaType)
	return request
}

func TestPropertyIsReadByEveryClientWithTheScope(t *testing.T) {
	s, _ := listed(t)
	got, _ := readProperty(s, s.Token(api.ScopePropertiesRead))
	if diff := cmp.Diff(loft(), got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestPatchChangesOnlyTheFieldsItNames(t *testing.T) {
	rows := []struct{ name, json, form, from, to string }{
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
	}
	s := servertest.Start(t)
	owner, secret := s.Client()
	token := s.TokenFor(owner, secret)
	for _, r := range rows {
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
				if diff := cmp.Diff(strings.Replace(loft(), r.from, r.to, 1), got); diff != "" {
					t.Errorf("want (-), got (+):\n%s", diff)
				}
			})
		}
	}
}

func TestRefusedPatchNamesEveryFieldAndChangesNothing(t *testing.T) {
	s, token := listed(t)
	rows := []struct {
		body   string
		fields []string
	}{
		{`{"title":"","bedrooms":-1,"lat":91,"garden":1,"price_pw":"1e3"}`,
			[]string{"bedrooms", "garden", "lat", "price_pw", "title"}},
		{`{"title":null,"images":null,"deposit":null}`, []string{"deposit", "images", "title"}},
		{`{"propertyId":2,"title":"a","title":"b"}`, []string{"propertyId", "title"}},
	}
	for _, r := range rows {
		t.Run(r.body, func(t *testing.T) {
			_, body := wantError(t, s, patchRequest(s, token, "application/json", r.body),
				http.StatusUnprocessableEntity, jsonType, api.CodeValidationFailed)
			var named []string
			for _, field := range r.fields {
				if len(body.Errors[field]) > 0 {
					named = append(named, field)
				}
			}
			if diff := cmp.Diff(r.fields, named); diff != "" || len(body.Errors) != len(r.fields) {
				t.Errorf("want errors for %v, got %v", r.fields, body.Errors)
			}
			if got, _ := readProperty(s, token); got != loft() {
				t.Errorf("a refused patch changed the property to %s", got)
			}
		})
	}
}

func TestIfMatchPreventsLostEdits(t *testing.T) {
	s, token := listed(t)
	_, tag := readProperty(s, token)
	first := patchRequest(s, token, "application/json", `{"title":"First"}`)
	first.Header.Set("If-Match", tag)
	if got := s.Do(first, nil); got != http.StatusOK {
		t.Fatalf("with the current tag: %d", got)
	}
	second := patchRequest(s, token, "application/json", `{"title":"Second"}`)
	second.Header.Set("If-Match", tag)
	wantError(t, s, second, http.StatusPreconditionFailed, jsonType, api.CodePreconditionFailed)
	body, tag := readProperty(s, token)
	if !strings.Contains(body, `"title":"First"`) {
		t.Errorf("the first edit is lost: %s", body)
	}
	for _, other := range []string{`W/"other"`, `w/` + tag, "W/W/" + tag, strings.Trim(tag, `"`)} {
		weak := s.Request(token, "DELETE", s.URL+"/delete-property/1", "")
		weak.Header.Set("If-Match", other)
		wantError(t, s, weak, http.StatusPreconditionFailed, jsonType, api.CodePreconditionFailed)
	}
	weak := patchRequest(s, token, "application/json", `{"title":"Third"}`)
	weak.Header.Set("If-Match", "W/"+tag) // as a compressing proxy changes it
	if got := s.Do(weak, nil); got != http.StatusOK {
		t.Errorf("with the current tag, made weak: %d", got)
	}
	weak = patchRequest(s, token, "application/json", `{"title":"Fourth"}`)
	weak.Header.Set("If-Match", "W/"+tag)
	wantError(t, s, weak, http.StatusPreconditionFailed, jsonType, api.CodePreconditionFailed)
	_, tag = readProperty(s, token)
	strong := s.Request(token, "DELETE", s.URL+"/delete-property/1", "")
	strong.Header.Set("If-Match", `"other", `+tag)
	if got := s.Do(strong, nil); got != http.StatusOK {
		t.Errorf("delete with the current tag: %d", got)
	}
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
	if _, err := s.Live.RestoreProperty(t.Context(), 1, store.Operator, day(1)); err != nil {
		t.Fatal(err)
	}
	if got, _ := readProperty(s, token); got != loft() {
		t.Errorf("restored as %s", got)
	}
}

// FuzzPropertyPatchOverHTTP sends whatever the fuzzer finds as both kinds of body: the answer is never a server error.
func FuzzPropertyPatchOverHTTP(f *testing.F) {
	s := servertest.Start(f)
	id, secret := s.Client()
	s.ImportProperties(id, api.Property{ID: 1})
	token := s.TokenFor(id, secret)
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
			response, raw := s.Send(s.Request(token, "GET", s.LiveURL()+path+"?"+values.Encode(), ""))
			if response.StatusCode >= 500 {
				t.Errorf("%s: %d %s", values.Encode(), response.StatusCode, raw)
			}
		}
	})
}
