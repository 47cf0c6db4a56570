package postgres

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
	if err := r.Scan(&c.ID, &c.Name, &secret, &scopes, &c.SandboxOnly, &c.Disabled, &c.CreatedAt); err != nil {
		return c, err
	}
	if c.Secret, err = store.ReadSecretHash(secret); err != nil {
		return c, fmt.Errorf("read client %q: %w", c.ID, err)
	}
	c.CreatedAt = c.CreatedAt.UTC()
	c.Scopes, err = api.ParseScopes(scopes)
	return c, err
}

const selectClient = `SELECT ` + clientColumns + ` FROM clients WHERE id = $1`

// Client returns one client, disabled or not, or ClientNotFound.
func (db *DB) Client(ctx context.Context, id string) (store.Client, error) {
	return latest(ctx, db, "read a client", func(v view) (store.Client, error) {
		return found(store.ClientNotFound(id), v, scanClient, selectClient, id)
	})
}

// Clients returns all clients in the order of their creation, then ids.
func (db *DB) Clients(ctx context.Context) ([]store.Client, error) {
	return latest(ctx, db, "read the clients", func(v view) ([]store.Client, error) {
		return all(v, scanClient, `SELECT `+clientColumns+` FROM clients ORDER BY created_at, id`)
	})
}

// CreateClient adds a client, or returns ClientExists.
func (db *DB) CreateClient(ctx context.Context, client store.Client, by store.Actor) error {
	return db.write(ctx, "create a client", func(s *session) error {
		n, err := s.execCount(`INSERT INTO clients (`+clientColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`,
			client.ID, client.Name, client.Secret[:], client.Scopes.String(), client.SandboxOnly, client.Disabled, client.CreatedAt)
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
		client, err := s.lockClient(id)
		if err != nil {
			return err
		}
		if err := s.exec(`UPDATE clients SET secret = $2 WHERE id = $1`, id, hash[:]); err != nil {
			return err
		}
		return s.audit(at, by, store.ActionRotateSecret, store.ClientSubject(id), client.Public(), client.Public())
	})
}

// UpdateClient changes what is named and returns the client as it is then, or ClientNotFound. What is as it should be already
// leaves no entry in the audit log.
func (db *DB) UpdateClient(ctx context.Context, id string, change store.ClientChange, by store.Actor, at time.Time) (store.Client, error) {
	return writeFor(ctx, db, "change a client", func(s *session) (store.Client, error) {
		before, err := s.lockClient(id)
		if err != nil {
			return before, err
		}
		after := change.Of(before)
		if after.Public() == before.Public() {
			return before, nil
		}
		if err := s.exec(`UPDATE clients SET name = $2, scopes = $3 WHERE id = $1`, id, after.Name, after.Scopes.String()); err != nil {
			return before, err
		}
		return after, s.audit(at, by, store.ActionUpdateClient, store.ClientSubject(id), before.Public(), after.Public())
	})
}

// SetClientDisabled shuts a client out or lets it in again, or returns ClientNotFound. A client that is as it should be
// already leaves no entry in the audit log.
func (db *DB) SetClientDisabled(ctx context.Context, id string, disabled bool, by store.Actor, at time.Time) error {
	return db.write(ctx, "disable or enable a client", func(s *session) error {
		before, err := s.lockClient(id)
		if err != nil || before.Disabled == disabled {
			return err
		}
		if err := s.exec(`UPDATE clients SET disabled = $2 WHERE id = $1`, id, disabled); err != nil {
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

// lockClient reads a client that no one else can change before the end of the transaction. Properties can be given to it
// meanwhile: shutting a client out must not wait for an import.
func (s *session) lockClient(id string) (store.Client, error) {
	return found(store.ClientNotFound(id), s, scanClient, selectClient+` FOR NO KEY UPDATE`, id)
}

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
