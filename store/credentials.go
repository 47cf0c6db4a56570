package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/perks/api"
)

const clientColumns = `id, name, secret, scopes, sandbox_only, disabled, created_at`

func scanClient(r Scanner) (c Client, err error) {
	var secret []byte
	var scopes string
	if err := r.Scan(&c.ID, &c.Name, &secret, &scopes, &c.SandboxOnly, &c.Disabled, &c.CreatedAt); err != nil {
		return c, err
	}
	if len(secret) != len(c.Secret) {
		return c, fmt.Errorf("read client %q: the hash of a secret has %d bytes, not %d", c.ID, len(secret),
			len(c.Secret))
	}
	c.Secret = SecretHash(secret)
	c.Scopes, err = api.ParseScopes(scopes)
	return c, err
}

const selectClient = `SELECT ` + clientColumns + ` FROM clients WHERE id = $1`

func (o Operations) Client(ctx context.Context, id string) (Client, error) {
	return Read(ctx, o.db, "read a client", func(q Querier) (Client, error) {
		return OneOr(ClientNotFound(id), q, scanClient, selectClient, id)
	})
}

func (o Operations) Clients(ctx context.Context) ([]Client, error) {
	return Read(ctx, o.db, "read the clients", func(q Querier) ([]Client, error) {
		return All(q, scanClient, `SELECT `+clientColumns+` FROM clients ORDER BY created_at, id`)
	})
}

func (o Operations) CreateClient(ctx context.Context, client Client, by Actor) error {
	return o.db.Write(ctx, "create a client", func(tx Tx) error {
		added, err := tx.Exec(`INSERT INTO clients (`+clientColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (id) DO NOTHING`,
			client.ID, client.Name, client.Secret[:], client.Scopes.String(), client.SandboxOnly, client.Disabled,
			client.CreatedAt)
		if err != nil {
			return err
		}
		if added == 0 {
			return ClientExists(client.ID)
		}
		return Audit(tx, client.CreatedAt, by, ActionCreateClient, ClientSubject(client.ID), nil, client.Public())
	})
}

func (o Operations) SetClientSecret(ctx context.Context, id string, hash SecretHash, by Actor, at time.Time) error {
	_, err := o.changeClient(ctx, "replace a client's secret", id, by, at, func(c *Client) (action string) {
		c.Secret = hash
		return ActionRotateSecret
	})
	return err
}

// SetClientDisabled adds no entry to the audit log if nothing changes.
func (o Operations) SetClientDisabled(ctx context.Context, id string, disabled bool, by Actor, at time.Time) error {
	_, err := o.changeClient(ctx, "disable or enable a client", id, by, at, func(c *Client) (action string) {
		switch {
		case c.Disabled == disabled:
			return ""
		case disabled:
			action = ActionDisableClient
		default:
			action = ActionEnableClient
		}
		c.Disabled = disabled
		return action
	})
	return err
}

// UpdateClient adds no entry to the audit log if nothing changes.
func (o Operations) UpdateClient(
	ctx context.Context, id string, change ClientChange, by Actor, at time.Time,
) (Client, error) {
	return o.changeClient(ctx, "change a client", id, by, at, func(c *Client) (action string) {
		changed := change.Apply(*c)
		if changed.Public() == c.Public() {
			return ""
		}
		*c = changed
		return ActionUpdateClient
	})
}

// changeClient writes the client as change leaves it, unless change returns "".
func (o Operations) changeClient(
	ctx context.Context, doing, id string, by Actor, at time.Time, change func(*Client) (action string),
) (Client, error) {
	return writeFor(ctx, o, doing, func(tx Tx) (Client, error) {
		before, err := OneOr(ClientNotFound(id), tx, scanClient, selectClient+o.db.LockClient, id)
		if err != nil {
			return before, err
		}
		after := before
		action := change(&after)
		if action == "" {
			return before, nil
		}
		if _, err := tx.Exec(`UPDATE clients SET name = $2, secret = $3, scopes = $4, sandbox_only = $5, disabled = $6
			WHERE id = $1`,
			id, after.Name, after.Secret[:], after.Scopes.String(), after.SandboxOnly, after.Disabled); err != nil {
			return before, err
		}
		return after, Audit(tx, at, by, action, ClientSubject(id), before.Public(), after.Public())
	})
}

const signingKeyColumns = `id, secret, created_at, expires_at`

func scanSigningKey(r Scanner) (key SigningKey, err error) {
	var expires *time.Time
	err = r.Scan(&key.ID, &key.Secret, &key.CreatedAt, &expires)
	if expires != nil {
		key.ExpiresAt = *expires
	}
	return key, err
}

func (o Operations) SigningKeys(ctx context.Context, at time.Time) ([]SigningKey, error) {
	return Read(ctx, o.db, "read the signing keys", func(q Querier) ([]SigningKey, error) {
		return All(q, scanSigningKey, `SELECT `+signingKeyColumns+` FROM signing_keys
			WHERE expires_at IS NULL OR expires_at > $1 ORDER BY created_at DESC, id DESC`, at)
	})
}

// lockSigningKeys returns all keys, expired ones too, and keeps other transactions from adding or deleting any.
func (o Operations) lockSigningKeys(tx Tx) ([]SigningKey, error) {
	if err := lock(tx, o.db.LockSigningKeys); err != nil {
		return nil, err
	}
	return All(tx, scanSigningKey, `SELECT `+signingKeyColumns+` FROM signing_keys`)
}

func (o Operations) EnsureSigningKey(ctx context.Context, key SigningKey) error {
	return o.db.Write(ctx, "make the first signing key", func(tx Tx) error {
		keys, err := o.lockSigningKeys(tx)
		at := key.CreatedAt.Truncate(time.Microsecond) // as times are stored
		isValid := func(k SigningKey) bool { return k.ExpiresAt.IsZero() || k.ExpiresAt.After(at) }
		if err != nil || slices.ContainsFunc(keys, isValid) {
			return err
		}
		return addSigningKey(tx, key)
	})
}

func (o Operations) RotateSigningKey(ctx context.Context, key SigningKey, oldExpire time.Time, by Actor) error {
	return o.db.Write(ctx, "rotate the signing key", func(tx Tx) error {
		if _, err := o.lockSigningKeys(tx); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE signing_keys SET expires_at = $1 WHERE expires_at IS NULL OR expires_at > $1`,
			oldExpire); err != nil {
			return err
		}
		return rotateTo(tx, key, by)
	})
}

func (o Operations) DropSigningKey(
	ctx context.Context, id string, successor SigningKey, by Actor,
) (succeeded bool, err error) {
	return writeFor(ctx, o, "drop a signing key", func(tx Tx) (bool, error) {
		keys, err := o.lockSigningKeys(tx)
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(keys, func(k SigningKey) bool { return k.ID == id })
		if i < 0 {
			return false, SigningKeyNotFound(id)
		}
		if _, err := tx.Exec(`DELETE FROM signing_keys WHERE id = $1`, id); err != nil {
			return false, err
		}
		if err := Audit(tx, successor.CreatedAt, by, ActionDropSigningKey, SigningKeySubject(id), keys[i].Public(),
			nil); err != nil {
			return false, err
		}
		keys = slices.Delete(keys, i, i+1)
		if slices.ContainsFunc(keys, func(k SigningKey) bool { return k.ExpiresAt.IsZero() }) {
			return false, nil
		}
		return true, rotateTo(tx, successor, by)
	})
}

func addSigningKey(tx Tx, key SigningKey) error {
	var expires *time.Time
	if !key.ExpiresAt.IsZero() {
		expires = &key.ExpiresAt
	}
	_, err := tx.Exec(`INSERT INTO signing_keys (`+signingKeyColumns+`) VALUES ($1, $2, $3, $4)`, key.ID, key.Secret,
		key.CreatedAt, expires)
	return err
}

func rotateTo(tx Tx, key SigningKey, by Actor) error {
	if err := addSigningKey(tx, key); err != nil {
		return err
	}
	return Audit(tx, key.CreatedAt, by, ActionRotateSigningKey, SigningKeySubject(key.ID), nil, key.Public())
}

func (o Operations) PurgeSigningKeys(ctx context.Context, before time.Time) (int64, error) {
	return writeFor(ctx, o, "delete signing keys", func(tx Tx) (int64, error) {
		return tx.Exec(`DELETE FROM signing_keys WHERE expires_at < $1`, before)
	})
}
