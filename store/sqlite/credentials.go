package sqlite

import (
	"context"
	"fmt"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

const clientColumns = `id, name, secret, scopes, sandbox_only, disabled, created_at`

func scanClient(r row) (c store.Client, err error) {
	var secret []byte
	var scopes string
	var created int64
	if err := r.Scan(&c.ID, &c.Name, &secret, &scopes, &c.SandboxOnly, &c.Disabled, &created); err != nil {
		return c, err
	}
	if c.Secret, err = store.ReadSecretHash(secret); err != nil {
		return c, fmt.Errorf("read client %q: %w", c.ID, err)
	}
	c.CreatedAt = fromMicros(created)
	c.Scopes, err = api.ParseScopes(scopes)
	return c, err
}

func clientByID(q queryer, id string) (store.Client, error) {
	return found(store.ClientNotFound(id), q, scanClient, `SELECT `+clientColumns+` FROM clients WHERE id = ?`, id)
}

// Client returns one client, disabled or not, or ClientNotFound.
func (db *DB) Client(ctx context.Context, id string) (store.Client, error) {
	client, err := clientByID(db.latest(ctx), id)
	return client, fault("read a client", err)
}

// Clients returns all clients in the order of their creation, then ids.
func (db *DB) Clients(ctx context.Context) ([]store.Client, error) {
	clients, err := all(db.latest(ctx), scanClient, `SELECT `+clientColumns+` FROM clients ORDER BY created_at, id`)
	return clients, fault("read the clients", err)
}

// CreateClient adds a client, or returns ClientExists.
func (db *DB) CreateClient(ctx context.Context, client store.Client, by store.Actor) error {
	return db.write(ctx, "create a client", func(s *session) error {
		n, err := s.execCount(`INSERT INTO clients (`+clientColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			client.ID, client.Name, client.Secret[:], client.Scopes.String(), client.SandboxOnly, client.Disabled,
			client.CreatedAt.UnixMicro())
		if err != nil {
			return err
		}
		if n == 0 {
			return store.ClientExists(client.ID)
		}
		return s.audit(client.CreatedAt, by, store.ActionCreateClient, store.ClientSubject(client.ID), nil, client.Public())
	})
}

// SetClientSecret replaces the hash of a client's secret, or returns ClientNotFound.
func (db *DB) SetClientSecret(ctx context.Context, id string, hash store.SecretHash, by store.Actor, at time.Time) error {
	return db.write(ctx, "replace a client's secret", func(s *session) error {
		client, err := clientByID(s, id)
		if err != nil {
			return err
		}
		if err := s.exec(`UPDATE clients SET secret = ? WHERE id = ?`, hash[:], id); err != nil {
			return err
		}
		return s.audit(at, by, store.ActionRotateSecret, store.ClientSubject(id), client.Public(), client.Public())
	})
}

// UpdateClient changes what is named and returns the client as it is then, or ClientNotFound. What is as it should be already
// leaves no entry in the audit log.
func (db *DB) UpdateClient(ctx context.Context, id string, change store.ClientChange, by store.Actor, at time.Time) (store.Client, error) {
	return writeFor(ctx, db, "change a client", func(s *session) (store.Client, error) {
		before, err := clientByID(s, id)
		if err != nil {
			return before, err
		}
		after := change.Of(before)
		if after.Public() == before.Public() {
			return before, nil
		}
		if err := s.exec(`UPDATE clients SET name = ?, scopes = ? WHERE id = ?`, after.Name, after.Scopes.String(), id); err != nil {
			return before, err
		}
		return after, s.audit(at, by, store.ActionUpdateClient, store.ClientSubject(id), before.Public(), after.Public())
	})
}

// SetClientDisabled shuts a client out or lets it in again, or returns ClientNotFound. A client that is as it should be
// already leaves no entry in the audit log.
func (db *DB) SetClientDisabled(ctx context.Context, id string, disabled bool, by store.Actor, at time.Time) error {
	return db.write(ctx, "disable or enable a client", func(s *session) error {
		before, err := clientByID(s, id)
		if err != nil || before.Disabled == disabled {
			return err
		}
		if err := s.exec(`UPDATE clients SET disabled = ? WHERE id = ?`, disabled, id); err != nil {
			return err
		}
		action := store.ActionEnableClient
		if disabled {
			action = store.ActionDisableClient
		}
		after := before
		after.Disabled = disabled
		return s.audit(at, by, action, store.ClientSubject(id), before.Public(), after.Public())
	})
}

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
