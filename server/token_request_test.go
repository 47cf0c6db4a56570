package server_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
)

func TestTheSecretCanComeInAForm(t *testing.T) {
	var logged bytes.Buffer
	clock := clockAt(10)
	s := servertest.Start(t, servertest.LogTo(&logged), servertest.WithClock(clock))
	id, secret := s.Client(api.ScopePerksRead)
	other, _ := s.Client()
	post := func(authorization string, form url.Values) *http.Request {
		request := s.Request("", "POST", s.URL+"/auth/token", form.Encode())
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		return request
	}
	basic := tokenRequest(s, id, secret, "", "").Header.Get("Authorization")
	form := func(pairs ...string) url.Values {
		values := url.Values{"grant_type": {"client_credentials"}}
		for i := 0; i < len(pairs); i += 2 {
			values.Add(pairs[i], pairs[i+1])
		}
		return values
	}
	for _, r := range []struct {
		name          string
		authorization string
		form          url.Values
		status        int
		oauthError    string
	}{
		{"both in the form", "", form("client_id", id, "client_secret", secret), 200, ""},
		{"the id in both", basic, form("client_id", id), 200, ""},
		{"another id in the form", basic, form("client_id", other), 400, "invalid_request"},
		{"the secret in both", basic, form("client_id", id, "client_secret", secret), 400, "invalid_request"},
		{"an empty secret beside the header", basic, form("client_secret", ""), 400, "invalid_request"},
		{"a token in the header", "Bearer x", form("client_id", id, "client_secret", secret), 400, "invalid_request"},
		{"two secrets", "", form("client_id", id, "client_secret", secret, "client_secret", secret), 400,
			"invalid_request"},
		{"two ids", "", form("client_id", id, "client_id", id, "client_secret", secret), 400, "invalid_request"},
		{"two scopes", "", form("client_id", id, "client_secret", secret, "scope", "perks:read", "scope", "perks:read"),
			400, "invalid_request"},
		{"no id", "", form("client_secret", secret), 401, "invalid_client"},
		{"no secret", "", form("client_id", id), 401, "invalid_client"},
		{"a wrong secret", "", form("client_id", id, "client_secret", secret+"wrong"), 401, "invalid_client"},
		{"the secret encoded once more", "", form("client_id", id, "client_secret", url.QueryEscape(secret)), 401,
			"invalid_client"},
	} {
		var body struct {
			Token string `json:"access_token"`
			Error string `json:"error"`
		}
		if status := s.Do(post(r.authorization, r.form), &body); status != r.status || body.Error != r.oauthError ||
			(body.Token != "") != (status == 200) {
			t.Errorf("%s: %d %q", r.name, status, body.Error)
		}
	}
	inJSON := s.Request("", "POST", s.URL+"/auth/token", fmt.Sprintf(`{"client_id":%q,"client_secret":%q}`, id, secret))
	if status := s.Do(inJSON, nil); status != http.StatusUnauthorized {
		t.Errorf("the secret in JSON: %d", status)
	}
	for range 8 { // ten failed logins with the two above
		s.Do(post("", form("client_id", id, "client_secret", "wrong")), nil)
	}
	wantError(t, s, post("", form("client_id", id, "client_secret", secret)), http.StatusTooManyRequests, jsonType,
		api.CodeRateLimited)
	wantError(t, s, tokenRequest(s, id, secret, "", ""), http.StatusTooManyRequests, jsonType, api.CodeRateLimited)
	s.Stop()
	if text := logged.String(); strings.Contains(text, secret) || strings.Contains(text, url.QueryEscape(secret)) ||
		!strings.Contains(text, "client="+id) {
		t.Errorf("the log shows the secret, or not the client:\n%s", text)
	}
}

func TestAbsoluteAddressesBeginWithThePublicURL(t *testing.T) {
	public, err := server.ParsePublicURL("https://perks.example")
	if err != nil {
		t.Fatal(err)
	}
	s := fixture(t, func(c *server.Config) { c.BehindProxy, c.PublicURL = true, public })
	for _, address := range []string{
		s.Root() + "/.well-known/oauth-authorization-server/v2", s.LiveURL() + "/perks?per_page=1",
	} {
		request := s.Request(s.Token(), "GET", address, "")
		request.Header.Set("X-Forwarded-Host", "evil.example")
		response, body := s.Send(request)
		text := response.Header.Get("Link") + string(body)
		if strings.Contains(text, "evil") || !strings.Contains(text, "https://perks.example/v2/") {
			t.Errorf("%s: %s", address, text)
		}
	}
	for _, bad := range []string{
		"", "perks.example", "ftp://a.example", "https://a.example/", "https://u@a.example", "https://a b",
	} {
		if address, err := server.ParsePublicURL(bad); err == nil {
			t.Errorf("%q is read as %s", bad, address)
		}
	}
}

func TestAuthorizationServerMetadata(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.BehindProxy = true })
	for path, issuer := range map[string]string{"": "https://perks.example", "/v2": "https://perks.example/v2"} {
		request := s.Request("", "GET", s.Root()+"/.well-known/oauth-authorization-server"+path, "")
		request.Header.Set("X-Forwarded-Proto", "https")
		request.Header.Set("X-Forwarded-Host", "perks.example")
		response, body := s.Send(request)
		if caching := response.Header.Get("Cache-Control"); caching != "no-store" {
			t.Errorf("%s: Cache-Control is %q", path, caching)
		}
		want := `{"issuer":"` + issuer + `","token_endpoint":"https://perks.example/v2/auth/token",` +
			`"token_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post"],` +
			`"grant_types_supported":["client_credentials"],"response_types_supported":[],"scopes_supported":`
		if !strings.HasPrefix(string(body), want) || !strings.Contains(string(body), `"perks:read"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	conn, answer := begin(t, s, "GET /.well-known/oauth-authorization-server HTTP/1.0\r\n\r\n")
	defer conn.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("without a host: %s", answer.Status)
	}
}

// forgery is a token with exactly one fault. It is built byte by byte, because a library would refuse most of them.
type forgery struct {
	t              *testing.T
	header, claims map[string]any
}

func forgeryOf(t *testing.T, token string) forgery {
	t.Helper()
	parts := strings.Split(token, ".")
	f := forgery{t: t}
	for i, into := range []*map[string]any{&f.header, &f.claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// with returns the token with another claim; nil removes it.
func (f forgery) with(name string, value any) forgery {
	f.claims = put(f.claims, name, value)
	return f
}

func (f forgery) withHeader(name string, value any) forgery {
	f.header = put(f.header, name, value)
	return f
}

func put(members map[string]any, name string, value any) map[string]any {
	members = maps.Clone(members)
	if members[name] = value; value == nil {
		delete(members, name)
	}
	return members
}

func encoded(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

func (f forgery) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// text is the signed part.
func (f forgery) text() string {
	header, err := json.Marshal(f.header)
	f.must(err)
	claims, err := json.Marshal(f.claims)
	f.must(err)
	return encoded(header) + "." + encoded(claims)
}

func (f forgery) unsigned() string { return f.text() + "." }

// signed signs with HMAC and SHA-256, whatever the header says.
func (f forgery) signed(secret []byte) string {
	seal := hmac.New(sha256.New, secret)
	seal.Write([]byte(f.text()))
	return f.text() + "." + encoded(seal.Sum(nil))
}

// signedBy signs as the header then says.
func (f forgery) signedBy(method jwt.SigningMethod, key any) string {
	token := jwt.Token{Header: put(f.header, "alg", method.Alg()), Claims: jwt.MapClaims(f.claims), Method: method}
	signed, err := token.SignedString(key)
	f.must(err)
	return signed
}

func (f forgery) rsa() string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	f.must(err)
	return f.signedBy(jwt.SigningMethodRS256, key)
}

func (f forgery) ecdsa() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	f.must(err)
	return f.signedBy(jwt.SigningMethodES256, key)
}

func (f forgery) ed25519() string {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	f.must(err)
	return f.signedBy(jwt.SigningMethodEdDSA, key)
}
