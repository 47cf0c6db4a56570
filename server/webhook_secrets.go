package server

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/perks/api/webhook"
	"example.com/perks/store"
)

// webhookSecret signs what a webhook gets, until it ends.
type webhookSecret struct {
	Text  string    `json:"secret"`
	Made  time.Time `json:"made"`
	Until time.Time `json:"until,omitzero"` // zero for the newest
}

// webhookKeys encrypt the secrets of a database's webhooks. A secret names its key, so that the operator can choose
// another one while there are webhooks.
type webhookKeys struct {
	store store.Store
	given [][]byte // of the operator; the first encrypts
}

const (
	webhookKeySize = 32
	webhookKeyName = 8 // bytes of a key's hash, before what it has encrypted
)

// ParseWebhookKeys reads a file with keys of 32 bytes in base64, one on each line. The first encrypts new secrets.
func ParseWebhookKeys(text string) (keys [][]byte, err error) {
	for line := range strings.FieldsSeq(text) {
		key, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(key) != webhookKeySize {
			return nil, fmt.Errorf("each line must be %d random bytes in base64, as 'openssl rand -base64 %d' prints them",
				webhookKeySize, webhookKeySize)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no key: write one with 'openssl rand -base64 32'")
	}
	return keys, nil
}

// all returns the keys that can decrypt: those of the operator, and that of the database.
func (k webhookKeys) all(ctx context.Context) ([][]byte, error) {
	kept, err := k.store.CursorKey(ctx)
	if err != nil {
		return nil, err
	}
	derived := hmac.New(sha256.New, kept)
	derived.Write([]byte("secrets of webhooks"))
	return append(k.given[:len(k.given):len(k.given)], derived.Sum(nil)), nil
}

func keyName(key []byte) string {
	sum := sha256.Sum256(key)
	return string(sum[:webhookKeyName])
}

func newWebhookCipher(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal encrypts the secrets of the webhook with the id. For another id they cannot be decrypted.
func (k webhookKeys) seal(ctx context.Context, id string, secrets []webhookSecret) ([]byte, error) {
	keys, err := k.all(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(secrets)
	if err != nil {
		return nil, fmt.Errorf("encode a secret: %w", err)
	}
	aead, err := newWebhookCipher(keys[0])
	if err != nil {
		return nil, fmt.Errorf("the key of webhooks: %w", err)
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	sealed := append([]byte(keyName(keys[0])), nonce...)
	return aead.Seal(sealed, nonce, text, []byte(id)), nil
}

// errWebhookKey says that the key is missing which has encrypted the secrets of a webhook.
var errWebhookKey = errors.New("its secret was encrypted with a key that this server does not have: add the key to " +
	"the file of --webhook-key-file, or make a new secret with POST .../rotate-secret")

// open decrypts the secrets of a webhook, the newest first.
func (k webhookKeys) open(ctx context.Context, hook store.Webhook) (secrets []webhookSecret, err error) {
	keys, err := k.all(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		sealed, isOurs := strings.CutPrefix(string(hook.Secrets), keyName(key))
		aead, err := newWebhookCipher(key)
		if !isOurs || err != nil || len(sealed) < aead.NonceSize() {
			continue
		}
		nonce, rest := sealed[:aead.NonceSize()], sealed[aead.NonceSize():]
		text, err := aead.Open(nil, []byte(nonce), []byte(rest), []byte(hook.ID))
		if err == nil {
			err = json.Unmarshal(text, &secrets)
			return secrets, err
		}
	}
	return nil, errWebhookKey
}

// signing returns the secrets that sign at a time.
func signing(secrets []webhookSecret, now time.Time) (keys []webhook.Secret, err error) {
	for _, secret := range secrets {
		if !secret.Until.IsZero() && !now.Before(secret.Until) {
			continue
		}
		key, err := webhook.ParseSecret(secret.Text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}
