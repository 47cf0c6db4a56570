package postgres

import (
	"context"
	"time"

	"example.com/perks/store"
)

func scanSigningKey(r row) (key store.SigningKey, err error) {
	var expires *time.Time
	if err := r.Scan(&key.ID, &key.Secret, &key.CreatedAt, &expires); err != nil {
		return key, err
	}
	key.CreatedAt = key.CreatedAt.UTC()
	if expires != nil {
		key.ExpiresAt = expires.UTC()
	}
	return key, nil
}

// SigningKeys returns the keys that have not expired at the instant, newest first.
func (db *DB) SigningKeys(ctx context.Context, at time.Time) ([]store.SigningKey, error) {
	return latest(ctx, db, "read the signing keys", func(v view) ([]store.SigningKey, error) {
		return all(v, scanSigningKey, `
			SELECT id, secret, created_at, expires_at FROM signing_keys
			WHERE expires_at IS NULL OR expires_at > $1 ORDER BY created_at DESC, id DESC`, at)
	})
}

// lockSigningKeys lets one transaction at a time decide which keys there are; reading them goes on. It is the table that
// is locked, because what two replicas could do at once is to add a key, and there is no row to lock before it is there.
const lockSigningKeys = `LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`

// EnsureSigningKey adds the key if there is none that has not expired when it is created.
func (db *DB) EnsureSigningKey(ctx context.Context, key store.SigningKey) error {
	return db.write(ctx, "make the first signing key", func(s *session) error {
		if err := s.exec(lockSigningKeys); err != nil {
			return err
		}
		there, err := one(s, scanValue[bool], `
			SELECT EXISTS (SELECT 1 FROM signing_keys WHERE expires_at IS NULL OR expires_at > $1)`, key.CreatedAt)
		if err != nil || there {
			return err
		}
		return s.addSigningKey(key)
	})
}

// RotateSigningKey adds the key and lets all older ones expire at the instant, unless they expire before.
func (db *DB) RotateSigningKey(ctx context.Context, key store.SigningKey, oldExpire time.Time, by store.Actor) error {
	return db.write(ctx, "rotate the signing key", func(s *session) error {
		if err := s.exec(lockSigningKeys); err != nil {
			return err
		}
		if err := s.exec(`UPDATE signing_keys SET expires_at = $1 WHERE expires_at IS NULL OR expires_at > $1`, oldExpire); err != nil {
			return err
		}
		if err := s.addSigningKey(key); err != nil {
			return err
		}
		return s.audit(key.CreatedAt, by, store.ActionRotateSigningKey, store.SigningKeySubject(key.ID), nil, key.Public())
	})
}

func (s *session) addSigningKey(key store.SigningKey) error {
	var expires *time.Time
	if !key.ExpiresAt.IsZero() {
		expires = &key.ExpiresAt
	}
	return s.exec(`INSERT INTO signing_keys (id, secret, created_at, expires_at) VALUES ($1, $2, $3, $4)`,
		key.ID, key.Secret, key.CreatedAt, expires)
}
