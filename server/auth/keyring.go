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
)

// KeySettles is how old a key is before it signs: by then every replica has noticed it, so that none signs with a key that
// another would refuse, and all change to it at the same instant.
const KeySettles = keysFreshFor + clockDifference

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

// signing returns the key to sign with at the instant: the newest that had settled by then. While none has it is the
// oldest, which every replica has seen since it started, so that all choose the same key for the same instant.
func (k *keyring) signing(ctx context.Context, at time.Time) (store.SigningKey, error) {
	keys, err := k.load(ctx)
	if err != nil {
		return store.SigningKey{}, err
	}
	if len(keys) == 0 {
		return store.SigningKey{}, fmt.Errorf("the database has no valid signing key; make one with perksd keys rotate")
	}
	for _, key := range keys {
		if !key.CreatedAt.Add(KeySettles).After(at) {
			return key, nil
		}
	}
	return keys[len(keys)-1], nil
}

// byID finds a key that still verifies.
func (k *keyring) byID(ctx context.Context, id string) (store.SigningKey, bool, error) {
	keys, err := k.load(ctx)
	if err != nil {
		return store.SigningKey{}, false, err
	}
	for _, key := range keys {
		if key.ID == id && (key.ExpiresAt.IsZero() || k.now().Before(key.ExpiresAt)) {
			return key, true, nil
		}
	}
	return store.SigningKey{}, false, nil
}

func (k *keyring) load(ctx context.Context) ([]store.SigningKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if age := now.Sub(k.loaded); age >= 0 && age < keysFreshFor {
		return k.keys, nil
	}
	keys, err := k.store.SigningKeys(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("reading the signing keys: %w", err)
	}
	k.keys, k.loaded = keys, now
	return keys, nil
}
