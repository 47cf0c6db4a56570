package store

import (
	"context"
	"iter"
	"sync"
	"time"

	"example.com/perks/api"
)

// Operations are the methods of a Store that all drivers share. A write reads, checks, writes and adds its entry to the
// audit log in one transaction.
type Operations struct{ db Database }

// NewOperations returns the operations on a database.
func NewOperations(db Database) Operations { return Operations{db} }

// writeFor is Write for work with a result. After an error it does not touch the result: the work may still be running.
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

// write is Database.Write that tells OnAudited what the work adds to the audit log.
func (o Operations) write(ctx context.Context, doing string, work func(Tx) error) error {
	added, isMetered := ctx.Value(auditedKey{}).(func(bytes int))
	if !isMetered {
		return o.db.Write(ctx, doing, work)
	}
	var once sync.Once // the work may run again
	return o.db.Write(ctx, doing, func(tx Tx) error {
		metered := &meteredTx{Tx: tx}
		err := work(metered)
		if err == nil && metered.audited > 0 {
			once.Do(func() { added(metered.audited) })
		}
		return err
	})
}

// meteredTx counts the bytes of the entries that are added to the audit log.
type meteredTx struct {
	Tx
	audited int
}

type auditedKey struct{}

// OnAudited returns a context for a change of a listing, or a decision. added is called once with the bytes of its
// entries in the audit log before they are committed, even if the caller has gone by then. Nothing is added by a change
// that is refused.
func OnAudited(ctx context.Context, added func(bytes int)) context.Context {
	return context.WithValue(ctx, auditedKey{}, added)
}

// lock executes a lock statement of the dialect, unless it is "".
func lock(tx Tx, statement string) error {
	if statement == "" {
		return nil
	}
	_, err := tx.Exec(statement)
	return err
}

func scanCategory(r Scanner) (c api.Category, err error) { return c, r.Scan(&c.ID, &c.Name) }

func (o Operations) Categories(ctx context.Context) ([]api.Category, error) {
	return Read(ctx, o.db, "read the categories", func(q Querier) ([]api.Category, error) {
		return All(q, scanCategory, `SELECT id, name FROM categories ORDER BY name_fold, id`)
	})
}

// Each export is a single query, and so sees a consistent snapshot.

func (o Operations) ExportPerks(ctx context.Context) iter.Seq2[PerkRecord, error] {
	return stream(ctx, o.db, "export perks", scanPerkRecord, `
		SELECT p.lat, p.lng, s.stock, p.approval, `+PerkColumns+` FROM perks AS p `+o.db.Stock+` ORDER BY p.id`)
}

func (o Operations) ExportCategories(ctx context.Context) iter.Seq2[api.Category, error] {
	return stream(ctx, o.db, "export categories", scanCategory, `SELECT id, name FROM categories ORDER BY id`)
}

func (o Operations) ExportUsers(ctx context.Context) iter.Seq2[User, error] {
	return stream(ctx, o.db, "export users", scanUser, `SELECT id FROM users ORDER BY id`)
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
	if metered, ok := tx.(*meteredTx); ok {
		metered.audited += len(by) + len(action) + len(subject)
		for _, record := range []*string{was, is} {
			if record != nil {
				metered.audited += len(*record)
			}
		}
	}
	_, err = tx.Exec(`INSERT INTO audit (at, actor, action, subject, before, after) VALUES ($1, $2, $3, $4, $5, $6)`,
		at, string(by), action, subject, was, is)
	return err
}

func (o Operations) AuditRestore(ctx context.Context, restored Restored, by Actor, at time.Time) error {
	return o.db.Write(ctx, "record that the database was restored", func(tx Tx) error {
		return Audit(tx, at, by, ActionRestoreDatabase, DatabaseSubject, nil, restored)
	})
}

// purgeChunk keeps each transaction short, so that other writes do not wait.
const purgeChunk = 2000

func (o Operations) PurgeIdempotencyKeys(ctx context.Context, before time.Time) (purged int64, err error) {
	for {
		n, err := writeFor(ctx, o, "delete idempotency keys",
			func(tx Tx) (int64, error) { return tx.PurgeIdempotencyKeys(before, purgeChunk) })
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
	if found.Any() {
		return Emptied{}, NotASandbox(found)
	}
	emptied, err := tx.Empty()
	if err != nil {
		return emptied, err
	}
	return emptied, Audit(tx, at, by, ActionResetSandbox, SandboxSubject, emptied, nil)
}

// LiveRecordsIn counts the records that only a live database has.
func LiveRecordsIn(q Querier) (LiveRecords, error) {
	return One(q, func(r Scanner) (l LiveRecords, err error) {
		return l, r.Scan(&l.Clients, &l.SigningKeys, &l.Properties)
	},
		`SELECT (SELECT count(*) FROM clients), (SELECT count(*) FROM signing_keys), (SELECT count(*) FROM properties)`)
}
