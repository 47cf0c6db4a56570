package server_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

func tokenRequest(s *servertest.Server, id, secret, mediaType, body string) *http.Request {
	request := s.Request("", "POST", s.URL+"/auth/token", body)
	request.SetBasicAuth(id, secret)
	if mediaType != "" {
		request.Header.Set("Content-Type", mediaType)
	}
	return request
}

// TestTokenResponse sends bodies with parameters, without any, and others, which are ignored.
func TestTokenResponse(t *testing.T) {
	s := fixture(t)
	id, secret := s.Client(api.ScopePerksRead, api.ScopePerksRedeem)
	const form = "application/x-www-form-urlencoded"
	wants := func(response *http.Response, raw []byte, body string) {
		t.Helper()
		var token api.Token
		decode(t, raw, &token)
		want := api.Token{AccessToken: token.AccessToken, ExpiresAt: day(10).Add(time.Hour),
			TokenType: "Bearer", ExpiresIn: 3600, Scope: "perks:read perks:redeem"}
		if strings.Contains(body, "client_credentials") {
			want.ExpiresAt = time.Time{}
		}
		if response.StatusCode != http.StatusOK || token.AccessToken == "" || token != want ||
			bytes.Contains(raw, []byte("expires_at")) == want.ExpiresAt.IsZero() ||
			response.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%q: %d %s with %v, want %+v", body, response.StatusCode, raw, response.Header, want)
		}
	}
	for _, b := range [][2]string{
		{"", ""}, {jsonType, ""}, {jsonType, "{}"}, {jsonType, `{"grant_type":null}`},
		{jsonType + "; charset=utf-8",
			`{"grant_type":"client_credentials","scope":"perks:redeem perks:read","audience":"ignored"}`},
		{form, "grant_type=client_credentials&scope=perks%3Aread+perks%3Aredeem"},
		{"text/plain;charset=UTF-8", `{"scope":"perks:read perks:redeem"}`}, // as fetch sends a string
		{jsonType, "null"}, {jsonType, "[]"}, {jsonType, `""`}, {jsonType, `[{"scope":"none"}]`}, {"", "null"},
		{"text/plain", "garbage"}, {"text/plain", "{"}, {"text/xml", "<a/>"}, {"application/octet-stream", "\x00\xff"},
		{form, ""}, {form, "null"}, {"multipart/form-data; boundary=x", "--x--"},
	} {
		response, raw := s.Send(tokenRequest(s, id, secret, b[0], b[1]))
		wants(response, raw, b[1])
	}
	for _, b := range [][2]string{ // which the description cannot express
		{jsonType, " \n"}, {jsonType, "\ufeff"}, {jsonType, "\ufeff{}"}, {"no media type", "x"},
	} {
		response, raw := raw(t, tokenRequest(s, id, secret, b[0], b[1]))
		wants(response, raw, b[1])
	}
}

func TestTokenErrorsFollowRFC6749(t *testing.T) {
	s := servertest.Start(t)
	id, secret := s.Client(api.ScopePerksRead)
	for _, r := range []struct {
		name, id, secret, body string
		status                 int
		oauthError             string
	}{
		{"wrong secret", id, "wrong", "", 401, "invalid_client"},
		{"unknown client", "nobody", secret, "", 401, "invalid_client"},
		{"an unknown grant type", id, secret, `{"grant_type":"password"}`, 400, "unsupported_grant_type"},
		{"an unknown scope", id, secret, `{"scope":"all"}`, 400, "invalid_scope"},
		{"a scope that the client lacks", id, secret, `{"scope":"perks:read perks:redeem"}`, 400, "invalid_scope"},
		{"invalid JSON", id, secret, `{`, 400, "invalid_request"},
		{"scope is a list", id, secret, `{"scope":["perks:read"]}`, 400, "invalid_request"},
		{"two scopes", id, secret, `{"scope":"perks:read","scope":null}`, 400, "invalid_request"},
		{"two scopes, the first of them null", id, secret, `{"scope":null,"scope":"perks:read"}`, 400,
			"invalid_request"},
	} {
		t.Run(r.name, func(t *testing.T) {
			var body api.ErrorBody
			response, raw := s.Send(tokenRequest(s, r.id, r.secret, "application/json", r.body))
			decode(t, raw, &body)
			if response.StatusCode != r.status || body.OAuthError != r.oauthError {
				t.Errorf("got %d %q, want %d %q", response.StatusCode, body.OAuthError, r.status, r.oauthError)
			}
			challenge := response.Header.Get("WWW-Authenticate")
			if (r.status == 401) != strings.HasPrefix(challenge, "Basic ") {
				t.Errorf("status %d with challenge %q", r.status, challenge)
			}
		})
	}
}

func TestStandardOAuth2ClientObtainsAndUsesAToken(t *testing.T) {
	s := fixture(t)
	const secret = "s+e%c:r=t"
	id, _ := s.ClientWith(func(c *store.Client) { c.Secret = server.HashSecret(secret) })
	for _, style := range []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams,
		oauth2.AuthStyleAutoDetect} {
		config := clientcredentials.Config{
			ClientID: id, ClientSecret: secret, TokenURL: s.URL + "/auth/token",
			Scopes: []string{"perks:read"}, AuthStyle: style,
		}
		response, err := config.Client(context.Background()).Get(s.LiveURL() + "/perks/tea")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("status %d", response.StatusCode)
		}
	}
}

func TestHourlyTokensAreTheSameOnEveryReplica(t *testing.T) {
	start, clock := day(10), clockAt(10)
	hourly := func(c *server.Config) { c.Hourly = true }
	one := servertest.Start(t, servertest.WithClock(clock), hourly)
	two := servertest.Start(t, servertest.WithClock(clock), hourly, func(c *server.Config) { c.Live = one.Live })
	id, secret := one.Client()

	clock.Advance(time.Minute)
	first := one.TokenFor(id, secret)
	clock.Advance(58*time.Minute + 59*time.Second) // 00:59:59
	if second := two.TokenFor(id, secret); second != first {
		t.Errorf("the second replica issued another token in the same hour:\n%s\n%s", first, second)
	}
	claims := forgeryOf(t, first).claims
	if got := int64(claims["iat"].(float64)); got != start.Unix() {
		t.Errorf("iat is %d, want the start of the hour %d", got, start.Unix())
	}
	if got := int64(claims["exp"].(float64)); got != start.Add(2*time.Hour).Unix() {
		t.Errorf("exp is %d, less than an hour after the end of the issuing hour", got)
	}
	var narrowed api.Token
	one.Do(tokenRequest(one, id, secret, "application/json", `{"scope":"perks:read"}`), &narrowed)
	if narrowed.AccessToken == first || narrowed.Scope != "perks:read" {
		t.Errorf("a narrower token is %+v", narrowed)
	}
	clock.Advance(time.Second) // 01:00:00
	if next := one.TokenFor(id, secret); next == first {
		t.Error("the next hour has the same token")
	}
	if got := two.Do(two.Request(first, "GET", two.LiveURL()+"/perks", ""), nil); got != http.StatusOK {
		t.Errorf("the last hour's token on the other replica: %d", got)
	}
}

// Just after a rotation one replica knows the new key and another does not, because it read the keys just before.
func TestReplicasSwitchToARotatedKeyTogether(t *testing.T) {
	for _, hourly := range []bool{false, true} {
		db, client := storeWithClient(t)
		clock := servertest.NewClock(day(10).Add(-6 * time.Second))
		one, two := replica(t, db, clock, 0, time.Hour, hourly), replica(t, db, clock, 0, time.Hour, hourly)
		issue(t, one, client) // reads the keys, and reads them again before the other does
		clock.Advance(4 * time.Second)
		issue(t, two, client)
		kids := func() (kids [2]any) {
			for i, a := range []*server.Authority{one, two} {
				token := issue(t, a, client).AccessToken
				kids[i] = forgeryOf(t, token).header["kid"]
				for _, verifier := range []*server.Authority{one, two} {
					if _, err := verifier.Verify(t.Context(), token); err != nil {
						t.Errorf("hourly %t, %s: a fresh token: %v", hourly, clock.Now().Format(time.TimeOnly), err)
					}
				}
			}
			return kids
		}
		key := server.NewSigningKey(clock.Now())
		if err := db.RotateSigningKey(t.Context(), key, clock.Now().Add(server.KeyOverlap),
			store.Operator); err != nil {
			t.Fatal(err)
		}
		for range 80 {
			clock.Advance(time.Second)
			if got := kids(); got[0] != got[1] {
				t.Errorf("hourly %t, %s: the replicas sign with %v", hourly, clock.Now().Format(time.TimeOnly), got)
			}
		}
		clock.Advance(time.Hour)
		if got := kids(); got != [2]any{key.ID, key.ID} {
			t.Errorf("hourly %t: an hour later the replicas sign with %v, not with %s", hourly, got, key.ID)
		}
	}
}

func TestDisabledClientIsRefusedWithinFiveSeconds(t *testing.T) {
	clock := clockAt(10)
	s := servertest.Start(t, servertest.WithClock(clock))
	id, secret := s.Client()
	token := s.TokenFor(id, secret)
	list := func() int { return s.Status(token, "GET", s.LiveURL()+"/perks", "") }
	if got := list(); got != http.StatusOK {
		t.Fatalf("before: %d", got)
	}
	disable := func(isDisabled bool) {
		if err := s.Live.SetClientDisabled(t.Context(), id, isDisabled, store.Operator, clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	disable(true)
	if status := s.Do(tokenRequest(s, id, secret, "", ""), nil); status != http.StatusUnauthorized {
		t.Errorf("a new token for a disabled client: %d", status)
	}
	clock.Advance(5 * time.Second)
	if got := list(); got != http.StatusUnauthorized {
		t.Errorf("5 s after: %d", got)
	}
	disable(false)
	clock.Advance(5 * time.Second)
	if got := list(); got != http.StatusOK {
		t.Errorf("enabled again: %d", got)
	}
}

func TestRateLimitIsPerClient(t *testing.T) {
	clock := clockAt(10)
	s := servertest.Start(t, servertest.WithClock(clock), func(c *server.Config) { c.RateLimit = 2 })
	busy, calm := s.Token(), s.Token()
	list := func(token string) *http.Request { return s.Request(token, "GET", s.LiveURL()+"/perks", "") }
	for range 2 {
		if got := s.Do(list(busy), nil); got != http.StatusOK {
			t.Fatalf("within the limit: %d", got)
		}
	}
	response, _ := wantError(t, s, list(busy), http.StatusTooManyRequests, problemType, api.CodeRateLimited)
	if got := response.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After %q", got)
	}
	if got := s.Do(list(calm), nil); got != http.StatusOK {
		t.Errorf("the other client: %d", got)
	}
	clock.Advance(time.Second)
	if got := s.Do(list(busy), nil); got != http.StatusOK {
		t.Errorf("after the wait: %d", got)
	}
}
