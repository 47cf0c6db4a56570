package auth

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"example.com/perks/store"
)

// How long what the store said is believed. A client that is disabled, or a key that is added, is noticed after this.
const (
	clientsFreshFor = 2 * time.Second
	keysFreshFor    = 5 * time.Second
	keysRetryAfter  = time.Second // the shortest time between two look-ups of unknown key ids
)

// NewSigningKey makes a random HS256 key (RFC 7518, section 3.2: at least 256 bits).
func NewSigningKey(now time.Time) (store.SigningKey, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return store.SigningKey{}, fmt.Errorf("making a key id: %w", err)
	}
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return store.SigningKey{}, fmt.Errorf("making a signing key: %w", err)
	}
	return store.SigningKey{ID: id.String(), Secret: secret, CreatedAt: now}, nil
}

// keyring is a short-lived copy of the store's signing keys.
type keyring struct {
	store store.Credentials
	now   func() time.Time

	mu     sync.Mutex
	keys   []store.SigningKey // newest first
	loaded time.Time
}

func newKeyring(s store.Credentials, now func() time.Time) *keyring {
	return &keyring{store: s, now: now}
}

// signing returns the key to sign with at the instant: the newest that was there by then. When all are younger it is
// the oldest, so that replicas that ask about the same instant choose the same key.
func (k *keyring) signing(ctx context.Context, at time.Time) (store.SigningKey, error) {
	keys, err := k.load(ctx, keysFreshFor)
	if err != nil {
		return store.SigningKey{}, err
	}
	if len(keys) == 0 {
		return store.SigningKey{}, fmt.Errorf("the database has no valid signing key; make one with perksd keys rotate")
	}
	for _, key := range keys {
		if !key.CreatedAt.After(at) {
			return key, nil
		}
	}
	return keys[len(keys)-1], nil
}

// byID finds a key that still verifies. An id that is not known may be another replica's new key, so it is looked up
// again, but not more often than keysRetryAfter.
func (k *keyring) byID(ctx context.Context, id string) (store.SigningKey, bool, error) {
	for _, age := range []time.Duration{keysFreshFor, keysRetryAfter} {
		keys, err := k.load(ctx, age)
		if err != nil {
			return store.SigningKey{}, false, err
		}
		for _, key := range keys {
			if key.ID == id && (key.ExpiresAt.IsZero() || k.now().Before(key.ExpiresAt)) {
				return key, true, nil
			}
		}
	}
	return store.SigningKey{}, false, nil
}

func (k *keyring) load(ctx context.Context, freshFor time.Duration) ([]store.SigningKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if age := now.Sub(k.loaded); age >= 0 && age < freshFor {
		return k.keys, nil
	}
	keys, err := k.store.SigningKeys(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("reading the signing keys: %w", err)
	}
	k.keys, k.loaded = keys, now
	return keys, nil
}
