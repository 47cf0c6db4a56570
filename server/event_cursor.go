package server

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"example.com/perks/store"
)

// cursors are places in the audit log as callers know them: encrypted, because a place tells how much all partners do,
// and under a key of the database, so that another one refuses them. Live and sandbox refuse each other's even if
// one is a copy. All servers of a database write a place alike.
type cursors struct {
	name, key []byte
	aead      cipher.AEAD
}

// newCursors takes the 32 bytes that the database of the name keeps.
func newCursors(name string, key []byte) (cursors, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return cursors{}, fmt.Errorf("the key of cursors: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	return cursors{[]byte(name), key, aead}, err
}

// cursors returns those of the feed's database, whose key never changes.
func (f *eventFeed) cursors(ctx context.Context) (cursors, error) {
	if known := f.known.Load(); known != nil {
		return *known, nil
	}
	key, err := f.store.CursorKey(ctx)
	if err != nil {
		return cursors{}, err
	}
	c, err := newCursors(f.name, key)
	if err == nil {
		f.known.Store(&c)
	}
	return c, err
}

// write returns the text of a place. Its nonce is a keyed hash of the place, so that no two places share one.
func (c cursors) write(place store.AuditPlace) string {
	text := fmt.Append(nil, place.Since, "~", place.Until, "~", place.Read)
	nonce := c.hash(text)[:c.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(c.aead.Seal(nonce, nonce, text, c.name))
}

// read returns the place of a text. The error is store.AuditPositionUnknown if write did not return it.
func (c cursors) read(cursor string) (place store.AuditPlace, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(sealed) < c.aead.NonceSize() {
		return place, store.AuditPositionUnknown()
	}
	text, err := c.aead.Open(nil, sealed[:c.aead.NonceSize()], sealed[c.aead.NonceSize():], c.name)
	parts := strings.Split(string(text), "~")
	if err != nil || len(parts) != 3 {
		return place, store.AuditPositionUnknown()
	}
	place.Since, place.Until = store.AuditPosition(parts[0]), store.AuditPosition(parts[1])
	place.Read, err = strconv.Atoi(parts[2])
	return place, err
}

// hide returns another name of an entry, instead of how many there are.
func (c cursors) hide(number int64) string {
	return hex.EncodeToString(c.hash(strconv.AppendInt(nil, number, 10))[:8])
}

func (c cursors) hash(text []byte) []byte {
	hash := hmac.New(sha256.New, c.key)
	hash.Write(c.name)
	hash.Write(text)
	return hash.Sum(nil)
}
