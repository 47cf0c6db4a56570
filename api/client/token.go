package client

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/perks/api"
)

// Credentials are a client id and its secret.
type Credentials struct {
	ID     string
	Secret string
}

// Token obtains a bearer token. Id and secret are URL-encoded inside Basic (RFC 6749, section 2.3.1), and sent again
// unencoded if refused, because many servers do not decode. ExpiresAt is an hour from now if the response does not say.
func (c *Client) Token(ctx context.Context, credentials Credentials) (api.Token, error) {
	encoded := Credentials{ID: url.QueryEscape(credentials.ID), Secret: url.QueryEscape(credentials.Secret)}
	token, err := c.token(ctx, encoded)
	if refused, ok := errors.AsType[*Error](err); ok && refused.LoginNeeded() && encoded != credentials {
		return c.token(ctx, credentials)
	}
	return token, err
}

func (c *Client) token(ctx context.Context, credentials Credentials) (api.Token, error) {
	basic := base64.StdEncoding.EncodeToString([]byte(credentials.ID + ":" + credentials.Secret))
	header := map[string]string{"Content-Type": "application/json", "Authorization": "Basic " + basic}
	// A token that is issued but lost changes nothing.
	call := call{method: http.MethodPost, path: "/auth/token", header: header, body: []byte("{}"), repeatable: true,
		isRead: true, forToken: true}
	var body bodyMembers
	res, err := c.fetch(ctx, call, &body)
	if err != nil {
		return api.Token{}, err
	}
	token := body.text("access_token")
	switch raw, has := body["access_token"]; {
	case !has:
		return api.Token{}, c.unreadable(call, res, fmt.Errorf("no access_token came, but %s", describe(res.Body())))
	case token == "":
		return api.Token{}, c.unreadable(call, res, fmt.Errorf("its access_token is %s", describe(raw)))
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return api.Token{}, c.unreadable(call, res, errors.New("its access_token has characters that cannot be sent"))
	}
	lifetime := body.lifetime()
	return api.Token{
		AccessToken: token, ExpiresAt: body.expiry(time.Now(), lifetime).UTC(),
		TokenType: body.text("token_type"), ExpiresIn: lifetime, Scope: body.text("scope"),
		NamesActors: string(body["actors"]) == "true",
	}, nil
}

// number returns a member that is a number, also one written as a text, and 0 for any other.
func (b bodyMembers) number(name string) float64 {
	number, err := strconv.ParseFloat(cmp.Or(b.text(name), string(b[name])), 64)
	if err != nil || math.IsNaN(number) {
		return 0
	}
	return number
}

// lifetime returns the seconds that a token is valid for, 0 if the response does not say.
func (b bodyMembers) lifetime() int {
	return int(max(0, min(b.number("expires_in"), (100*365*24*time.Hour).Seconds())))
}

// expiry reads expires_at, which servers write as a time, as seconds since 1970, or not at all. It ignores implausible
// years: the value may be in another unit, such as milliseconds.
func (b bodyMembers) expiry(now time.Time, lifetime int) time.Time {
	at, err := time.Parse(time.RFC3339, b.text("expires_at"))
	if err != nil {
		at = time.Unix(int64(max(0, min(b.number("expires_at"), 1e15))), 0)
	}
	if year := at.UTC().Year(); year > 1970 && year < 10000 {
		return at
	}
	if lifetime > 0 {
		return now.Add(time.Duration(lifetime) * time.Second)
	}
	return now.Add(time.Hour)
}

// TokenSource supplies bearer tokens. It is safe for use by many goroutines.
type TokenSource interface {
	// Token returns the token to send now.
	Token(ctx context.Context) (string, error)
	// Replace returns a token other than the refused one, or ErrNoOtherToken.
	Replace(ctx context.Context, refused string) (string, error)
}

// scoped is a TokenSource that knows what its token may do, once it has one.
type scoped interface {
	// Scopes returns nil if they are not known. It does not block.
	Scopes() []string
}

// Lacks reports whether the client's token is known to lack the scope. A service need not name any.
func (c *Client) Lacks(scope api.Scope) bool {
	if c == nil {
		return false
	}
	source, isScoped := c.config.Tokens.(scoped)
	if !isScoped {
		return false
	}
	scopes := source.Scopes()
	return scopes != nil && !slices.Contains(scopes, string(scope))
}

// ErrNoOtherToken is returned by Replace when the refused token is the only one.
var ErrNoOtherToken = errors.New("there is no other token")

// StaticToken is a TokenSource with a single token.
type StaticToken string

// Token returns the token.
func (s StaticToken) Token(context.Context) (string, error) { return string(s), nil }

// Replace returns ErrNoOtherToken.
func (s StaticToken) Replace(context.Context, string) (string, error) { return "", ErrNoOtherToken }

// authorize adds the token to requests to its own server only. After a 401 it replaces the token and retries once: the
// refused request has changed nothing.
type authorize struct {
	next   http.RoundTripper
	tokens TokenSource
	origin *url.URL
}

func (a *authorize) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Authorization") != "" || !sameOrigin(req.URL, a.origin) {
		return a.next.RoundTrip(req)
	}
	token, err := a.tokens.Token(req.Context())
	if err != nil {
		return nil, err
	}
	res, err := a.next.RoundTrip(withToken(req, token))
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		return res, err
	}
	token, err = a.tokens.Replace(req.Context(), token)
	if errors.Is(err, ErrNoOtherToken) {
		return res, nil
	}
	if err != nil {
		return nil, err
	}
	return a.next.RoundTrip(withToken(stateOf(req.Context()).rewound(req), token))
}

func withToken(req *http.Request, token string) *http.Request {
	clone := req.WithContext(req.Context())
	clone.Header = maps.Clone(req.Header) // shallow: no list of values is changed
	clone.Header.Set("Authorization", "Bearer "+token)
	return clone
}

// clockSlack is the tolerance when comparing with the server's clock. Date has whole seconds.
const clockSlack = 2 * time.Second

type exchange struct {
	began, received time.Time
	header          http.Header // of the response
}

// earliest converts a time of this computer's clock to the server's, and errs on the early side. The Date header was
// written at some moment of the exchange. Without one, the clocks are taken to agree.
func (x exchange) earliest(at time.Time) time.Time {
	took := x.received.Sub(x.began)
	date, err := http.ParseTime(x.header.Get("Date"))
	if err != nil {
		return at.Add(-clockSlack)
	}
	return date.Add(time.Second/2 - passed(at, x.began.Add(took/2)) - took/2 - clockSlack)
}

// passed is the time between two instants. Of the monotonic and the wall clock the longer reading counts: one stops
// while the computer sleeps, the other can be set back.
func passed(from, to time.Time) time.Duration {
	return max(0, to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
