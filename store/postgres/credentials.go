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

func (db *DB) Client(ctx context.Context, id string) (store.Client, error) {
	return latest(ctx, db, "read a client", func(v view) (store.Client, error) {
		return store.Found(store.ClientNotFound(id), v, scanClient, selectClient, id)
	})
}

func (db *DB) Clients(ctx context.Context) ([]store.Client, error) {
	return latest(ctx, db, "read the clients", func(v view) ([]store.Client, error) {
		return store.All(v, scanClient, `SELECT `+clientColumns+` FROM clients ORDER BY created_at, id`)
	})
}

// Client locks the client's row. Properties can be given to the client meanwhile: shutting it out must not wait for an import.
func (s *session) Client(id string) (store.Client, error) {
	return store.Found(store.ClientNotFound(id), s, scanClient, selectClient+` FOR NO KEY UPDATE`, id)
}

func (s *session) AddClient(c store.Client) (added bool, err error) {
	n, err := s.execCount(`INSERT INTO clients (`+clientColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`,
		c.ID, c.Name, c.Secret[:], c.Scopes.String(), c.SandboxOnly, c.Disabled, c.CreatedAt)
	return n > 0, err
}

func (s *session) PutClient(c store.Client) error {
	return s.exec(`UPDATE clients SET name = $2, secret = $3, scopes = $4, sandbox_only = $5, disabled = $6 WHERE id = $1`,
		c.ID, c.Name, c.Secret[:], c.Scopes.String(), c.SandboxOnly, c.Disabled)
}

const signingKeyColumns = `id, secret, created_at, expires_at`

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

func (db *DB) SigningKeys(ctx context.Context, at time.Time) ([]store.SigningKey, error) {
	return latest(ctx, db, "read the signing keys", func(v view) ([]store.SigningKey, error) {
		return store.All(v, scanSigningKey, `
			SELECT `+signingKeyColumns+` FROM signing_keys
			WHERE expires_at IS NULL OR expires_at > $1 ORDER BY created_at DESC, id DESC`, at)
	})
}

// lockSigningKeys lets others read. It is the table that is locked, because what two replicas could do at once is to add a
// key, and there is no row to lock before it is there.
const lockSigningKeys = `LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`

func (s *session) LockSigningKeys() error { return s.exec(lockSigningKeys) }

func (s *session) SigningKeys() ([]store.SigningKey, error) {
	return store.All(s, scanSigningKey, `SELECT `+signingKeyColumns+` FROM signing_keys`)
}

func (s *session) AddSigningKey(key store.SigningKey) error {
	return s.exec(`INSERT INTO signing_keys (`+signingKeyColumns+`) VALUES ($1, $2, $3, $4)`,
		key.ID, key.Secret, key.CreatedAt, nilIfZero(key.ExpiresAt))
}

func (s *session) ExpireSigningKeys(at time.Time) error {
	return s.exec(`UPDATE signing_keys SET expires_at = $1 WHERE expires_at IS NULL OR expires_at > $1`, at)
}

func (s *session) DeleteSigningKey(id string) error {
	return s.exec(`DELETE FROM signing_keys WHERE id = $1`, id)
}

func (s *session) PurgeSigningKeys(before time.Time) (int64, error) {
	return s.execCount(`DELETE FROM signing_keys WHERE expires_at < $1`, before)
}
