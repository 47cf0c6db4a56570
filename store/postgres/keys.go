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

// DropSigningKey forgets a key, or returns SigningKeyNotFound. The successor is added if no key is left that does not expire.
func (db *DB) DropSigningKey(ctx context.Context, id string, successor store.SigningKey, by store.Actor) (bool, error) {
	return writeFor(ctx, db, "drop a signing key", func(s *session) (bool, error) {
		if err := s.exec(lockSigningKeys); err != nil {
			return false, err
		}
		key, err := found(store.SigningKeyNotFound(id), s, scanSigningKey, `
			SELECT id, secret, created_at, expires_at FROM signing_keys WHERE id = $1`, id)
		if err != nil {
			return false, err
		}
		if err := s.exec(`DELETE FROM signing_keys WHERE id = $1`, id); err != nil {
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
		return s.execCount(`DELETE FROM signing_keys WHERE expires_at < $1`, before)
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
