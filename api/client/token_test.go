package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

const oddSecret = "a+b%c:d/e=f g"

func TestTokenSendsEncodedCredentials(t *testing.T) {
	server := &recorder{body: `{"access_token":"jwt","expires_at":"2030-01-02T03:04:05Z","token_type":"Bearer",` +
		`"expires_in":3600,"scope":"perks:read"}`}
	c := serve(t, server)
	token, err := c.Token(context.Background(), client.Credentials{ID: "id:1", Secret: oddSecret})
	want := api.Token{AccessToken: "jwt", ExpiresAt: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), TokenType: "Bearer",
		ExpiresIn: 3600, Scope: "perks:read"}
	if err != nil || token != want {
		t.Errorf("got %+v, %v", token, err)
	}
	got := server.only(t)
	request := http.Request{Header: got.Header}
	id, secret, _ := request.BasicAuth()
	if id != "id%3A1" || secret != "a%2Bb%25c%3Ad%2Fe%3Df+g" {
		t.Errorf("Basic holds %q and %q", id, secret)
	}
	if got.Method != "POST" || got.URI != "/auth/token" || got.Header.Get("Content-Type") != "application/json" ||
		got.Body != "{}" {
		t.Errorf("sent %+v", got)
	}
}

func TestTokenFromServerThatDoesNotDecode(t *testing.T) {
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, secret, _ := r.BasicAuth(); secret != oddSecret {
			reply(w, 400, map[string]string{"response": "Bad credentials"})
			return
		}
		reply(w, 200, map[string]any{"access_token": "jwt"})
	}))
	if token, err := c.Token(context.Background(), client.Credentials{ID: "i", Secret: oddSecret}); err != nil ||
		token.AccessToken != "jwt" {
		t.Errorf("got %+v, %v", token, err)
	}
}

func TestRefusedTokenIsRequestedOnceIfEncodingIsSame(t *testing.T) {
	server := &recorder{status: 401, body: `{"response":"Bad credentials","error":"invalid_client"}`}
	c := serve(t, server)
	_, err := c.Token(context.Background(), client.Credentials{ID: "i", Secret: "plain"})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != 401 || refused.Message != "Bad credentials" {
		t.Errorf("got %v", err)
	}
	server.only(t)
}

func TestTokenExpiry(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	soon := func(d time.Duration) func(time.Time) bool {
		return func(got time.Time) bool { return time.Until(got) > d-time.Minute && time.Until(got) <= d }
	}
	same := func(got time.Time) bool { return got.Equal(at) }
	for name, test := range map[string]struct {
		body string
		want func(time.Time) bool
	}{
		"text":            {`"expires_at":"2030-01-02T03:04:05Z"`, same},
		"another zone":    {`"expires_at":"2030-01-02T04:04:05+01:00","expires_in":5`, same},
		"seconds":         {fmt.Sprintf(`"expires_at":%d`, at.Unix()), same},
		"only expires_in": {`"expires_in":600`, soon(10 * time.Minute)},
		"unreadable":      {`"expires_at":"tomorrow"`, soon(time.Hour)},
		"nothing":         {`"scope":""`, soon(time.Hour)},

		"a lifetime as a text":       {`"expires_in":"600","expires_at":null`, soon(10 * time.Minute)},
		"a lifetime with a fraction": {`"expires_in":600.0,"expires_at":{"s":1}`, soon(10 * time.Minute)},
		"no lifetime":                {`"expires_in":null,"token_type":null,"scope":["a"],"user":{}`, soon(time.Hour)},
		"an unreadable lifetime":     {`"expires_in":"an hour","token_type":"BEARER"`, soon(time.Hour)},
		"an endless lifetime":        {`"expires_in":1e300`, soon(100 * 365 * 24 * time.Hour)},
		"seconds as a text":          {fmt.Sprintf(`"expires_at":"%d"`, at.Unix()), same},
		"milliseconds":               {fmt.Sprintf(`"expires_at":%d`, at.UnixMilli()), soon(time.Hour)},
		"the zero time":              {`"expires_at":"0001-01-01T00:00:00Z"`, soon(time.Hour)},
	} {
		c := serve(t, &recorder{body: `{"access_token":"jwt",` + test.body + `}`})
		token, err := c.Token(context.Background(), client.Credentials{ID: "i", Secret: "s"})
		if err != nil || !test.want(token.ExpiresAt) {
			t.Errorf("%s: expires at %v, %v", name, token.ExpiresAt, err)
		}
	}
}

func TestTokenResponseWithoutTokenIsAnError(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                                "no access_token came, but an empty object",
		`null`:                              "no access_token came, but null",
		``:                                  "it is an empty body",
		`"jwt"`:                             "it is a text",
		`{"token":"jwt","expiresIn":3600}`:  `no access_token came, but an object with "expiresIn", "token"`,
		`{"access_token":""}`:               "its access_token is an empty text",
		`{"access_token":null}`:             "its access_token is null",
		`{"access_token":{"value":"jwt"}}`:  `its access_token is an object with "value"`,
		`{"access_token":"two\nlines"}`:     "its access_token has characters that cannot be sent",
		"<html><title>Hello</title></html>": `the web page "Hello"`,
	} {
		c := serve(t, &recorder{body: body})
		_, err := c.Token(context.Background(), client.Credentials{ID: "i", Secret: "s"})
		if err == nil || client.OutcomeUnknown(err) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "jwt") {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
}

// The specification gives no status for wrong credentials.
func TestRefusedCredentials(t *testing.T) {
	const no = `{"response":"No"}`
	for _, test := range []struct {
		status int
		body   string
		want   bool
	}{
		{400, no, true}, {401, no, true}, {403, no, true}, {404, no, true}, {422, no, true},
		{400, `{"error":"invalid_client"}`, true},
		{422, `{"response":"No","errors":{"client_secret":["is wrong"]}}`, true},
		{401, "<html>", true}, // the status means this

		{405, no, false}, {409, no, false}, {429, no, false}, {500, no, false}, {503, no, false},
		{400, `{"error":"unsupported_grant_type"}`, false},
		{404, `{"response":"No such endpoint","code":"not_found"}`, false}, // of perksd: the address is wrong
		{404, "", false}, {404, "<html>", false}, {400, "no", false},
	} {
		c := serve(t, &recorder{status: test.status, body: test.body})
		_, err := c.Token(context.Background(), client.Credentials{ID: "i", Secret: "s"})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Status != test.status || refused.LoginNeeded() != test.want {
			t.Errorf("%d %s: %v, want a refusal of the credentials: %t", test.status, test.body, err, test.want)
		}
	}
	// Only the address of tokens refuses credentials.
	_, err := serve(t, &recorder{status: 400, body: no}).Perk(t.Context(), "p")
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.LoginNeeded() {
		t.Errorf("of a perk: %v", err)
	}
}

// renewingTokens returns "old", and "new" after a refusal.
type renewingTokens struct {
	mu       sync.Mutex
	replaced int
	err      error
}

func (r *renewingTokens) Token(context.Context) (string, error) { return "old", nil }

func (r *renewingTokens) Replace(_ context.Context, refused string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replaced++
	return "new", r.err
}

func withTokens(source client.TokenSource) func(*client.Config) {
	return func(config *client.Config) { config.Tokens = source }
}

// accepting accepts requests with the token and refuses all others.
func accepting(token string, bodies *[]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*bodies = append(*bodies, string(body))
		if r.Header.Get("Authorization") != "Bearer "+token {
			reply(w, 401, map[string]string{"response": "The token has expired."})
			return
		}
		reply(w, 201, map[string]string{"id": "r"})
	})
}

func TestRefusedTokenIsReplacedOnce(t *testing.T) {
	notLoggedIn := errors.New("not logged in")
	for name, test := range map[string]struct {
		accepted string
		source   client.TokenSource
		requests int
		fails    error
		code     api.Code
	}{
		"request retried whole": {accepted: "new", source: &renewingTokens{}, requests: 2},
		"not twice":             {accepted: "another", source: &renewingTokens{}, requests: 2, code: "http_401"},
		"not without another token": {accepted: "another", source: client.StaticToken("old"), requests: 1,
			code: "http_401"},
		"error of the token source": {accepted: "new", source: &renewingTokens{err: notLoggedIn}, requests: 1,
			fails: notLoggedIn, code: api.CodeInternal},
	} {
		var bodies []string
		err := redeem(serve(t, accepting(test.accepted, &bodies), withTokens(test.source)))
		if !errors.Is(err, test.fails) && test.fails != nil || api.CodeOf(err) != test.code {
			t.Errorf("%s: %v", name, err)
		}
		if len(bodies) != test.requests || bodies[0] == "" || bodies[len(bodies)-1] != bodies[0] {
			t.Errorf("%s: sent %q", name, bodies)
		}
	}
}
