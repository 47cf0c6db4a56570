package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"example.com/perks/api"
)

// Credentials are what a client shows to obtain a token.
type Credentials struct {
	ID     string
	Secret string
}

// Token obtains a bearer token. Id and secret are URL-encoded inside Basic (RFC 6749, section 2.3.1); a server that
// refuses them so gets them once more as they are, because many do not decode. ExpiresAt is always set: from the answer,
// or an hour from now when the answer has no time that can be read.
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
	// A token that was made and lost changes nothing.
	call := call{method: http.MethodPost, path: "/auth/token", header: header, body: []byte("{}"), harmless: true}
	var answer tokenAnswer
	res, err := c.fetch(ctx, call, &answer)
	if err != nil {
		return api.Token{}, err
	}
	if answer.AccessToken == "" {
		return api.Token{}, c.unreadable(call, res, errors.New("it holds no access_token"))
	}
	return api.Token{
		AccessToken: answer.AccessToken, ExpiresAt: answer.expiry(time.Now()).UTC(),
		TokenType: answer.TokenType, ExpiresIn: answer.ExpiresIn, Scope: answer.Scope,
	}, nil
}

// tokenAnswer leaves expires_at open, because servers write it as text, as seconds since 1970, or not at all.
type tokenAnswer struct {
	AccessToken string          `json:"access_token"`
	ExpiresAt   json.RawMessage `json:"expires_at"`
	TokenType   string          `json:"token_type"`
	ExpiresIn   int             `json:"expires_in"`
	Scope       string          `json:"scope"`
}

func (a tokenAnswer) expiry(now time.Time) time.Time {
	text := string(a.ExpiresAt)
	_ = json.Unmarshal(a.ExpiresAt, &text) // a number stays as it is
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds > 0 {
		return time.Unix(seconds, 0)
	}
	if a.ExpiresIn > 0 {
		return now.Add(time.Duration(a.ExpiresIn) * time.Second)
	}
	return now.Add(time.Hour)
}

// TokenSource hands out bearer tokens. It is safe for use by many goroutines.
type TokenSource interface {
	// Token returns the token to send now.
	Token(ctx context.Context) (string, error)
	// Replace returns a token other than the refused one, or ErrNoOtherToken if there is no way to one.
	Replace(ctx context.Context, refused string) (string, error)
}

// ErrNoOtherToken is what a TokenSource returns from Replace when the refused token is the only one that it can give.
var ErrNoOtherToken = errors.New("there is no other token")

// StaticToken is a TokenSource of one token that someone else has obtained.
type StaticToken string

// Token returns the token.
func (s StaticToken) Token(context.Context) (string, error) { return string(s), nil }

// Replace returns ErrNoOtherToken.
func (s StaticToken) Replace(context.Context, string) (string, error) { return "", ErrNoOtherToken }

// authorize adds the token to requests for the server that it belongs to, and to no others. When the server refuses the
// token it asks for another and tries once more: a request that was refused with 401 has changed nothing.
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
	return a.next.RoundTrip(withToken(effortOf(req.Context()).rewound(req), token))
}

func withToken(req *http.Request, token string) *http.Request {
	clone := req.WithContext(req.Context())
	clone.Header = maps.Clone(req.Header) // its lists of values stay shared: none is changed
	clone.Header.Set("Authorization", "Bearer "+token)
	return clone
}

// clockSlack is how far the server's clock may be from what its Date header says of it. The header has whole seconds.
const clockSlack = 2 * time.Second

type exchange struct {
	began, ended time.Time
	header       http.Header // of the answer
}

// earliest returns what the server's clock may have shown, at the earliest, at an instant by this computer's clock. The
// header was written at some moment of the exchange: its middle is taken, and how far that may be off is allowed for.
// A server that does not tell its time is taken to have ours.
func (x exchange) earliest(at time.Time) time.Time {
	took := x.ended.Sub(x.began)
	date, err := http.ParseTime(x.header.Get("Date"))
	if err != nil {
		return at.Add(-clockSlack)
	}
	return date.Add(time.Second/2 - passed(at, x.began.Add(took/2)) - took/2 - clockSlack)
}

// passed is the time from one instant to a later one. A clock may have been set back in between, or stood still while the
// computer slept: of its two readings the longer one is taken.
func passed(from, to time.Time) time.Duration {
	return max(0, to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
