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

const selectClient = `SELECT ` + clientColumns + ` FROM clients WHERE id = ?`

func (db *DB) Client(ctx context.Context, id string) (store.Client, error) {
	client, err := store.Found(store.ClientNotFound(id), db.latest(ctx), scanClient, selectClient, id)
	return client, fault("read a client", err)
}

func (db *DB) Clients(ctx context.Context) ([]store.Client, error) {
	clients, err := store.All(db.latest(ctx), scanClient, `SELECT `+clientColumns+` FROM clients ORDER BY created_at, id`)
	return clients, fault("read the clients", err)
}

func (s *session) Client(id string) (store.Client, error) {
	return store.Found(store.ClientNotFound(id), s, scanClient, selectClient, id)
}

func (s *session) AddClient(c store.Client) (added bool, err error) {
	n, err := s.execCount(`INSERT INTO clients (`+clientColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		c.ID, c.Name, c.Secret[:], c.Scopes.String(), c.SandboxOnly, c.Disabled, c.CreatedAt.UnixMicro())
	return n > 0, err
}

func (s *session) PutClient(c store.Client) error {
	return s.exec(`UPDATE clients SET name = ?, secret = ?, scopes = ?, sandbox_only = ?, disabled = ? WHERE id = ?`,
		c.Name, c.Secret[:], c.Scopes.String(), c.SandboxOnly, c.Disabled, c.ID)
}

const signingKeyColumns = `id, secret, created_at, expires_at`

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

func (db *DB) SigningKeys(ctx context.Context, at time.Time) ([]store.SigningKey, error) {
	keys, err := store.All(db.latest(ctx), scanSigningKey, `
		SELECT `+signingKeyColumns+` FROM signing_keys
		WHERE expires_at IS NULL OR expires_at > ? ORDER BY created_at DESC, id DESC`, at.UnixMicro())
	return keys, fault("read the signing keys", err)
}

// LockSigningKeys does nothing: there is one writer at a time.
func (s *session) LockSigningKeys() error { return nil }

func (s *session) SigningKeys() ([]store.SigningKey, error) {
	return store.All(s, scanSigningKey, `SELECT `+signingKeyColumns+` FROM signing_keys`)
}

func (s *session) AddSigningKey(key store.SigningKey) error {
	return s.exec(`INSERT INTO signing_keys (`+signingKeyColumns+`) VALUES (?, ?, ?, ?)`,
		key.ID, key.Secret, key.CreatedAt.UnixMicro(), microsOrNilIfZero(key.ExpiresAt))
}

func (s *session) ExpireSigningKeys(at time.Time) error {
	return s.exec(`UPDATE signing_keys SET expires_at = ?1 WHERE expires_at IS NULL OR expires_at > ?1`, at.UnixMicro())
}

func (s *session) DeleteSigningKey(id string) error {
	return s.exec(`DELETE FROM signing_keys WHERE id = ?`, id)
}

func (s *session) PurgeSigningKeys(before time.Time) (int64, error) {
	return s.execCount(`DELETE FROM signing_keys WHERE expires_at < ?`, before.UnixMicro())
}
