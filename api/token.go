package api

import "time"

// Token is the answer of POST /auth/token (RFC 6749, section 5.1, with expires_at beside expires_in).
type Token struct {
	AccessToken string    `json:"access_token"`
	ExpiresAt   time.Time `json:"expires_at"`
	TokenType   string    `json:"token_type,omitempty"`
	ExpiresIn   int       `json:"expires_in,omitempty"` // seconds
	Scope       string    `json:"scope,omitempty"`      // separated by spaces
}

// WrongCredentials is the message when the client id or secret of a token request is wrong. Clients know it, so that they do
// not mask a secret that happens to be one of its words.
const WrongCredentials = "The client id or the secret is wrong, or the client is disabled." // #nosec G101 -- a sentence

// TooManyAttempts begins the message after too many wrong secrets, and TryAgain ends it with the seconds to wait. Clients know
// them too.
const (
	TooManyAttempts = "There were too many failed attempts to get a token."
	TryAgain        = " Try again in %d s."
)
