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
