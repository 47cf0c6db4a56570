package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"example.com/perks/api"
	"example.com/perks/store"
)

// What every token of ours says of its origin and its purpose.
const (
	issuer   = "perksd"
	audience = "perks"
)

// MaxTokenTTL is the longest life that a token can be given. Rotated keys outlive it, so no valid token dies with its key.
const MaxTokenTTL = 24 * time.Hour

// KeyOverlap is how long a key verifies after a newer one is there: the longest life of a token, the hour by which an
// hourly token can be older than its issue, and an hour for clocks that differ.
const KeyOverlap = MaxTokenTTL + 2*time.Hour

// clockDifference is how far the clocks of two replicas may differ without one refusing what the other has just issued. It
// is taken off the start of a token's life; the end is exact.
const clockDifference = 5 * time.Second

type claims struct {
	jwt.RegisteredClaims
	Scope string `json:"scope"`
}

// Issue signs a token for the client. Scopes narrows it and must be among the client's own, else ErrScope; empty means
// all of them. In hourly mode the token is the same for every call within a clock hour (UTC), on every replica, and
// its expiry leaves even the last of these calls the whole lifetime.
func (a *Authority) Issue(ctx context.Context, client store.Client, scopes api.Scopes) (api.Token, error) {
	if len(scopes) == 0 {
		scopes = client.Scopes
	}
	if !client.Scopes.Contains(scopes) {
		return api.Token{}, ErrScope
	}
	now := a.config.Now().UTC().Truncate(time.Second)
	issued, expires, id := now, now.Add(a.config.TTL), ""
	if a.config.Hourly {
		issued = now.Truncate(time.Hour)
		expires = issued.Add(time.Hour + a.config.TTL)
		id = hourlyID(client.ID, scopes, issued)
	} else {
		random, err := uuid.NewRandom()
		if err != nil {
			return api.Token{}, fmt.Errorf("making a token id: %w", err)
		}
		id = random.String()
	}
	key, err := a.keys.signing(ctx, issued)
	if err != nil {
		return api.Token{}, err
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    issuer,
			Subject:   client.ID,
			Audience:  jwt.ClaimStrings{audience},
			IssuedAt:  jwt.NewNumericDate(issued),
			NotBefore: jwt.NewNumericDate(issued.Add(-clockDifference)),
			ExpiresAt: jwt.NewNumericDate(expires),
			ID:        id,
		},
		Scope: scopes.String(),
	})
	token.Header["kid"] = key.ID
	signed, err := token.SignedString(key.Secret)
	if err != nil {
		return api.Token{}, fmt.Errorf("signing a token: %w", err)
	}
	return api.Token{
		AccessToken: signed,
		ExpiresAt:   expires,
		TokenType:   "Bearer",
		ExpiresIn:   int(expires.Sub(now) / time.Second),
		Scope:       scopes.String(),
	}, nil
}

// hourlyID has to be the same on every replica, so it is derived and not random.
func hourlyID(clientID string, scopes api.Scopes, hour time.Time) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", clientID, scopes.String(), hour.Unix()))
	return hex.EncodeToString(sum[:16])
}
