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

// WrongCredentials is the sentence with which a token is refused to who does not prove to be a client. Clients know it, so
// that a secret which is a word of it is not taken for one that was sent back.
const WrongCredentials = "The client id or the secret is wrong, or the client is disabled." // #nosec G101 -- a sentence

// TooManyAttempts begins the sentences with which a token is refused after too many wrong secrets, and TryAgain the one that
// says after how many seconds. Clients know them too.
const (
	TooManyAttempts = "There were too many failed attempts to get a token."
	TryAgain        = " Try again in %d s."
)
