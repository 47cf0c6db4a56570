package store

import (
	"context"
	"errors"

	"example.com/perks/api"
)

// AuditBatch is the entries between two positions, in the order of their commits. A transaction is never divided.
// After of a listing's update is the whole listing, as it is now.
type AuditBatch struct {
	Since, Until AuditPosition
	Entries      []AuditEntry
	IsLast       bool // Until is the end that was asked for
}

// ErrPosition means that a text is not an AuditPosition of the database.
var ErrPosition = errors.New("not a position in the audit log")

// AuditPositionUnknown says that the database does not have that position.
func AuditPositionUnknown() error {
	fields := api.FieldErrors{}
	fields.Add("after", "is not a position in the events of this service, or its database was restored from an older copy: "+
		"leave it out to begin at the newest ones")
	return fields.Err()
}

func (o Operations) NextAudit(ctx context.Context, since, upTo AuditPosition, most int) (AuditBatch, error) {
	return o.auditBatch(ctx, func(q Querier) (batch AuditBatch, err error) {
		batch.Since = since
		end, err := o.db.AuditEnd(q, since, upTo, most)
		if err != nil {
			return batch, err
		}
		batch.Until, batch.IsLast = end.Position, end.IsLast
		if since == "" || since == batch.Until {
			return batch, nil
		}
		err = o.readBatch(q, &batch)
		return batch, err
	})
}

func (o Operations) AuditBetween(ctx context.Context, since, until AuditPosition, most int) (AuditBatch, error) {
	return o.auditBatch(ctx, func(q Querier) (AuditBatch, error) {
		batch := AuditBatch{Since: since, Until: until, IsLast: true}
		// A caller may have made up the positions. There may be more rows between them than the batch has entries: those of transactions that
		// were still running at its end.
		end, err := o.db.AuditEnd(q, since, until, 16*most)
		if err == nil && (since == "" || !end.IsLast) {
			err = ErrPosition
		}
		if err != nil {
			return batch, err
		}
		err = o.readBatch(q, &batch)
		return batch, err
	})
}

// AuditEnd is where a batch ends.
type AuditEnd struct {
	Position AuditPosition
	IsLast   bool // it is the end that was asked for
}

func (o Operations) readBatch(q Querier, batch *AuditBatch) error {
	redemptions, entries, err := o.db.AuditRange(q, batch.Since, batch.Until)
	if err != nil {
		return err
	}
	text, args := AuditQuery{}.union(o.db.Dialect, redemptions, entries)
	batch.Entries, err = All(q, scanAuditEntry, text+o.db.AuditInCommitOrder, args...)
	return err
}

func (o Operations) auditBatch(ctx context.Context, read func(Querier) (AuditBatch, error)) (AuditBatch, error) {
	return RetryRead(ctx, o.db, "read a part of the audit log", func() (batch AuditBatch, err error) {
		err = o.db.Snapshot(notBehind(ctx), func(q Querier) (err error) {
			if batch, err = read(q); errors.Is(err, ErrPosition) || errors.Is(err, ErrOlderCopy) {
				err = AuditPositionUnknown()
			}
			if err == nil {
				err = o.completeUpdates(q, batch.Entries)
			}
			return err
		})
		return batch, err
	})
}
