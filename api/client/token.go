package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"example.com/perks/api"
)

// Credentials are a client id and its secret.
type Credentials struct {
	ID     string
	Secret string
}

// Token obtains a bearer token. Id and secret are URL-encoded inside Basic (RFC 6749, section 2.3.1), and sent again unencoded
// if refused, because many servers do not decode. ExpiresAt is an hour from now if the response does not say.
func (c *Client) Token(ctx context.Context, credentials Credentials) (api.Token, error) {
	encoded := Credentials{ID: url.QueryEscape(credentials.ID), Secret: url.QueryEscape(credentials.Secret)}
	token, err := c.token(ctx, encoded)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Status == http.StatusUnauthorized && encoded != credentials {
		return c.token(ctx, credentials)
	}
	return token, err
}

func (c *Client) token(ctx context.Context, credentials Credentials) (api.Token, error) {
	basic := base64.StdEncoding.EncodeToString([]byte(credentials.ID + ":" + credentials.Secret))
	header := map[string]string{"Content-Type": "application/json", "Authorization": "Basic " + basic}
	// A token that is issued but lost changes nothing.
	call := call{method: http.MethodPost, path: "/auth/token", header: header, body: []byte("{}"), repeatable: true, isRead: true}
	var response tokenResponse
	res, err := c.fetch(ctx, call, &response)
	if err != nil {
		return api.Token{}, err
	}
	if response.AccessToken == "" {
		return api.Token{}, c.unreadable(call, res, errors.New("it holds no access_token"))
	}
	return api.Token{
		AccessToken: response.AccessToken, ExpiresAt: response.expiry(time.Now()).UTC(),
		TokenType: response.TokenType, ExpiresIn: response.ExpiresIn, Scope: response.Scope,
	}, nil
}

// tokenResponse keeps expires_at raw, because servers write it as a time, as seconds since 1970, or not at all.
type tokenResponse struct {
	AccessToken string          `json:"access_token"`
	ExpiresAt   json.RawMessage `json:"expires_at"`
	TokenType   string          `json:"token_type"`
	ExpiresIn   int             `json:"expires_in"`
	Scope       string          `json:"scope"`
}

func (r tokenResponse) expiry(now time.Time) time.Time {
	text := string(r.ExpiresAt)
	_ = json.Unmarshal(r.ExpiresAt, &text) // a number stays as it is
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds > 0 {
		return time.Unix(seconds, 0)
	}
	if r.ExpiresIn > 0 {
		return now.Add(time.Duration(r.ExpiresIn) * time.Second)
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
	source, isScoped := c.tokens.(scoped)
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

// authorize adds the token to requests to its own server only. After a 401 it replaces the token and retries once: the refused
// request has changed nothing.
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

// earliest converts a time of this computer's clock to the server's, and errs on the early side. The Date header was written at
// some moment of the exchange. Without one, the clocks are taken to agree.
func (x exchange) earliest(at time.Time) time.Time {
	took := x.received.Sub(x.began)
	date, err := http.ParseTime(x.header.Get("Date"))
	if err != nil {
		return at.Add(-clockSlack)
	}
	return date.Add(time.Second/2 - passed(at, x.began.Add(took/2)) - took/2 - clockSlack)
}

// passed is the time between two instants. Of the monotonic and the wall clock the longer reading counts: one stops while the
// computer sleeps, the other can be set back.
func passed(from, to time.Time) time.Duration {
	return max(0, to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
