package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
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
	var refused *Error
	if encoded != credentials && errors.As(err, &refused) && refused.Status == http.StatusUnauthorized {
		return c.token(ctx, credentials)
	}
	return token, err
}

func (c *Client) token(ctx context.Context, credentials Credentials) (api.Token, error) {
	basic := base64.StdEncoding.EncodeToString([]byte(credentials.ID + ":" + credentials.Secret))
	call := call{method: http.MethodPost, path: "/auth/token", body: []byte("{}"), harmless: true}. // a token that was made and lost changes nothing
													withHeader("Content-Type", "application/json").
													withHeader("Authorization", "Basic "+basic)
	var answer tokenAnswer
	res, err := c.fetch(ctx, call, &answer)
	if err != nil {
		return api.Token{}, err
	}
	if answer.AccessToken == "" {
		return api.Token{}, c.unreadable(call, res, errors.New("it holds no access_token"))
	}
	return answer.token(time.Now()), nil
}

// tokenAnswer leaves expires_at open, because servers write it as text, as seconds since 1970, or not at all.
type tokenAnswer struct {
	AccessToken string          `json:"access_token"`
	ExpiresAt   json.RawMessage `json:"expires_at"`
	TokenType   string          `json:"token_type"`
	ExpiresIn   int             `json:"expires_in"`
	Scope       string          `json:"scope"`
}

func (a tokenAnswer) token(now time.Time) api.Token {
	return api.Token{
		AccessToken: a.AccessToken,
		ExpiresAt:   a.expiry(now).UTC(),
		TokenType:   a.TokenType,
		ExpiresIn:   a.ExpiresIn,
		Scope:       a.Scope,
	}
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
