package server_test

import (
	"encoding/json"
	"fmt"
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

// fixture is a server on 10 January with the users alice and bob, and with perks that are redeemed at once, approved by
// hand, sold out, not begun and expired. The first one is in the sandbox too.
func fixture(t testing.TB, options ...func(*server.Config)) *servertest.Server {
	t.Helper()
	s := servertest.Start(t, append([]func(*server.Config){servertest.WithClock(clockAt(10))}, options...)...)
	s.ImportUsers("alice", "bob")
	tea := store.PerkRecord{Perk: api.Perk{ID: "tea", CreatedAt: day(1)}}
	s.ImportPerks(tea,
		store.PerkRecord{Perk: api.Perk{ID: "spa", CreatedAt: day(2)}, Approval: store.ApprovalManual},
		store.PerkRecord{Perk: api.Perk{ID: "out"}, Stock: new(int64(0))},
		store.PerkRecord{Perk: api.Perk{ID: "soon", ValidFrom: new(day(11))}},
		store.PerkRecord{Perk: api.Perk{ID: "late", ValidTo: new(day(10))}})
	s.ImportSandboxPerks(tea)
	return s
}

func wantError(
	t *testing.T, s *servertest.Server, request *http.Request, status int, mediaType string, code api.Code,
) (*http.Response, api.ErrorBody) {
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
	s := fixture(t, func(c *server.Config) { db = &countingStore{Store: c.Live}; c.Live = db })
	token := s.Token()
	for _, id := range []string{"a%00b", "%ff", "caf%C3%A9", "a.b", "a%20b", strings.Repeat("x", 65)} {
		wantError(t, s, s.Request(token, "GET", s.LiveURL()+"/perks/"+id, ""), 404, problemType, api.CodeNotFound)
		wantError(t, s, s.Request(token, "POST", s.LiveURL()+"/perks/"+id+"/redeem", `{"user_id":"alice"}`), 404,
			problemType, api.CodeNotFound)
	}
	if n := db.perks.Load(); n != 0 {
		t.Errorf("there were %d queries", n)
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
	owner, token := s.Caller()
	s.ImportProperties(owner, api.Property{ID: 1})
	const (
		redeem, update, issue = "POST /partners/perks/tea/redeem", "PATCH /update-property/1", "POST /auth/token"
		alice                 = `{"user_id":"alice"}`
		form                  = "Content-Type: application/x-www-form-urlencoded"
	)
	for _, r := range []struct {
		request, body, header string
		status                int
		code                  api.Code
		field                 string // that the errors must name
	}{
		{"GET /partners/coupons", "", "", 404, api.CodeNotFound, ""},
		{"GET /nothing", "", "", 404, api.CodeNotFound, ""},
		{"PUT /get-property/1", "", "", 405, api.CodeMethodNotAllowed, ""},
		{"PUT /partners/perks/tea", "", "", 405, api.CodeMethodNotAllowed, ""},
		{"PATCH /partners/perks/categories", "{}", "", 405, api.CodeMethodNotAllowed, ""},
		{"GET /get-property/1/redeem", "", "", 404, api.CodeNotFound, ""},
		{"PUT /get-property/1/redeem", "", "", 404, api.CodeNotFound, ""},
		{"POST /partners/perks//redeem", alice, "", 404, api.CodeNotFound, ""},
		{"GET /partners/perks/users/alice/perks", "", "", 404, api.CodeNotFound, ""},

		{redeem, `{"user_id":`, "", 400, api.CodeInvalidJSON, ""},
		{redeem, `user_id=alice`, "Content-Type: text/plain", 415, api.CodeUnsupportedMediaType, ""},
		{redeem, `{"user_id":"` + strings.Repeat("a", 1<<20) + `"}`, "", 413, api.CodeBodyTooLarge, ""},
		{redeem, `{}`, "", 422, api.CodeValidationFailed, "user_id"},
		{redeem, `{"user_id":"alice","metadata":[]}`, "", 422, api.CodeValidationFailed, "metadata"},
		{redeem, `{"user_id":"alice","metdata":{}}`, "", 422, api.CodeValidationFailed, "metdata"},
		{redeem, `{"user_id":"\ud800"}`, "", 400, api.CodeInvalidJSON, ""},
		{redeem, alice, "Idempotency-Key: " + strings.Repeat("x", 300), 422, api.CodeValidationFailed,
			"Idempotency-Key"},
		{redeem, alice, "Idempotency-Key: a\nIdempotency-Key: a", 400, api.CodeValidationFailed, "Idempotency-Key"},
		{redeem, alice, "Idempotency-Key: ", 400, api.CodeValidationFailed, "Idempotency-Key"},

		{"GET /get-property/99", "", "", 404, api.CodeNotFound, ""},
		{"GET /get-property/one", "", "", 404, api.CodeNotFound, ""},
		{"GET /get-property/99999999999999999999", "", "", 404, api.CodeNotFound, ""},
		{"PATCH /update-property/99", `{}`, "", 404, api.CodeNotFound, ""},
		{update, `{}{}`, "", 400, api.CodeInvalidJSON, ""},
		{update, `{"images":["https://img.example/\ud800"]}`, "", 400, api.CodeInvalidJSON, ""},
		{update, `<a/>`, "Content-Type: application/xml", 415, api.CodeUnsupportedMediaType, ""},
		{update, strings.Repeat(" ", 1<<20) + `{}`, "", 413, api.CodeBodyTooLarge, ""},
		{update, `bedrooms=many`, form, 422, api.CodeValidationFailed, "bedrooms"},
		{update, `title=%zz`, form, 400, api.CodeInvalidJSON, ""},
		{update, "", form, 400, api.CodeInvalidJSON, ""},
		{update, "", "", 400, api.CodeInvalidJSON, ""},
		{update, `{}`, `If-Match: "stale"`, 412, api.CodePreconditionFailed, ""},
		{update, `{"title":""}`, `If-Match: "stale"`, 422, api.CodeValidationFailed, "title"},
		{"DELETE /delete-property/99", "", "", 404, api.CodeNotFound, ""},
		{"DELETE /delete-property/1", "", `If-Match: W/"stale"`, 412, api.CodePreconditionFailed, ""},

		{issue, "", "", 401, api.CodeInvalidToken, ""},
		{issue, `{"audience":"\ud800"}`, "", 400, api.CodeInvalidJSON, ""},
		{issue, `<a/>`, "Content-Type: text/xml", 401, api.CodeInvalidToken, ""},
		{issue, `{}`, "Content-Encoding: gzip", 415, api.CodeUnsupportedMediaType, ""},
		{issue, strings.Repeat(" ", 1<<20) + `{}`, "", 413, api.CodeBodyTooLarge, ""},
		{issue, `{"scope":"everything"}`, "", 400, api.CodeValidationFailed, "scope"},
	} {
		t.Run(fmt.Sprintf("%s %.60s %.40s", r.request, r.body, r.header), func(t *testing.T) {
			method, path, _ := strings.Cut(r.request, " ")
			bearer, mediaType := token, jsonType
			if r.request == issue {
				bearer = ""
			}
			if strings.HasPrefix(path, "/partners/") {
				mediaType = problemType
			}
			request := s.Request(bearer, method, s.URL+path, r.body)
			for line := range strings.Lines(r.header) {
				name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
				if name == "Content-Type" {
					request.Header.Del(name)
				}
				request.Header.Add(name, value)
			}
			_, body := wantError(t, s, request, r.status, mediaType, r.code)
			if r.field != "" && len(body.Errors[r.field]) == 0 {
				t.Errorf("the errors do not name %q: %v", r.field, body.Errors)
			}
			if r.status != http.StatusUnprocessableEntity && r.field == "" && len(body.Errors) > 0 {
				t.Errorf("field errors on another failure: %v", body.Errors)
			}
		})
	}
}

// TestParametersAreChecked sends queries with one bad parameter, which the errors must name, perhaps with a reason. The
// rest is accepted.
func TestParametersAreChecked(t *testing.T) {
	s := fixture(t)
	token := s.Token()
	inOrderOf := func(field, id string) string {
		return (&store.Cursor{ID: id, Values: []any{"x"}}).Text([]api.SortKey{{Field: field}})
	}
	for path, queries := range map[string]map[string]string{
		"/perks": {
			"page=0": "page", "page=1&page=2": "page", "page=4611686018427387905": "page", "per_page=101": "per_page",
			"after=": "after", "after=WyJ0aXRsZSIsImJhbmFuYSIsInAxNiJd": "after",
			"sort=title&after=WyJ0aXRsZSIsbnVsbCwicDE2IiwxXQ": "after", "sort=title,title": "sort",
			"sort=distance": "sort", "lat=52": "lng", "lat=52&lng=13&longitude=14": "longitude",
			"lat=0&lng=0&radius=501": "radius", "include_expired=1": "include_expired", "q=***": "q",
			"city=%00": "city", "%zz": "query",
			"search=tea": "search: is not known: use q", "query=tea": "query: is not known: use q",
			"lat=52&lng=13&radius_km=5": "radius_km: is not known: use radius",
			"category_id=food":          "category_id: is not known: use category",
			"lat=52&lon=13":             "lon: is not known: use lng",
			"perPage=5":                 "perPage: is not known: use per_page",
			"pageSize=5":                "pageSize: is not known: use per_page",
			"latitude=52&longitude=13":  "", "search=&limit=": "", "utm_source=mail&Search=tea&q_=tea": "",
			"city=&q=&category=&sort=": "",
		},
		"/perks/users/alice": {
			"lat=52": "lng", "type=used": "type", "limit=5": "limit: is not known: use per_page",
			"type=redeemed&city=Berlin": "city", "type=redeemed&sort=distance": "sort",
			"type=redeemed&order_by=title": "order_by: is not known: use sort", "type=redeemed&search=tea&lon=1.5": "",
		},
		"/redemptions": {
			"page=9": "page: begins after the first 200 redemptions", "per_page=101": "per_page", "sort=status": "sort",
			"status=open": "status", "after=x": "after", "since=x": "since", "own=1": "own",
			"sort_by=redeemed_at": "sort_by: is not known: use sort", "search=tea&lon=13&category_id=food": "",
		},
		"/properties": {
			"min_price=2&max_price=1.99": "max_price", "min_bedrooms=1.5": "min_bedrooms",
			"sort=price_pw,bedrooms": "sort", "after=x": "after", "after=" + inOrderOf("price_pw", "1"): "after",
			"sort=price_pw&after=" + inOrderOf("price_pw", "abc"): "after",
			"sort=price_pw&after=" + inOrderOf("price_pw", "1"):   "", "page=0": "page",
			"per_page=50&page=5": "page: begins after the first 200 properties",
			"search=loft":        "search: is not known: use q",
		},
		"/users": {
			"page=9": "page", "after=x": "after", "prefix=%00": "prefix", "prefix=a&prefix=b": "prefix",
			"per_page=0": "per_page", "limit=5": "limit: is not known: use per_page",
		},
		"/events": {"limit=5": "limit: is not known: use per_page"},
		"/reports/redemptions": {
			"by=hour": "by", "by=day&by=day": "by", "since=x": "since", "since=2999-01-01": "since",
			"since=2026-01-01&until=2026-01-01":               "since",
			"since=2026-01-01&until=2026-04-03T00:00:00.001Z": "since", "since=0001-01-02": "since",
			"since=2020-01-01": "since: must be at most 92 days", "perk=tea": "perk", "user=u": "user",
			"status=pending": "status", "own=1": "own",
		},
		"/perks/tea/eligibility": {"": "user_id", "user_id=a%20b": "user_id", "user_id=a&user_id=b": "user_id"},
	} {
		for query, want := range queries {
			response, body := s.Get(token, s.LiveURL()+path+"?"+query)
			var refusal api.ErrorBody
			decode(t, body, &refusal)
			name, reason, _ := strings.Cut(want, ": ")
			status := http.StatusOK
			if want != "" {
				status = http.StatusUnprocessableEntity
			}
			if problems := strings.Join(refusal.Errors[name], " "); response.StatusCode != status ||
				(problems != "") != (want != "") || !strings.Contains(problems, reason) {
				t.Errorf("%s?%s: %d %s, want an error of %q", path, query, response.StatusCode, body, want)
			}
		}
	}
}
