package store

import (
	"context"
	"iter"
	"slices"
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

// inSnapshot is RetryRead for work with a consistent view, such as Database.Snapshot gives.
func inSnapshot[T any](
	ctx context.Context, o Operations, doing string, snapshot func(context.Context, func(Querier) error) error,
	work func(Querier) (T, error),
) (T, error) {
	return RetryRead(ctx, o.db, doing, func() (result T, err error) {
		err = snapshot(ctx, func(q Querier) (err error) {
			result, err = work(q)
			return err
		})
		return result, err
	})
}

// lock executes a lock statement of the dialect, unless it is "", or no row can match its arguments.
func lock(tx Tx, statement string, args ...any) error {
	if statement == "" || slices.ContainsFunc(args, IsUnstorable) {
		return nil
	}
	_, err := tx.Exec(statement, args...)
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
		SELECT `+perkRecordColumns+` FROM perks AS p `+o.db.Stock+` ORDER BY p.id`)
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
	return o.purge(ctx, "delete idempotency keys", `
		WITH old AS MATERIALIZED (
			SELECT client_id, key FROM idempotency_keys
			WHERE created_at < $1 ORDER BY created_at LIMIT $2`+o.db.SkipLocked+`)
		DELETE FROM idempotency_keys WHERE (client_id, key) IN (SELECT client_id, key FROM old)`, before)
}

// purge deletes what is before $1, $2 rows at a time.
func (o Operations) purge(ctx context.Context, doing, text string, before time.Time) (purged int64, err error) {
	for {
		n, err := writeFor(ctx, o, doing, func(tx Tx) (int64, error) {
			return tx.Exec(text, before, purgeChunk)
		})
		purged += n
		if err != nil || n < purgeChunk {
			return purged, err
		}
	}
}

// EmptySandbox does what Sandbox.Reset promises, in a transaction of the driver.
func (o Operations) EmptySandbox(tx Tx, by Actor, at time.Time) (emptied Emptied, err error) {
	if err := o.db.LockSandbox(tx); err != nil {
		return emptied, err
	}
	found, err := LiveRecordsIn(tx)
	if err == nil && found.Any() {
		err = NotASandbox(found)
	}
	if err != nil {
		return emptied, err
	}
	err = o.db.Unprotected(tx, func() error {
		return Run(tx.Exec,
			Step{Text: `DELETE FROM searched_metadata`}, // first, so that nobody indexes meanwhile
			Step{Text: `DELETE FROM redemption_metadata`},
			Step{Text: `DELETE FROM refused_redemptions`},
			Step{Count: &emptied.IdempotencyKeys, Text: `DELETE FROM idempotency_keys`},
			Step{Count: &emptied.Redemptions, Text: `DELETE FROM redemptions`},
			Step{Text: `DELETE FROM perk_stock`},
			Step{Text: `DELETE FROM audited_perks`},
			Step{Text: `DELETE FROM perk_edits`},
			Step{Text: o.db.EmptyIndex},
			Step{Count: &emptied.Perks, Text: `DELETE FROM perks`},
			Step{Count: &emptied.Categories, Text: `DELETE FROM categories`},
			Step{Count: &emptied.Users, Text: `DELETE FROM users`},
		)
	})
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
