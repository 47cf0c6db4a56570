package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/perks/api"
)

// Tx is a transaction that writes, as a driver gives it. What it reads stays true until it ends, except where a method says otherwise.
type Tx interface {
	// Client returns a client or ClientNotFound.
	Client(id string) (Client, error)
	// AddClient returns false if the id is taken.
	AddClient(client Client) (added bool, err error)
	// PutClient replaces a client that Client has returned.
	PutClient(client Client) error

	// LockSigningKeys comes before all else that is done with signing keys: one transaction at a time decides which there are.
	LockSigningKeys() error
	// SigningKeys returns all keys, expired ones too.
	SigningKeys() ([]SigningKey, error)
	AddSigningKey(key SigningKey) error
	// ExpireSigningKeys lets all keys expire at the instant, unless they expire before.
	ExpireSigningKeys(at time.Time) error
	DeleteSigningKey(id string) error
	// PurgeSigningKeys deletes those that expired before the instant. It needs no lock.
	PurgeSigningKeys(before time.Time) (int64, error)

	// Property returns a listing or PropertyNotFound.
	Property(id int64) (PropertyRecord, error)
	// HasProperty keeps others from adding a listing until the transaction ends.
	HasProperty(id int64) (bool, error)
	// AddProperty returns false if the id is taken.
	AddProperty(property PropertyRecord) (added bool, err error)
	// PutProperty replaces a listing that Property has returned.
	PutProperty(property PropertyRecord) error
	DeleteProperty(id int64) error
	// DeletedProperty returns what the audit log kept of the listing when it was last deleted, or PropertyNotFound.
	DeletedProperty(id int64) (string, error)

	// Redemption returns a redemption or RedemptionNotFound.
	Redemption(id string) (api.Redemption, error)
	// PutStatus writes the redemption's status.
	PutStatus(redemption api.Redemption) error
	// GiveBack gives the redemption's unit back to the perk's stock.
	GiveBack(redemption api.Redemption) error
	// PurgeIdempotencyKeys deletes at most so many of the keys first used before the instant.
	PurgeIdempotencyKeys(before time.Time, most int) (int64, error)

	// LockSandbox counts what only a live database has, and keeps others from the records that Empty deletes.
	LockSandbox() (LiveRecords, error)
	// Empty deletes what Sandbox.Reset forgets.
	Empty() (Emptied, error)

	// AddEntry adds to the audit log. Before and after are JSON, nil where there was or is no record.
	AddEntry(at time.Time, by Actor, action, subject string, before, after *string) error
}

// Operations are the writes of a Store that are the same for every driver: they read, check, write and leave an entry in the
// audit log in one transaction. A driver embeds them.
type Operations struct {
	write func(ctx context.Context, doing string, work func(Tx) error) error
}

// NewOperations has write run work in a transaction, once or more often, and return when it is durable.
func NewOperations(write func(ctx context.Context, doing string, work func(Tx) error) error) Operations {
	return Operations{write}
}

// writeFor is write for work that has a result, which is left alone when its caller does not wait for the end.
func writeFor[T any](ctx context.Context, o Operations, doing string, work func(Tx) (T, error)) (T, error) {
	var result, none T
	err := o.write(ctx, doing, func(tx Tx) (err error) {
		result, err = work(tx)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// Audit adds an entry to the audit log, with the records as JSON. A nil record is null.
func Audit(tx Tx, at time.Time, by Actor, action, subject string, before, after any) error {
	was, err := auditText(before)
	if err != nil {
		return err
	}
	is, err := auditText(after)
	if err != nil {
		return err
	}
	return tx.AddEntry(at, by, action, subject, was, is)
}

func (o Operations) AuditRestore(ctx context.Context, restored Restored, by Actor, at time.Time) error {
	return o.write(ctx, "note that the database was restored", func(tx Tx) error {
		return Audit(tx, at, by, ActionRestoreDatabase, DatabaseSubject, nil, restored)
	})
}

func (o Operations) CreateClient(ctx context.Context, client Client, by Actor) error {
	return o.write(ctx, "create a client", func(tx Tx) error {
		added, err := tx.AddClient(client)
		if err != nil {
			return err
		}
		if !added {
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

// SetClientDisabled leaves no entry in the audit log if the client is as it should be already.
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

// UpdateClient leaves no entry in the audit log if the client is as it should be already.
func (o Operations) UpdateClient(ctx context.Context, id string, change ClientChange, by Actor, at time.Time) (Client, error) {
	return o.changeClient(ctx, "change a client", id, by, at, func(c *Client) (action string) {
		changed := change.Of(*c)
		if changed.Public() == c.Public() {
			return ""
		}
		*c = changed
		return ActionUpdateClient
	})
}

// changeClient writes what change makes of the client, unless it returns no action.
func (o Operations) changeClient(ctx context.Context, doing, id string, by Actor, at time.Time, change func(*Client) (action string)) (Client, error) {
	return writeFor(ctx, o, doing, func(tx Tx) (Client, error) {
		before, err := tx.Client(id)
		if err != nil {
			return before, err
		}
		after := before
		action := change(&after)
		if action == "" {
			return before, nil
		}
		if err := tx.PutClient(after); err != nil {
			return before, err
		}
		return after, Audit(tx, at, by, action, ClientSubject(id), before.Public(), after.Public())
	})
}

func (o Operations) EnsureSigningKey(ctx context.Context, key SigningKey) error {
	return o.write(ctx, "make the first signing key", func(tx Tx) error {
		if err := tx.LockSigningKeys(); err != nil {
			return err
		}
		keys, err := tx.SigningKeys()
		if err != nil || slices.ContainsFunc(keys, func(k SigningKey) bool { return k.isValid(key.CreatedAt) }) {
			return err
		}
		return tx.AddSigningKey(key)
	})
}

func (o Operations) RotateSigningKey(ctx context.Context, key SigningKey, oldExpire time.Time, by Actor) error {
	return o.write(ctx, "rotate the signing key", func(tx Tx) error {
		if err := tx.LockSigningKeys(); err != nil {
			return err
		}
		if err := tx.ExpireSigningKeys(oldExpire); err != nil {
			return err
		}
		return addKey(tx, key, by)
	})
}

func (o Operations) DropSigningKey(ctx context.Context, id string, successor SigningKey, by Actor) (succeeded bool, err error) {
	return writeFor(ctx, o, "drop a signing key", func(tx Tx) (bool, error) {
		if err := tx.LockSigningKeys(); err != nil {
			return false, err
		}
		keys, err := tx.SigningKeys()
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(keys, func(k SigningKey) bool { return k.ID == id })
		if i < 0 {
			return false, SigningKeyNotFound(id)
		}
		if err := tx.DeleteSigningKey(id); err != nil {
			return false, err
		}
		if err := Audit(tx, successor.CreatedAt, by, ActionDropSigningKey, SigningKeySubject(id), keys[i].Public(), nil); err != nil {
			return false, err
		}
		keys = slices.Delete(keys, i, i+1)
		if slices.ContainsFunc(keys, func(k SigningKey) bool { return k.ExpiresAt.IsZero() }) {
			return false, nil
		}
		return true, addKey(tx, successor, by)
	})
}

func addKey(tx Tx, key SigningKey, by Actor) error {
	if err := tx.AddSigningKey(key); err != nil {
		return err
	}
	return Audit(tx, key.CreatedAt, by, ActionRotateSigningKey, SigningKeySubject(key.ID), nil, key.Public())
}

func (o Operations) PurgeSigningKeys(ctx context.Context, before time.Time) (int64, error) {
	return writeFor(ctx, o, "forget signing keys", func(tx Tx) (int64, error) { return tx.PurgeSigningKeys(before) })
}

func (o Operations) UpdateProperty(ctx context.Context, id int64, by Actor, at time.Time, change func(*PropertyRecord) error) error {
	return o.write(ctx, "update a property", func(tx Tx) error {
		property, err := tx.Property(id)
		if err != nil {
			return err
		}
		before, err := property.apply(change)
		if err != nil || before == nil {
			return err
		}
		if err := tx.PutProperty(property); err != nil {
			return err
		}
		return Audit(tx, at, by, ActionUpdateProperty, PropertySubject(id), before, property)
	})
}

func (o Operations) DeleteProperty(ctx context.Context, id int64, by Actor, at time.Time, check func(PropertyRecord) error) error {
	return o.write(ctx, "delete a property", func(tx Tx) error {
		property, err := tx.Property(id)
		if err != nil {
			return err
		}
		if err := check(property); err != nil {
			return err
		}
		if err := tx.DeleteProperty(id); err != nil {
			return err
		}
		return Audit(tx, at, by, ActionDeleteProperty, PropertySubject(id), property, nil)
	})
}

func (o Operations) RestoreProperty(ctx context.Context, id int64, by Actor, at time.Time) (PropertyRecord, error) {
	return writeFor(ctx, o, "restore a property", func(tx Tx) (PropertyRecord, error) {
		var deleted PropertyRecord
		exists, err := tx.HasProperty(id)
		if err != nil {
			return deleted, err
		}
		if exists {
			return deleted, PropertyExists(id)
		}
		text, err := tx.DeletedProperty(id)
		if err != nil {
			return deleted, err
		}
		if deleted, err = readDeletedProperty(id, text); err != nil {
			return deleted, err
		}
		added, err := tx.AddProperty(deleted)
		if err != nil {
			return deleted, err
		}
		if !added { // someone else restored or imported it meanwhile
			return deleted, PropertyExists(id)
		}
		return deleted, Audit(tx, at, by, ActionRestoreProperty, PropertySubject(id), nil, deleted)
	})
}

func (o Operations) DecideRedemption(ctx context.Context, id string, status api.RedemptionStatus, by Actor, at time.Time) (api.Redemption, error) {
	action, isDecision := map[api.RedemptionStatus]string{api.StatusApproved: ActionApprove, api.StatusRejected: ActionReject}[status]
	if !isDecision {
		return api.Redemption{}, fmt.Errorf("a redemption cannot be decided to be %q", status)
	}
	return writeFor(ctx, o, "decide a redemption", func(tx Tx) (api.Redemption, error) {
		before, err := tx.Redemption(id)
		if err != nil {
			return before, err
		}
		if before.Status != api.StatusPending {
			return before, RedemptionDecided(id, before.Status)
		}
		after := before
		after.Status = status
		if err := tx.PutStatus(after); err != nil {
			return before, err
		}
		if status == api.StatusRejected {
			if err := tx.GiveBack(after); err != nil {
				return before, err
			}
		}
		return after, Audit(tx, at, by, action, RedemptionSubject(id), before, after)
	})
}

// purgeChunk keeps each transaction short: other writes go in between.
const purgeChunk = 2000

func (o Operations) PurgeIdempotencyKeys(ctx context.Context, before time.Time) (purged int64, err error) {
	for {
		n, err := writeFor(ctx, o, "forget idempotency keys", func(tx Tx) (int64, error) { return tx.PurgeIdempotencyKeys(before, purgeChunk) })
		purged += n
		if err != nil || n < purgeChunk {
			return purged, err
		}
	}
}

// EmptySandbox does what Sandbox.Reset promises, in a transaction of the driver.
func EmptySandbox(tx Tx, by Actor, at time.Time) (Emptied, error) {
	found, err := tx.LockSandbox()
	if err != nil {
		return Emptied{}, err
	}
	if found.AreThere() {
		return Emptied{}, NotASandbox(found)
	}
	emptied, err := tx.Empty()
	if err != nil {
		return emptied, err
	}
	return emptied, Audit(tx, at, by, ActionResetSandbox, SandboxSubject, emptied, nil)
}
