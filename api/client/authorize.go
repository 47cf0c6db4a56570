package client

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
)

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
		closeBody(req)
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
	discard(res)
	if err != nil {
		return nil, err
	}
	again := withToken(req, token)
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return a.next.RoundTrip(again)
}

func withToken(req *http.Request, token string) *http.Request {
	clone := req.WithContext(req.Context())
	clone.Header = maps.Clone(req.Header) // its lists of values stay shared: none is changed
	clone.Header.Set("Authorization", "Bearer "+token)
	return clone
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// discard reads a short rest, so that the connection can be used again.
func discard(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	res.Body.Close()
}
