package server_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// endpoint is one protected operation, with a request that succeeds with the scope and fails without it.
type endpoint struct {
	name, method, path, body string
	scope, otherScope        api.Scope
	mediaType                string // of its errors
}

const (
	problemType = "application/problem+json"
	jsonType    = "application/json"
)

func endpoints() []endpoint {
	list := []endpoint{
		{"get property", "GET", "/get-property/1", "", api.ScopePropertiesRead, api.ScopePropertiesWrite, jsonType},
		{"update property", "PATCH", "/update-property/1", `{"title":"New"}`, api.ScopePropertiesWrite, api.ScopePropertiesRead, jsonType},
		{"delete property", "DELETE", "/delete-property/1", "", api.ScopePropertiesWrite, api.ScopePropertiesRead, jsonType},
	}
	for _, base := range []string{"/partners", "/sandbox/partners"} {
		list = append(list,
			endpoint{"list perks" + base, "GET", base + "/perks", "", api.ScopePerksRead, api.ScopePerksRedeem, problemType},
			endpoint{"get perk" + base, "GET", base + "/perks/tea", "", api.ScopePerksRead, api.ScopePerksRedeem, problemType},
			endpoint{"categories" + base, "GET", base + "/perks/categories", "", api.ScopePerksRead, api.ScopePerksRedeem, problemType},
			endpoint{"user perks" + base, "GET", base + "/perks/users/alice", "", api.ScopePerksRead, api.ScopePerksRedeem, problemType},
			endpoint{"redeem" + base, "POST", base + "/perks/tea/redeem", `{"user_id":"alice"}`, api.ScopePerksRedeem, api.ScopePerksRead, problemType},
		)
	}
	return list
}

func isInSandbox(e endpoint) bool { return strings.HasPrefix(e.path, "/sandbox/") }

// fixture is a server with a perk, a user and a property in every place.
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
	if body.Response == "" {
		t.Errorf("the body has no response: %s", raw)
	}
	if mediaType == problemType && (body.Type == "" || body.Title == "" || body.Status != status || body.Detail == "") {
		t.Errorf("the body is not a whole problem: %s", raw)
	}
	return response, body
}

func TestEveryEndpointRefusesWhoMayNotUseIt(t *testing.T) {
	s := fixture(t)
	owner, ownerSecret := s.Client()
	s.ImportProperties(owner, api.Property{ID: 1})
	good := s.TokenFor(owner, ownerSecret)

	tampered := func(change func(jwt.MapClaims)) string { return forge(t, s, good, change) }
	tokens := []struct {
		name, authorization string
		challenge           string
	}{
		{"no token", "", `Bearer realm="perks"`},
		{"another scheme", "Basic " + base64.StdEncoding.EncodeToString([]byte("a:b")), `Bearer realm="perks"`},
		{"empty token", "Bearer ", `Bearer realm="perks"`},
		{"nonsense", "Bearer nonsense", `Bearer realm="perks", error="invalid_token"`},
		{"changed signature", "Bearer " + good[:len(good)-4] + "AAAA", `Bearer realm="perks", error="invalid_token"`},
		{"alg none", "Bearer " + unsigned(t, good), `Bearer realm="perks", error="invalid_token"`},
		{"alg HS512", "Bearer " + resigned(t, s, good, jwt.SigningMethodHS512), `Bearer realm="perks", error="invalid_token"`},
		{"expired", "Bearer " + tampered(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Second).Unix() }), `Bearer realm="perks", error="invalid_token"`},
		{"without an end", "Bearer " + tampered(func(c jwt.MapClaims) { delete(c, "exp") }), `Bearer realm="perks", error="invalid_token"`},
		{"not valid yet", "Bearer " + tampered(func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(time.Hour).Unix() }), `Bearer realm="perks", error="invalid_token"`},
		{"another issuer", "Bearer " + tampered(func(c jwt.MapClaims) { c["iss"] = "someone" }), `Bearer realm="perks", error="invalid_token"`},
		{"another audience", "Bearer " + tampered(func(c jwt.MapClaims) { c["aud"] = "someone" }), `Bearer realm="perks", error="invalid_token"`},
		{"an unknown client", "Bearer " + tampered(func(c jwt.MapClaims) { c["sub"] = "someone" }), `Bearer realm="perks", error="invalid_token"`},
	}
	for _, e := range endpoints() {
		for _, token := range tokens {
			t.Run(e.name+"/"+token.name, func(t *testing.T) {
				request := s.Request("", e.method, s.URL+e.path, e.body)
				if token.authorization != "" {
					request.Header.Set("Authorization", token.authorization)
				}
				response, _ := wantError(t, s, request, http.StatusUnauthorized, e.mediaType, api.CodeInvalidToken)
				if got := response.Header.Get("WWW-Authenticate"); got != token.challenge {
					t.Errorf("challenge %q, want %q", got, token.challenge)
				}
			})
		}
		t.Run(e.name+"/wrong scope", func(t *testing.T) {
			request := s.Request(s.Token(e.otherScope), e.method, s.URL+e.path, e.body)
			wantError(t, s, request, http.StatusForbidden, e.mediaType, api.CodeInsufficientScope)
		})
		t.Run(e.name+"/sandbox only", func(t *testing.T) {
			token := s.TokenFor(s.ClientWith(func(c *store.Client) { c.SandboxOnly = true }))
			if isInSandbox(e) {
				if response, body := s.Send(s.Request(token, e.method, s.URL+e.path, e.body)); response.StatusCode >= 400 {
					t.Errorf("a sandbox client is refused in the sandbox: %d %s", response.StatusCode, body)
				}
				return
			}
			wantError(t, s, s.Request(token, e.method, s.URL+e.path, e.body), http.StatusForbidden, e.mediaType, api.CodeForbidden)
		})
	}
}

func TestEveryEndpointAnswersWhoMayUseIt(t *testing.T) {
	s := fixture(t)
	for _, e := range endpoints() {
		t.Run(e.name, func(t *testing.T) {
			id, secret := s.Client(e.scope) // this scope and no other
			s.ImportProperties(id, api.Property{ID: 1})
			response, body := s.With(t).Send(s.Request(s.TokenFor(id, secret), e.method, s.URL+e.path, e.body))
			if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
				t.Errorf("%d %s", response.StatusCode, body)
			}
		})
	}
}

// forge signs changed claims with the server's own key: a token that is wrong in nothing but the change.
func forge(t *testing.T, s *servertest.Server, token string, change func(jwt.MapClaims)) string {
	t.Helper()
	parsed, claims := parse(t, token)
	change(claims)
	return sign(t, s, jwt.SigningMethodHS256, parsed.Header["kid"], claims)
}

func resigned(t *testing.T, s *servertest.Server, token string, method jwt.SigningMethod) string {
	t.Helper()
	parsed, claims := parse(t, token)
	return sign(t, s, method, parsed.Header["kid"], claims)
}

func parse(t *testing.T, token string) (*jwt.Token, jwt.MapClaims) {
	t.Helper()
	claims := jwt.MapClaims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(token, claims)
	if err != nil {
		t.Fatal(err)
	}
	return parsed, claims
}

func sign(t *testing.T, s *servertest.Server, method jwt.SigningMethod, kid any, claims jwt.MapClaims) string {
	t.Helper()
	keys, err := s.Live.SigningKeys(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = kid
	signed, err := token.SignedString(keys[0].Secret)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// unsigned is the token with alg set to none and no signature.
func unsigned(t *testing.T, token string) string {
	t.Helper()
	parsed, claims := parse(t, token)
	none := jwt.NewWithClaims(jwt.SigningMethodNone, claims)
	none.Header["kid"] = parsed.Header["kid"]
	signed, err := none.SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestEveryEndpointRefusesBadInput(t *testing.T) {
	s := fixture(t)
	owner, ownerSecret := s.Client()
	s.ImportProperties(owner, api.Property{ID: 1})
	token, other := s.TokenFor(owner, ownerSecret), s.Token()
	long := strings.Repeat("x", 300)
	type row struct {
		name, method, path, body string
		header                   map[string]string
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
		{name: "more after a user's address", method: "GET", path: "/partners/perks/users/alice/perks", status: 404, mediaType: problemType, code: api.CodeNotFound},

		{name: "bad type of user list", method: "GET", path: "/partners/perks/users/alice?type=used", status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "type"},
		{name: "perk filter on redemptions", method: "GET", path: "/partners/perks/users/alice?type=redeemed&city=Berlin", status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "city"},
		{name: "perk order of redemptions", method: "GET", path: "/partners/perks/users/alice?type=redeemed&sort=title", status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "sort"},

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
		{name: "redeem with unknown field", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice","metdata":{}}`, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "metdata"},
		{name: "redeem with long key", method: "POST", path: "/partners/perks/tea/redeem", body: `{"user_id":"alice"}`, header: map[string]string{"Idempotency-Key": long}, status: 422, mediaType: problemType, code: api.CodeValidationFailed, field: "Idempotency-Key"},

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
		{name: "update with stale ETag", method: "PATCH", path: "/update-property/1", body: `{}`, header: map[string]string{"If-Match": `"stale"`}, status: 412, mediaType: jsonType, code: api.CodePreconditionFailed},
		{name: "update invalid with stale ETag", method: "PATCH", path: "/update-property/1", body: `{"title":""}`, header: map[string]string{"If-Match": `"stale"`}, status: 422, mediaType: jsonType, code: api.CodeValidationFailed, field: "title"},
		{name: "delete unknown property", method: "DELETE", path: "/delete-property/99", status: 404, mediaType: jsonType, code: api.CodeNotFound},
		{name: "delete with stale ETag", method: "DELETE", path: "/delete-property/1", header: map[string]string{"If-Match": `W/"stale"`}, status: 412, mediaType: jsonType, code: api.CodePreconditionFailed},

		{name: "token without credentials", method: "POST", path: "/auth/token", status: 401, mediaType: jsonType, code: api.CodeInvalidToken},
		{name: "token with bad JSON", method: "POST", path: "/auth/token", body: `{`, status: 400, mediaType: jsonType, code: api.CodeInvalidJSON},
		{name: "token with XML", method: "POST", path: "/auth/token", body: `<a/>`, header: map[string]string{"Content-Type": "text/xml"}, status: 415, mediaType: jsonType, code: api.CodeUnsupportedMediaType},
		{name: "token oversize", method: "POST", path: "/auth/token", body: strings.Repeat(" ", 1<<20) + `{}`, status: 413, mediaType: jsonType, code: api.CodeBodyTooLarge},
		{name: "token for another grant", method: "POST", path: "/auth/token", body: `{"grant_type":"password"}`, status: 400, mediaType: jsonType, code: api.CodeValidationFailed},
		{name: "token with unknown scope", method: "POST", path: "/auth/token", body: `{"scope":"everything"}`, status: 400, mediaType: jsonType, code: api.CodeValidationFailed, field: "scope"},
	}
	for _, bad := range []struct{ query, field string }{
		{"page=0", "page"}, {"page=-1", "page"}, {"page=one", "page"}, {"page=", "page"}, {"page=1&page=2", "page"}, {"page=99999999999999999999", "page"},
		{"per_page=0", "per_page"}, {"per_page=101", "per_page"}, {"per_page=1.5", "per_page"},
		{"sort=price", "sort"}, {"sort=title,title", "sort"}, {"sort=title,,city", "sort"}, {"sort=title,city,category,created_at,updated_at", "sort"}, {"sort=distance", "sort"},
		{"lat=52", "lng"}, {"lng=13", "lat"}, {"lat=91&lng=0", "lat"}, {"lat=0&lng=181", "lng"}, {"lat=NaN&lng=0", "lat"}, {"lat=x&lng=0", "lat"},
		{"radius=5", "radius"}, {"lat=0&lng=0&radius=0", "radius"}, {"lat=0&lng=0&radius=501", "radius"}, {"lat=0&lng=0&radius=Inf", "radius"},
		{"include_expired=perhaps", "include_expired"}, {"q=%ff", "q"}, {"city=%00", "city"}, {"category=" + long, "category"}, {"%zz", "query"},
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
			_, body := wantError(t, s, request, r.status, r.mediaType, r.code)
			if r.field != "" && len(body.Errors[r.field]) == 0 {
				t.Errorf("the errors do not name %q: %v", r.field, body.Errors)
			}
			if r.status != http.StatusUnprocessableEntity && r.field == "" && len(body.Errors) > 0 {
				t.Errorf("errors on a failure that is not of a value: %v", body.Errors)
			}
		})
	}
	for _, e := range endpoints()[1:3] {
		t.Run(e.name+"/other owner", func(t *testing.T) {
			wantError(t, s, s.Request(other, e.method, s.URL+e.path, e.body), http.StatusForbidden, jsonType, api.CodeForbidden)
		})
	}
}
