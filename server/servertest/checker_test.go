package servertest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/perks/server/servertest"
)

// failures replaces the test that a Checker would fail.
type failures struct {
	testing.TB
	messages []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
}

const (
	perk = `{"id":"a","title":"A","description":"A","category":null,"merchant_name":null,"image_url":null,
		"discount_text":null,"terms":null,"valid_from":null,"valid_to":null,"city":"A",
		"created_at":"2026-01-01T00:00:00.5Z","updated_at":"2026-01-01T00:00:00Z"}`
	redemption = `{"id":"r","perk_id":"a","user_id":"u","redeemed_at":"2026-01-01T00:00:00Z","status":"pending",
		"metadata":{"any":1}}`
	problem = `{"type":"urn:perks:problem:%[2]s","title":"T","status":%[1]d,"detail":"D",
		"response":"D","code":"%[2]s"}`
	problemMedia = "application/problem+json"
	formMedia    = "application/x-www-form-urlencoded"
	listing      = `{"propertyId":9007199254740993,"title":"A","description":"","address":"","city":"","postcode":"",
		"images":[],"price_pw":"120.50","bedrooms":2,"bathrooms":0,"lat":null,"lng":-1.5,"deposit":0}`
)

// answer is what a server says to every request.
type answer struct {
	status int
	header map[string]string // added to those of a good read
	body   string
}

func (a answer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	header := map[string]string{"Content-Type": "application/json", "X-Request-Id": "r1", "ETag": `"e"`,
		"Cache-Control": "private, no-cache"}
	if a.status >= 400 {
		header["Cache-Control"] = "no-store"
	}
	for name, value := range a.header {
		header[name] = value
	}
	for name, value := range header {
		if value == "" {
			w.Header()[name] = nil // keeps net/http from filling it in
			continue
		}
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// exchange sends one request through a Checker and returns the Checker's messages.
func exchange(t *testing.T, a answer, method, path, mediaType, body string) []string {
	t.Helper()
	server := httptest.NewServer(a)
	defer server.Close()
	request, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", mediaType)
	failed := &failures{TB: t}
	client := http.Client{Transport: servertest.NewChecker(failed, server.Client().Transport)}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if method != http.MethodHead && string(got) != a.body {
		t.Errorf("the caller reads %q, want %q", got, a.body)
	}
	return failed.messages
}

// TestCheckerAcceptsOnlyDescribedExchanges has exchanges as described, and others with what the message must mention.
func TestCheckerAcceptsOnlyDescribedExchanges(t *testing.T) {
	for _, c := range []struct {
		name, method, path, mediaType, body string
		answer                              answer
		want                                []string
	}{
		{"a perk", "GET", "/v2/partners/perks/a", "", "", answer{200, nil, perk}, nil},
		{"a perk of the sandbox", "GET", "/v2/sandbox/partners/perks/a", "", "", answer{200, nil, perk}, nil},
		{"a path parameter that needs escaping", "GET", "/v2/partners/perks/users/a%20%C3%A9?type=redeemed", "", "",
			answer{200, map[string]string{"X-Total-Count": "1"}, `{"data":[` + redemption +
				`],"meta":{"page":1,"per_page":25,"total":1,"total_pages":1}}`}, nil},
		{"a media type with a parameter", "GET", "/v2/partners/perks/a", "", "",
			answer{200, map[string]string{"Content-Type": "application/json; charset=UTF-8"}, perk}, nil},
		{"a big id", "GET", "/v2/get-property/9007199254740993", "", "", answer{200, nil, listing}, nil},
		{"not modified", "GET", "/v2/partners/perks/a", "", "", answer{304, nil, ""}, nil},
		{"HEAD", "HEAD", "/v2/partners/perks/a", "", "", answer{200, nil, ""}, nil},
		{"HEAD that fails", "HEAD", "/v2/partners/perks/a", "", "",
			answer{404, map[string]string{"Content-Type": problemMedia}, ""}, nil},
		{"problem details", "GET", "/v2/partners/perks/a", "", "",
			answer{404, map[string]string{"Content-Type": problemMedia}, fmt.Sprintf(problem, 404, "not_found")}, nil},
		{"a redemption", "POST", "/v2/partners/perks/a/redeem", "application/json",
			`{"user_id":"u","metadata":{"a":{"b":[]}}}`,
			answer{201, map[string]string{"Idempotent-Replayed": "true"}, redemption}, nil},
		{"a form", "PATCH", "/v2/update-property/1", formMedia,
			"title=A&images=https%3A%2F%2Fa%2F1%2Chttps%3A%2F%2Fa%2F2&price_pw=1.50&bedrooms=2&lat=&lng=null" +
				"&deposit=1.5",
			answer{200, nil, `{"message":"Property successfully updated"}`}, nil},
		{"JSON in a request", "PATCH", "/v2/update-property/1", "application/json",
			`{"images":["https://a/1"],"price_pw":1.50,"lat":null,"lng":1}`,
			answer{200, nil, `{"message":"Property successfully updated"}`}, nil},
		{"a token without a body", "POST", "/v2/auth/token", "application/json", "",
			answer{200, map[string]string{"Cache-Control": "no-store"},
				`{"access_token":"a","expires_at":"2026-01-01T00:00:00Z","token_type":"Bearer","expires_in":3600,` +
					`"scope":"perks:read"}`}, nil},
		{"a bad request that is refused", "PATCH", "/v2/update-property/1", "application/json", `{"bedrooms":-1}`,
			answer{422, nil, `{"response":"Some values are not ` +
				`valid.","code":"validation_failed","errors":{"bedrooms":["must not be negative"]}}`}, nil},
		{"an address at the root", "GET", "/livez", "", "", answer{200, map[string]string{"Cache-Control": "no-store"},
			`{"status":"ok"}`}, nil},
		{"the description as YAML", "GET", "/v2/openapi.yaml", "", "",
			answer{200, map[string]string{"Content-Type": "application/yaml"},
				"{openapi: 3.0.3, info: {}, paths: {}}"}, nil},
		{"the page for people", "GET", "/docs/", "", "", answer{200, map[string]string{"Content-Type": "text/html"},
			"<html>"}, nil},
		{"an unknown address that is refused", "GET", "/v2/nothing", "", "",
			answer{404, nil, `{"response":"Nothing.","code":"not_found"}`}, nil},
		{"an unknown method that is refused", "PUT", "/v2/health", "", "",
			answer{405, nil, `{"response":"No.","code":"method_not_allowed"}`}, nil},

		{"an unknown status", "GET", "/v2/partners/perks/a", "", "", answer{202, nil, perk},
			[]string{"GET /v2/partners/perks/a", "202", "status is not described"}},
		{"an extra field", "GET", "/v2/partners/perks/a", "", "",
			answer{200, nil, strings.Replace(perk, "{", `{"margin":1,`, 1)}, []string{"margin"}},
		{"a missing field", "GET", "/v2/partners/perks/a", "", "",
			answer{200, nil, strings.Replace(perk, `"city":"A",`, "", 1)}, []string{"city"}},
		{"a null that must not be", "GET", "/v2/partners/perks/a", "", "",
			answer{200, nil, strings.Replace(perk, `"city":"A"`, `"city":null`, 1)}, []string{"city"}},
		{"a price as a number", "GET", "/v2/get-property/1", "", "",
			answer{200, nil, strings.Replace(listing, `"120.50"`, `120.50`, 1)}, []string{"price_pw"}},
		{"a wrong media type", "GET", "/v2/partners/perks/a", "", "",
			answer{404, nil, `{"response":"No.","code":"not_found"}`}, []string{"application/json"}},
		{"no media type", "GET", "/v2/partners/perks/a", "", "",
			answer{200, map[string]string{"Content-Type": ""}, perk}, []string{"Content-Type"}},
		{"a missing header", "GET", "/v2/partners/perks/a", "", "", answer{200, map[string]string{"ETag": ""}, perk},
			[]string{"ETag"}},
		{"a bad header", "GET", "/v2/partners/perks/a", "", "", answer{200, map[string]string{"ETag": "e"}, perk},
			[]string{"ETag"}},
		{"not modified without an ETag", "GET", "/v2/partners/perks/a", "", "",
			answer{304, map[string]string{"ETag": ""}, ""}, []string{"ETag"}},
		{"HEAD without an ETag", "HEAD", "/v2/partners/perks/a", "", "", answer{200, map[string]string{"ETag": ""}, ""},
			[]string{"HEAD", "ETag"}},
		{"a code of another status", "GET", "/v2/partners/perks/a", "", "",
			answer{404, map[string]string{"Content-Type": problemMedia}, fmt.Sprintf(problem, 404, "sold_out")},
			[]string{"code"}},
		{"an extra member of an error", "GET", "/v2/get-property/1", "", "",
			answer{404, nil, `{"response":"No.","code":"not_found","stack":"main.go"}`}, []string{"stack"}},
		{"an extra member of a problem", "GET", "/v2/partners/perks/a", "", "",
			answer{404, map[string]string{"Content-Type": problemMedia},
				strings.Replace(fmt.Sprintf(problem, 404, "not_found"), "{", `{"stack":"main.go",`,
					1)}, []string{"stack"}},
		{"an extra member of invalid values", "PATCH", "/v2/update-property/1", "application/json", `{"bedrooms":-1}`,
			answer{422, nil, `{"response":"No.","code":"validation_failed","errors":{"bedrooms":["is ` +
				`wrong"]},"stack":"main.go"}`}, []string{"stack"}},
		{"an extra member of a token's error", "POST", "/v2/auth/token", "application/json", "{}",
			answer{400, map[string]string{"Cache-Control": "no-store"},
				`{"response":"No.","code":"invalid_json","error":"invalid_request","stack":"main.go"}`}, []string{
				"stack"}},
		{"an unauthorized answer without a challenge", "GET", "/v2/get-property/1", "", "",
			answer{401, nil, `{"response":"No.","code":"invalid_token"}`}, []string{"WWW-Authenticate"}},
		{"a bad request that is accepted", "PATCH", "/v2/update-property/1", "application/json", `{"bedrooms":-1}`,
			answer{200, nil, `{"message":"Property successfully updated"}`}, []string{"request", "bedrooms"}},
		{"a bad parameter that is accepted", "GET", "/v2/partners/perks?per_page=101", "", "",
			answer{200, map[string]string{"X-Total-Count": "0"},
				`{"data":[],"meta":{"page":1,"per_page":25,"total":0,"total_pages":0}}`}, []string{"request",
				"per_page"}},
		{"an address that is not described", "GET", "/v2/nothing", "", "", answer{200, nil, "{}"},
			[]string{"/v2/nothing", "not in the description"}},
		{"a method that is not described", "PUT", "/v2/health", "", "", answer{200, nil, "{}"},
			[]string{"PUT", "not described with this method"}},
		{"an address with the page's name as a prefix", "GET", "/docsen", "", "", answer{200, nil, "{}"},
			[]string{"/docsen", "not in the description"}},
		{"a refusal beside the page without a message", "GET", "/docs/none", "", "", answer{404, nil, "{}"},
			[]string{"response"}},
		{"a refusal without a message", "GET", "/v2/nothing", "", "", answer{404, nil, "{}"}, []string{"response"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			messages := exchange(t, c.answer, c.method, c.path, c.mediaType, c.body)
			if len(messages) != min(len(c.want), 1) {
				t.Fatalf("got %d messages: %q", len(messages), messages)
			}
			for _, want := range c.want {
				if !strings.Contains(messages[0], want) {
					t.Errorf("the message %q lacks %q", messages[0], want)
				}
			}
		})
	}
}

func TestAnInterruptedResponseIsReturnedUnchecked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id":`)
	}))
	defer server.Close()
	failed := &failures{TB: t}
	client := http.Client{Transport: servertest.NewChecker(failed, server.Client().Transport)}
	response, err := client.Get(server.URL + "/v2/partners/perks/a")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if string(got) != `{"id":` || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read %q and %v, want the partial body and an unexpected EOF", got, err)
	}
	if len(failed.messages) > 0 {
		t.Errorf("an incomplete response was checked: %q", failed.messages)
	}
}
