package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

const (
	problemType = "application/problem+json"
	jsonType    = "application/json"
)

// fixture is a server with a perk, a user and a property.
func fixture(t *testing.T) *servertest.Server {
	s := servertest.Start(t)
	s.ImportUsers("alice", "bob")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}})
	s.ImportSandboxPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}})
	return s
}

func wantError(t *testing.T, s *servertest.Server, request *http.Request, status int, mediaType string, code api.Code) (*http.Response, api.ErrorBody) {
	t.Helper()
	response, raw := s.Send(request)
	if response.StatusCode != status {
		t.Errorf("status %d, want %d; body %s", response.StatusCode, status, raw)
	}
	if got := response.Header.Get("Content-Type"); got != mediaType {
		t.Errorf("media type %q, want %q", got, mediaType)
	}
	var body api.ErrorBody
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatalf("the body is not an error body: %v: %s", err, raw)
	}
	if body.Code != code {
		t.Errorf("code %q, want %q", body.Code, code)
	}
	if caching := response.Header.Get("Cache-Control"); caching != "no-store" {
		t.Errorf("Cache-Control is %q", caching)
	}
	if body.Response == "" {
		t.Errorf("the body has no response: %s", raw)
	}
	if mediaType == problemType && (body.Type == "" || body.Title == "" || body.Status != status || body.Detail == "") {
		t.Errorf("the body is not a complete problem: %s", raw)
	}
	return response, body
}

func TestInvalidPerkIDsAreNotLookedUp(t *testing.T) {
	var db *countingStore
	s := servertest.Start(t, func(c *server.Config) { db = &countingStore{Store: c.Live}; c.Live = db })
	s.ImportUsers("alice")
	token := s.Token()
	for _, id := range []string{"a%00b", "%ff", "caf%C3%A9", "a.b", "a%20b", strings.Repeat("x", 65)} {
		wantError(t, s, s.Request(token, "GET", s.LiveURL()+"/perks/"+id, ""), 404, problemType, api.CodeNotFound)
		wantError(t, s, s.Request(token, "POST", s.LiveURL()+"/perks/"+id+"/redeem", `{"user_id":"alice"}`), 404, problemType, api.CodeNotFound)
	}
	if n := db.perks.Load(); n != 0 {
		t.Errorf("there were %d queries", n)
	}
}

func TestANumberOutOfRangeNamesItsBound(t *testing.T) {
	s := fixture(t)
	for query, want := range map[string]string{
		"page=99999999999999999999":     "must be at most 4611686018427387904",
		"page=-99999999999999999999":    "must be at least 1",
		"per_page=99999999999999999999": "must be at most 100",
		"per_page=1e2":                  "must be a whole number",
		"lat=1&latitude=2&lng=3":        "is not the same as lat",
		"latitude=52":                   "is required with latitude",
		"lat=52":                        "is required with lat",
		"latitude=1&longitude=181":      "must be between -180 and 180",
	} {
		_, body := wantError(t, s, s.Request(s.Token(), "GET", s.LiveURL()+"/perks?"+query, ""), http.StatusUnprocessableEntity, problemType, api.CodeValidationFailed)
		if len(body.Errors) != 1 || !strings.HasSuffix(body.Errors.String(), " "+want) {
			t.Errorf("%s got %v, want that it %s", query, body.Errors, want)
		}
	}
}

func TestNotFoundSaysWhatIsMissing(t *testing.T) {
	s := fixture(t)
	token := s.Token()
	const id = "0198B2F0-0000-7000-8000-00000000000A" // is looked for in more than one spelling
	for _, r := range []struct{ method, path, body, param string }{
		{"GET", "/perks/none", "", "perk_id"},
		{"GET", "/perks/a%00b", "", "perk_id"},
		{"GET", "/perks/users/none", "", "user_id"},
		{"GET", "/perks/users/a%2Fb", "", "user_id"},
		{"GET", "/perks/users/" + id, "", "user_id"},
		{"GET", "/perks/users/none?type=redeemed", "", "user_id"},
		{"GET", "/perks/none/eligibility?user_id=none", "", "perk_id"},
		{"POST", "/perks/none/redeem", `{"user_id":"none"}`, "perk_id"},
		{"POST", "/perks/" + id + "/redeem", `{"user_id":"none"}`, "perk_id"},
		{"POST", "/perks/tea/redeem", `{"user_id":"none"}`, "user_id"},
		{"POST", "/perks/tea/redeem", `{"user_id":"` + id + `"}`, "user_id"},
		{"GET", "/redemptions/none", "", ""},
	} {
		request := s.Request(token, r.method, s.LiveURL()+r.path, r.body)
		_, body := wantError(t, s, request, http.StatusNotFound, problemType, api.CodeNotFound)
		if body.Param != r.param {
			t.Errorf("%s %s names %q, want %q", r.method, r.path, body.Param, r.param)
		}
	}
}

func TestEveryEndpointRefusesBadInput(t *testing.T) {
	s := fixture(t)
	owner, ownerSecret := s.Client()
	s.ImportProperties(owner, api.Property{ID: 1})
	token := s.TokenFor(owner, ownerSecret)
	long := strings.Repeat("x", 300)
	type row struct {
		name, method, path, body string
		header                   map[string]string
		headers                  http.Header
		status                   int
		mediaType                string
		code                     api.Code
		field                    string // that the errors must name
	}
	rows := []row{
		{name: "unknown perk", method: "GET", path: "/partners/perks/none", status: 404, mediaType: problemType, code: api.CodeNotFound},
		{name: "impossible perk id", method: "GET", path: "/partners/perks/a%00b", status: 404, mediaType: problemType, code: api.CodeNotFound},
		{name: "unknown user", method: "GET", path: "/partners/perks/users/none", status: 404, mediaType: problemType, code: api.CodeNotFound},
		{name: "impossible user id", method: "GET", path: "/partners/perks/users/a%2Fb", status: 404, mediaType: problemType, code: api.CodeNotFound},
		{name: "unknown address below the perks", method: "GET", path: "/partners/coupons", status: 404, mediaType: problemType, code: api.CodeNotFound},
		{name: "unknown address", method: "GET", path: "/nothing", status: 404, mediaType: jsonType, code: api.CodeNotFound},
		{name: "wrong method", method: "PUT", path: "/get-property/1", status: 405, mediaType: jsonType, code: api.CodeMethodNotAllowed},
		{name: "wrong method at perks", method: "PUT", path: "/partners/perks/tea", status: 405, mediaType: problemType, code: api.CodeMethodNotAllowed},
		{name: "more after a property's address", method: "GET", path: "/get-property/1/redeem", status: 404, mediaType: jsonType, code: api.CodeNotFound},
		{name: "wrong method and more after a property's address", method: "PUT", path: "/get-property/1/redeem", status: 404, mediaType: jsonType, code: api.CodeNotFound},
		{name: "no perk in a perk's address", method: "POST", path: "/partners/perks//redeem", body: `{"user_id":"alice"}`, status: 404, mediaType: problemType, code: api.CodeNotFound},
		{name: "more after a user's address", method: "GET", path: "/partners/perks/users/alice/perks", status: 404, mediaType: problemType, code: api.CodeNotFound},

		{name: "bad type of user list", method: "GET", path: "/partners/perks/users/alice?type=used", status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "type"},
		{name: "perk filter on redemptions", method: "GET", path: "/partners/perks/users/alice?type=redeemed&city=Berlin", status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "city"},
		{name: "position by its long name on redemptions", method: "GET", path: "/partners/perks/users/alice?type=redeemed&latitude=52&longitude=13", status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "longitude"},
		{name: "distance of redemptions", method: "GET",
			path:   "/partners/perks/users/alice?type=redeemed&sort=distance",
			status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "sort"},

		{name: "redeem unknown perk", method: "POST", path: "/partners/perks/none/redeem", body: `{"user_id":"alice"}`, status: 404, mediaType: problemType, code: api.CodeNotFound},
		{name: "redeem for unknown user", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"none"}`, status: 404, mediaType: problemType, code: api.CodeNotFound},
		{name: "redeem bad JSON", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":`, status: 400, mediaType: problemType, code: api.CodeInvalidJSON},
		{name: "redeem an array", method: "POST", path: "/partners/perks/tea/redeem", body: `[]`, status: 400, mediaType: problemType, code: api.CodeInvalidJSON},
		{name: "redeem text", method: "POST", path: "/partners/perks/tea/redeem", body: `user_id=alice`, header: map[string]string{"Content-Type": "text/plain"}, status: 415, mediaType: problemType, code: api.CodeUnsupportedMediaType},
		{name: "redeem oversize", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"` + strings.Repeat("a", 1<<20) + `"}`, status: 413, mediaType: problemType, code: api.CodeBodyTooLarge},
		{name: "redeem without user", method: "POST", path: "/partners/perks/tea/redeem", body: `{}`, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "user_id"},
		{name: "redeem for a number", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":7}`, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "user_id"},
		{name: "redeem with a list as metadata", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice","metadata":[]}`, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "metadata"},
		{name: "redeem with huge metadata", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice","metadata":{"a":"` + strings.Repeat("a", api.MaxMetadata) + `"}}`, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "metadata"},
		{name: "redeem with 33 levels of metadata", method: "POST", path: "/partners/perks/tea/redeem",
			body:   `{"user_id":"alice","metadata":{"a":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}}`,
			status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "metadata"},
		{name: "redeem with 7,000 levels of metadata", method: "POST", path: "/partners/perks/tea/redeem",
			body:   `{"user_id":"alice","metadata":{"a":` + strings.Repeat("[", 7_000) + strings.Repeat("]", 7_000) + `}}`,
			status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "metadata"},
		{name: "redeem with a huge exponent in metadata", method: "POST", path: "/partners/perks/tea/redeem",
			body:   `{"user_id":"alice","metadata":{"a":` + `1e400` + `}}`,
			status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "metadata"},
		{name: "redeem with 10,000 digits in metadata", method: "POST", path: "/partners/perks/tea/redeem",
			body:   `{"user_id":"alice","metadata":{"a":` + strings.Repeat("9", 10_000) + `}}`,
			status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "metadata"},
		{name: "redeem with unknown field", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice","metdata":{}}`, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "metdata"},
		{name: "redeem with long key", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice"}`, header: map[string]string{"Idempotency-Key": long}, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "Idempotency-Key"},
		{name: "redeem with two keys", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice"}`, headers: http.Header{"Idempotency-Key": {"a", "a"}}, status: 400, mediaType: problemType, code: api.CodeValidationFailed, field: "Idempotency-Key"},
		{name: "redeem with an empty key", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice"}`, header: map[string]string{"Idempotency-Key": ""}, status: 400, mediaType: problemType, code: api.CodeValidationFailed, field: "Idempotency-Key"},
		{name: "redeem with a blank key", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice"}`, header: map[string]string{"Idempotency-Key": "  "}, status: 400, mediaType: problemType, code: api.CodeValidationFailed, field: "Idempotency-Key"},
		{name: "redeem with a member twice", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice","metadata":{"a":[{"b":1,"b":1}]}}`, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "metadata"},
		{name: "redeem with half a pair in metadata", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice","metadata":{"a":"\ud800"}}`, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "metadata"},
		{name: "redeem for half a pair", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"\ud800"}`, status: 400, mediaType: problemType, code: api.CodeInvalidJSON},
		{name: "update with half a pair", method: "PATCH", path: "/update-property/1", body: `{"title":"A \udc00"}`, status: 400, mediaType: jsonType, code: api.CodeInvalidJSON},
		{name: "update with half a pair in an image", method: "PATCH", path: "/update-property/1", body: `{"images":["https://img.example/\ud800"]}`, status: 400, mediaType: jsonType, code: api.CodeInvalidJSON},
		{name: "update with a field twice", method: "PATCH", path: "/update-property/1", body: `{"title":"A","title":"A"}`, status: 422, mediaType: jsonType, code: api.CodeValidationFailed, field: "title"},
		{name: "token with half a pair", method: "POST", path: "/auth/token", body: `{"audience":"\ud800"}`, status: 400, mediaType: jsonType, code: api.CodeInvalidJSON},

		{name: "unknown property", method: "GET", path: "/get-property/99", status: 404, mediaType: jsonType, code: api.CodeNotFound},
		{name: "property id that is no number", method: "GET", path: "/get-property/one", status: 404, mediaType: jsonType, code: api.CodeNotFound},
		{name: "property id beyond all numbers", method: "GET", path: "/get-property/99999999999999999999", status: 404, mediaType: jsonType, code: api.CodeNotFound},
		{name: "update unknown property", method: "PATCH", path: "/update-property/99", body: `{}`, status: 404, mediaType: jsonType, code: api.CodeNotFound},
		{name: "update bad JSON", method: "PATCH", path: "/update-property/1", body: `{"title"`, status: 400, mediaType: jsonType, code: api.CodeInvalidJSON},
		{name: "update with two documents", method: "PATCH", path: "/update-property/1", body: `{}{}`, status: 400, mediaType: jsonType, code: api.CodeInvalidJSON},
		{name: "update XML", method: "PATCH", path: "/update-property/1", body: `<a/>`, header: map[string]string{"Content-Type": "application/xml"}, status: 415, mediaType: jsonType, code: api.CodeUnsupportedMediaType},
		{name: "update oversize", method: "PATCH", path: "/update-property/1", body: strings.Repeat(" ", 1<<20) + `{}`, status: 413, mediaType: jsonType, code: api.CodeBodyTooLarge},
		{name: "update unknown field", method: "PATCH", path: "/update-property/1", body: `{"garden":true}`, status: 422, mediaType: jsonType, code: api.CodeValidationFailed, field: "garden"},
		{name: "update bad form", method: "PATCH", path: "/update-property/1", body: `bedrooms=many`, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, status: 422, mediaType: jsonType, code: api.CodeValidationFailed, field: "bedrooms"},
		{name: "update with an empty form", method: "PATCH", path: "/update-property/1", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, status: 400, mediaType: jsonType, code: api.CodeInvalidJSON},
		{name: "update without a body", method: "PATCH", path: "/update-property/1", status: 400, mediaType: jsonType, code: api.CodeInvalidJSON},
		{name: "update broken form", method: "PATCH", path: "/update-property/1", body: `title=%zz`, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, status: 400, mediaType: jsonType, code: api.CodeInvalidJSON},
		{name: "update with rooms that round to none", method: "PATCH", path: "/update-property/1",
			body: `{"bedrooms":1e-400}`, status: 422, mediaType: jsonType, code: api.CodeValidationFailed, field: "bedrooms"},
		{name: "update with a deposit that rounds to none", method: "PATCH", path: "/update-property/1",
			body: `{"deposit":-1e-400}`, status: 422, mediaType: jsonType, code: api.CodeValidationFailed, field: "deposit"},
		{name: "update with stale ETag", method: "PATCH", path: "/update-property/1", body: `{}`, header: map[string]string{"If-Match": `"stale"`}, status: 412, mediaType: jsonType, code: api.CodePreconditionFailed},
		{name: "update invalid with stale ETag", method: "PATCH", path: "/update-property/1", body: `{"title":""}`, header: map[string]string{"If-Match": `"stale"`}, status: 422, mediaType: jsonType, code: api.CodeValidationFailed, field: "title"},
		{name: "delete unknown property", method: "DELETE", path: "/delete-property/99", status: 404, mediaType: jsonType, code: api.CodeNotFound},
		{name: "delete with stale ETag", method: "DELETE", path: "/delete-property/1", header: map[string]string{"If-Match": `W/"stale"`}, status: 412, mediaType: jsonType, code: api.CodePreconditionFailed},

		{name: "token without credentials", method: "POST", path: "/auth/token", status: 401, mediaType: jsonType, code: api.CodeInvalidToken},
		{name: "token with bad JSON", method: "POST", path: "/auth/token", body: `{`, status: 400, mediaType: jsonType, code: api.CodeInvalidJSON},
		{name: "token with XML", method: "POST", path: "/auth/token", body: `<a/>`, header: map[string]string{"Content-Type": "text/xml"}, status: 401, mediaType: jsonType, code: api.CodeInvalidToken},
		{name: "token with a packed body", method: "POST", path: "/auth/token", body: `{}`, header: map[string]string{"Content-Encoding": "gzip"}, status: 415, mediaType: jsonType, code: api.CodeUnsupportedMediaType},
		{name: "token oversize", method: "POST", path: "/auth/token", body: strings.Repeat(" ", 1<<20) + `{}`, status: 413, mediaType: jsonType, code: api.CodeBodyTooLarge},
		{name: "token for another grant", method: "POST", path: "/auth/token", body: `{"grant_type":"password"}`, status: 400, mediaType: jsonType, code: api.CodeValidationFailed},
		{name: "token with unknown scope", method: "POST", path: "/auth/token", body: `{"scope":"everything"}`, status: 400, mediaType: jsonType, code: api.CodeValidationFailed, field: "scope"},
	}
	for _, bad := range []struct{ query, field string }{
		{"page=0", "page"}, {"page=-1", "page"}, {"page=one", "page"}, {"page=", "page"}, {"page=1&page=2", "page"}, {"page=99999999999999999999", "page"}, {"page=4611686018427387905", "page"},
		{"after=", "after"}, {"after=x", "after"}, {"after=WyJ0aXRsZSIsImJhbmFuYSIsInAxNiJd", "after"}, {"sort=title&after=WyJ0aXRsZSIsbnVsbCwicDE2IiwxXQ", "after"},
		{"per_page=0", "per_page"}, {"per_page=101", "per_page"}, {"per_page=1.5", "per_page"},
		{"sort=price", "sort"}, {"sort=title,title", "sort"}, {"sort=title,,city", "sort"}, {"sort=title,city,category,created_at,updated_at", "sort"}, {"sort=distance", "sort"}, {"sort=created_at,metadata", "sort"},
		{"lat=52", "lng"}, {"lng=13", "lat"}, {"lat=91&lng=0", "lat"}, {"lat=0&lng=181", "lng"}, {"lat=NaN&lng=0", "lat"}, {"lat=x&lng=0", "lat"},
		{"latitude=52", "longitude"}, {"longitude=13", "latitude"}, {"latitude=91&lng=0", "latitude"}, {"lat=0&longitude=181", "longitude"},
		{"lat=52&latitude=53&lng=13", "latitude"}, {"lat=52&lng=13&longitude=14", "longitude"}, {"latitude=52&latitude=52&lng=13", "latitude"},
		{"radius=5", "radius"}, {"lat=0&lng=0&radius=0", "radius"}, {"lat=0&lng=0&radius=501", "radius"}, {"lat=0&lng=0&radius=Inf", "radius"},
		{"include_expired=perhaps", "include_expired"}, {"include_expired=1", "include_expired"}, {"include_expired=True", "include_expired"}, {"include_expired=", "include_expired"},
		{"q=***", "q"}, {"q=%ff", "q"}, {"city=%00", "city"}, {"category=" + long, "category"}, {"%zz", "query"},
	} {
		for _, path := range []string{"/partners/perks", "/partners/perks/users/alice"} {
			rows = append(rows, row{name: path + "?" + bad.query, method: "GET", path: path + "?" + bad.query, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: bad.field})
		}
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			bearer := token
			if strings.HasPrefix(r.path, "/auth/") {
				bearer = ""
			}
			request := s.Request(bearer, r.method, s.URL+r.path, r.body)
			for name, value := range r.header {
				request.Header.Set(name, value)
			}
			maps.Copy(request.Header, r.headers)
			_, body := wantError(t, s, request, r.status, r.mediaType, r.code)
			if r.field != "" && len(body.Errors[r.field]) == 0 {
				t.Errorf("the errors do not name %q: %v", r.field, body.Errors)
			}
			if r.status != http.StatusUnprocessableEntity && r.field == "" && len(body.Errors) > 0 {
				t.Errorf("field errors on another failure: %v", body.Errors)
			}
		})
	}
}
