package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"example.com/perks/store"
)

// cacheTime is how long clients and signing keys are cached: changes take effect after this time.
const cacheTime = 2 * time.Second

// unknownKeyCacheTime is shorter, for tokens that name an unknown key: it may replace a key that was dropped, and so
// sign at once. Made-up key ids cause no more queries than this.
const unknownKeyCacheTime = time.Second

// KeyActivationDelay is the age at which a key starts to sign. By then every replica knows it, even one of an older
// version, so none refuses what another has signed, and all switch to it at the same instant.
const KeyActivationDelay = 10 * time.Second

// NewSigningKey makes a random HS256 key (RFC 7518, section 3.2: at least 256 bits).
func NewSigningKey(now time.Time) store.SigningKey {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	return store.SigningKey{ID: uuid.Must(uuid.NewV7()).String(), Secret: secret, CreatedAt: now}
}

// keyring caches the signing keys of the database.
type keyring struct {
	store store.Credentials
	now   func() time.Time

	loaded  atomic.Pointer[loadedKeys]
	loading slots // of 1; a mutex would keep requests waiting after their time
}

func newKeyring(s store.Credentials, now func() time.Time) keyring {
	return keyring{store: s, now: now, loading: make(slots, 1)}
}

type loadedKeys struct {
	keys []store.SigningKey // newest first
	at   time.Time
}

// signing returns the key that signs at that time.
func (k *keyring) signing(ctx context.Context, at time.Time) (store.SigningKey, error) {
	keys, err := k.load(ctx, cacheTime)
	key, found := signingKey(keys, at)
	if err == nil && !found {
		err = errors.New("the database has no valid signing key; make one with perksd keys rotate")
	}
	return key, err
}

// signingKey picks the same key on every replica: the newest active one that outlives each token issued at that time.
// If none is active yet, it picks the oldest: the first key of all, or the replacement of a key that was dropped. If
// none outlives the tokens, it picks the newest. Keys come newest first.
func signingKey(keys []store.SigningKey, at time.Time) (key store.SigningKey, found bool) {
	for _, k := range keys {
		if !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(at.Add(MaxTokenTTL+time.Hour)) {
			continue
		}
		key, found = k, true
		if !k.CreatedAt.Add(KeyActivationDelay).After(at) {
			break
		}
	}
	if !found && len(keys) > 0 {
		return keys[0], true
	}
	return key, found
}

// KeyState says what a signing key is used for.
type KeyState string

// A key signs, will sign after KeyActivationDelay, or only verifies what it signed before.
const (
	KeySigns    KeyState = "signing"
	KeySettling KeyState = "settling"
	KeyVerifies KeyState = "verifying"
)

// KeyStates returns the state of each key; keys come newest first. With Config.Hourly, a key still signs until the end
// of the hour in which the next one becomes active.
func KeyStates(keys []store.SigningKey, at time.Time) []KeyState {
	signing, found := signingKey(keys, at)
	states := make([]KeyState, len(keys))
	for i, key := range keys {
		switch {
		case found && key.ID == signing.ID:
			states[i] = KeySigns
		case key.ExpiresAt.IsZero() || key.CreatedAt.Add(KeyActivationDelay).After(at):
			states[i] = KeySettling
		default:
			states[i] = KeyVerifies
		}
	}
	return states
}

func (k *keyring) byID(ctx context.Context, id string) (store.SigningKey, bool, error) {
	for _, fresh := range []time.Duration{cacheTime, unknownKeyCacheTime} {
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

// fresh returns the keys if they were loaded within that time.
func (k *keyring) fresh(within time.Duration) (keys []store.SigningKey, ok bool) {
	loaded := k.loaded.Load()
	if loaded == nil {
		return nil, false
	}
	age := k.now().Sub(loaded.at)
	return loaded.keys, age >= 0 && age < within
}

func (k *keyring) load(ctx context.Context, within time.Duration) ([]store.SigningKey, error) {
	if keys, ok := k.fresh(within); ok {
		return keys, nil
	}
	loaded, err := k.loading.take(ctx)
	if err != nil {
		return nil, fmt.Errorf("waiting for the signing keys: %w", err)
	}
	defer loaded()
	if keys, ok := k.fresh(within); ok {
		return keys, nil
	}
	now := k.now()
	keys, err := k.store.SigningKeys(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("reading the signing keys: %w", err)
	}
	k.loaded.Store(&loadedKeys{keys, now})
	return keys, nil
}
