package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"example.com/perks/store"
)

// How long what the store said is believed. A client that is disabled, or a key that is added or dropped, is noticed after
// this.
const (
	clientsFreshFor = 2 * time.Second
	keysFreshFor    = 2 * time.Second
)

// keysAskedEvery is how long the keys are believed when a token names one that is not among them: it may have been made in
// place of a key that was dropped, and signs at once. Whoever makes names up has the database asked no more often.
const keysAskedEvery = time.Second

// KeySettles is how old a key is before it signs: by then every replica has noticed it, also one of an older version, so
// that none signs with a key that another would refuse, and all change to it at the same instant.
const KeySettles = 10 * time.Second

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

// signing returns the key to sign with at the instant.
func (k *keyring) signing(ctx context.Context, at time.Time) (store.SigningKey, error) {
	keys, err := k.load(ctx, keysFreshFor)
	key, found := signingKey(keys, at)
	if err == nil && !found {
		err = errors.New("the database has no valid signing key; make one with perksd keys rotate")
	}
	return key, err
}

// signingKey chooses the same key for the same instant everywhere: of those that outlive each token that is issued then,
// the newest that had settled. While none has it is the oldest of them: the first key of all, or the one that took the
// place of a key that was dropped. A key that does not outlive them is better than none. Keys come newest first.
func signingKey(keys []store.SigningKey, at time.Time) (key store.SigningKey, found bool) {
	for _, k := range keys {
		if !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(at.Add(MaxTokenTTL+time.Hour)) {
			continue
		}
		key, found = k, true
		if !k.CreatedAt.Add(KeySettles).After(at) {
			break
		}
	}
	if !found && len(keys) > 0 {
		return keys[0], true
	}
	return key, found
}

// KeyState is what a signing key is for at an instant.
type KeyState string

// A key signs or waits for its time, or only verifies what it signed before.
const (
	KeySigns    KeyState = "signing"
	KeySettling KeyState = "settling"
	KeyVerifies KeyState = "verifying"
)

// KeyStates says of each key, newest first, what it is for at the instant. With Config.Hourly a key still signs until the
// end of the hour in which the next one settles.
func KeyStates(keys []store.SigningKey, at time.Time) []KeyState {
	signing, found := signingKey(keys, at)
	states := make([]KeyState, len(keys))
	for i, key := range keys {
		switch {
		case found && key.ID == signing.ID:
			states[i] = KeySigns
		case key.ExpiresAt.IsZero() || key.CreatedAt.Add(KeySettles).After(at):
			states[i] = KeySettling
		default:
			states[i] = KeyVerifies
		}
	}
	return states
}

func (k *keyring) byID(ctx context.Context, id string) (store.SigningKey, bool, error) {
	for _, fresh := range []time.Duration{keysFreshFor, keysAskedEvery} {
		keys, err := k.load(ctx, fresh)
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

func (k *keyring) load(ctx context.Context, fresh time.Duration) ([]store.SigningKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if age := now.Sub(k.loaded); age >= 0 && age < fresh {
		return k.keys, nil
	}
	keys, err := k.store.SigningKeys(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("reading the signing keys: %w", err)
	}
	k.keys, k.loaded = keys, now
	return keys, nil
}
