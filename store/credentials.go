package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/perks/api"
)

const clientColumns = `id, name, secret, scopes, sandbox_only, actors, disabled, secret_at, old_secrets, expires_at,
	created_at, last_token_at`

func scanClient(r Scanner) (c Client, err error) {
	var secret []byte
	var scopes string
	var oldSecrets *string
	var secretAt, expiresAt, lastTokenAt *time.Time
	if err := r.Scan(&c.ID, &c.Name, &secret, &scopes, &c.SandboxOnly, &c.NamesActors, &c.Disabled, &secretAt,
		&oldSecrets, &expiresAt, &c.CreatedAt, &lastTokenAt); err != nil {
		return c, err
	}
	c.SecretAt, c.ExpiresAt, c.LastTokenAt = orZero(secretAt), orZero(expiresAt), orZero(lastTokenAt)
	if oldSecrets != nil {
		if err := json.Unmarshal([]byte(*oldSecrets), &c.OldSecrets); err != nil {
			return c, fmt.Errorf("read the old secrets of client %q: %w", c.ID, err)
		}
	}
	if len(secret) != len(c.Secret) {
		return c, fmt.Errorf("read client %q: the hash of a secret has %d bytes, not %d", c.ID, len(secret),
			len(c.Secret))
	}
	c.Secret = SecretHash(secret)
	c.Scopes, err = api.ParseScopes(scopes)
	return c, err
}

// clientValues are the values of clientColumns.
func clientValues(c Client) ([]any, error) {
	var oldSecrets *string
	if len(c.OldSecrets) > 0 {
		text, err := json.Marshal(c.OldSecrets)
		if err != nil {
			return nil, err
		}
		oldSecrets = new(string(text))
	}
	return []any{c.ID, c.Name, c.Secret[:], c.Scopes.String(), c.SandboxOnly, c.NamesActors, c.Disabled,
		timeOrNull(c.SecretAt), oldSecrets, timeOrNull(c.ExpiresAt), c.CreatedAt, timeOrNull(c.LastTokenAt)}, nil
}

// orZero returns the time that a column has, or the zero time for null.
func orZero(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}

// timeOrNull reverses orZero.
func timeOrNull(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
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
		values, err := clientValues(client)
		if err != nil {
			return err
		}
		added, err := tx.Exec(`INSERT INTO clients (`+clientColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING`, values...)
		if err != nil {
			return err
		}
		if added == 0 {
			return ClientExists(client.ID)
		}
		return Audit(tx, client.CreatedAt, by, ActionCreateClient, ClientSubject(client.ID), nil, client.Public())
	})
}

// SetClientDisabled adds no entry to the audit log if nothing changes.
func (o Operations) SetClientDisabled(ctx context.Context, id string, disabled bool, by Actor, at time.Time) error {
	_, err := o.ChangeClient(ctx, id, by, at, func(c *Client) (action string) {
		switch {
		case c.Disabled == disabled:
			return ""
		case disabled:
			action, c.OldSecrets = ActionDisableClient, nil
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
	return o.ChangeClient(ctx, id, by, at, func(c *Client) (action string) {
		changed := change.Apply(*c)
		if changed.Public() == c.Public() {
			return ""
		}
		*c = changed
		return ActionUpdateClient
	})
}

func (o Operations) ChangeClient(
	ctx context.Context, id string, by Actor, at time.Time, change func(*Client) (action string),
) (Client, error) {
	return writeFor(ctx, o, "change a client", func(tx Tx) (Client, error) {
		before, err := OneOr(ClientNotFound(id), tx, scanClient, selectClient+o.db.LockClient, id)
		if err != nil {
			return before, err
		}
		after := before
		action := change(&after)
		if action == "" {
			return before, nil
		}
		values, err := clientValues(after)
		if err != nil {
			return before, err
		}
		if _, err := tx.Exec(`UPDATE clients SET name = $2, secret = $3, scopes = $4, sandbox_only = $5, actors = $6,
			disabled = $7, secret_at = $8, old_secrets = $9, expires_at = $10 WHERE id = $1`,
			values[:10]...); err != nil {
			return before, err
		}
		return after, Audit(tx, at, by, action, ClientSubject(id), before.Public(), after.Public())
	})
}

func (o Operations) NoteTokens(ctx context.Context, issued map[string]time.Time) error {
	if len(issued) == 0 {
		return nil
	}
	return o.db.Write(ctx, "note when clients got tokens", func(tx Tx) error {
		for _, id := range slices.Sorted(maps.Keys(issued)) { // in one order, against deadlocks
			if _, err := tx.Exec(`UPDATE clients SET last_token_at = $2
				WHERE id = $1 AND (last_token_at IS NULL OR last_token_at <= $3)`,
				id, issued[id], issued[id].Add(-TokenNoteInterval)); err != nil {
				return err
			}
		}
		return nil
	})
}

const signingKeyColumns = `id, secret, created_at, expires_at`

func scanSigningKey(r Scanner) (key SigningKey, err error) {
	var expires *time.Time
	err = r.Scan(&key.ID, &key.Secret, &key.CreatedAt, &expires)
	key.ExpiresAt = orZero(expires)
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
	_, err := tx.Exec(`INSERT INTO signing_keys (`+signingKeyColumns+`) VALUES ($1, $2, $3, $4)`, key.ID, key.Secret,
		key.CreatedAt, timeOrNull(key.ExpiresAt))
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
