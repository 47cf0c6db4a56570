package sqlite

import (
	"context"
	"time"

	"example.com/perks/store"
)

func scanSigningKey(r row) (key store.SigningKey, err error) {
	var created int64
	var expires *int64
	if err := r.Scan(&key.ID, &key.Secret, &created, &expires); err != nil {
		return key, err
	}
	key.CreatedAt = fromMicros(created)
	if expires != nil {
		key.ExpiresAt = fromMicros(*expires)
	}
	return key, nil
}

// SigningKeys returns the keys that have not expired at the instant, newest first.
func (db *DB) SigningKeys(ctx context.Context, at time.Time) ([]store.SigningKey, error) {
	keys, err := all(db.latest(ctx), scanSigningKey, `
		SELECT id, secret, created_at, expires_at FROM signing_keys
		WHERE expires_at IS NULL OR expires_at > ? ORDER BY created_at DESC, id DESC`, at.UnixMicro())
	return keys, fault("read the signing keys", err)
}

// EnsureSigningKey adds the key if there is none that has not expired when it is created.
func (db *DB) EnsureSigningKey(ctx context.Context, key store.SigningKey) error {
	return db.write(ctx, "make the first signing key", func(s *session) error {
		there, err := one(s, scanValue[bool], `
			SELECT EXISTS (SELECT 1 FROM signing_keys WHERE expires_at IS NULL OR expires_at > ?)`, key.CreatedAt.UnixMicro())
		if err != nil || there {
			return err
		}
		return s.addSigningKey(key)
	})
}

// RotateSigningKey adds the key and lets all older ones expire at the instant, unless they expire before.
func (db *DB) RotateSigningKey(ctx context.Context, key store.SigningKey, oldExpire time.Time, by store.Actor) error {
	return db.write(ctx, "rotate the signing key", func(s *session) error {
		if err := s.exec(`UPDATE signing_keys SET expires_at = ?1 WHERE expires_at IS NULL OR expires_at > ?1`, oldExpire.UnixMicro()); err != nil {
			return err
		}
		if err := s.addSigningKey(key); err != nil {
			return err
		}
		return s.audit(key.CreatedAt, by, store.ActionRotateSigningKey, store.SigningKeySubject(key.ID), nil, key.Public())
	})
}

// DropSigningKey forgets a key, or returns SigningKeyNotFound. The successor is added if no key is left that does not expire.
func (db *DB) DropSigningKey(ctx context.Context, id string, successor store.SigningKey, by store.Actor) (bool, error) {
	return writeFor(ctx, db, "drop a signing key", func(s *session) (bool, error) {
		key, err := found(store.SigningKeyNotFound(id), s, scanSigningKey, `
			SELECT id, secret, created_at, expires_at FROM signing_keys WHERE id = ?`, id)
		if err != nil {
			return false, err
		}
		if err := s.exec(`DELETE FROM signing_keys WHERE id = ?`, id); err != nil {
			return false, err
		}
		at := successor.CreatedAt
		if err := s.audit(at, by, store.ActionDropSigningKey, store.SigningKeySubject(id), key.Public(), nil); err != nil {
			return false, err
		}
		there, err := one(s, scanValue[bool], `SELECT EXISTS (SELECT 1 FROM signing_keys WHERE expires_at IS NULL)`)
		if err != nil || there {
			return false, err
		}
		if err := s.addSigningKey(successor); err != nil {
			return false, err
		}
		return true, s.audit(at, by, store.ActionRotateSigningKey, store.SigningKeySubject(successor.ID), nil, successor.Public())
	})
}

// PurgeSigningKeys forgets the keys that expired before the instant and returns how many there were.
func (db *DB) PurgeSigningKeys(ctx context.Context, before time.Time) (int64, error) {
	return writeFor(ctx, db, "forget signing keys", func(s *session) (int64, error) {
		return s.execCount(`DELETE FROM signing_keys WHERE expires_at < ?`, before.UnixMicro())
	})
}

func (s *session) addSigningKey(key store.SigningKey) error {
	var expires *time.Time
	if !key.ExpiresAt.IsZero() {
		expires = &key.ExpiresAt
	}
	return s.exec(`INSERT INTO signing_keys (id, secret, created_at, expires_at) VALUES (?, ?, ?, ?)`,
		key.ID, key.Secret, key.CreatedAt.UnixMicro(), microsOrNil(expires))
}
