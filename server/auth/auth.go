// Package auth decides who is calling: it checks client credentials, issues bearer tokens and verifies them.
//
// It knows clients and signing keys through store.Credentials, and nothing of routes, statuses or bodies. What must hold
// on every replica at once is read from the store, never kept here for longer than a few seconds.
package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"example.com/perks/api"
	"example.com/perks/store"
)

// ErrCredentials means that client id and secret do not belong together, or that the client is shut out. Which of these it
// is stands in the text alone, and only the operator may read it: it would help who guesses.
var ErrCredentials = errors.New("the credentials are wrong")

// ErrScope means that a token was asked for with a scope that the client does not have.
var ErrScope = errors.New("the client does not have that scope")

// ErrToken means that a bearer token is malformed, forged, expired, not ours, or its client is shut out.
var ErrToken = errors.New("the access token is not valid")

// Caller is who a verified token speaks for.
type Caller struct {
	ClientID    string
	Scopes      api.Scopes
	SandboxOnly bool
}

// Config is what an Authority needs.
type Config struct {
	Store  store.Credentials
	TTL    time.Duration
	Hourly bool
	Now    func() time.Time
}

// Authority issues and verifies tokens.
type Authority struct {
	config   Config
	keys     *keyring
	clients  *clientCache
	verified *lru.Cache[[sha256.Size]byte, verified]
}

// New makes an Authority, and the first signing key if the store has none that is valid.
func New(ctx context.Context, config Config) (*Authority, error) {
	key, err := NewSigningKey(config.Now())
	if err != nil {
		return nil, err
	}
	if err := config.Store.EnsureSigningKey(ctx, key); err != nil {
		return nil, err
	}
	tokens, err := lru.New[[sha256.Size]byte, verified](verifiedTokens)
	if err != nil {
		return nil, fmt.Errorf("making room for verified tokens: %w", err)
	}
	return &Authority{
		config:   config,
		keys:     newKeyring(config.Store, config.Now),
		clients:  newClientCache(config.Store, config.Now),
		verified: tokens,
	}, nil
}
