package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/perks/api"
)

func (o Operations) RestoreProperty(ctx context.Context, restoration PropertyRestoration) (RestoredProperty, error) {
	// The version is found before the write begins, which would keep others waiting. It never changes.
	var wanted PropertyRecord
	var notFound error
	isNamed := restoration.Is != nil || !restoration.AsOf.IsZero()
	if isNamed {
		wanted, notFound = o.versionToRestore(ctx, restoration)
		if api.CodeOf(notFound) == api.CodeInternal {
			return RestoredProperty{}, notFound
		}
	}
	id := restoration.ID
	return writeFor(ctx, o, "restore a property", func(tx Tx) (restored RestoredProperty, err error) {
		if err := lock(tx, o.db.LockNewProperties); err != nil {
			return restored, err
		}
		if restoration.Key != nil {
			named, entry, err := knownKey(tx, restoration.ClientID, *restoration.Key, restoration.At)
			if err == nil && (named == nil || *named != id) {
				err = IdempotencyKeyReused(restoration.Key.Key)
			}
			if err == nil {
				restored.PropertyRecord, err = wanted, notFound // which it was already
				if entry != nil {
					err = o.firstReply(tx, *entry, &restored.PropertyRecord)
				}
				restored.Replayed = err == nil
			}
			if !errors.Is(err, ErrNoRow) {
				return restored, err
			}
		}
		known, err := o.lockProperty(tx, id)
		isDeleted := api.CodeOf(err) == api.CodeNotFound
		if isDeleted {
			known.record, err = o.deletedProperty(tx, id)
		}
		if err == nil && restoration.Check != nil {
			err = restoration.Check(known.record)
		}
		if err != nil {
			return restored, err
		}
		target := known.record
		switch {
		case isNamed:
			target = wanted
			err = notFound
		case !isDeleted:
			err = PropertyNotDeleted(id)
		}
		if err != nil {
			return restored, err
		}
		target.ID, target.Owner = id, known.record.Owner
		restored.PropertyRecord = target
		entry, err := o.putRestored(tx, restoration, known.record, target, isDeleted)
		if err == nil && restoration.Key != nil {
			err = keepKey(tx, restoration.ClientID, *restoration.Key, restoration.At, &id, entry)
		}
		return restored, err
	})
}

// putRestored writes a restored listing with its entry in the audit log, of which it returns the number; nil if it was
// equal already.
func (o Operations) putRestored(
	tx Tx, restoration PropertyRestoration, known, target PropertyRecord, isDeleted bool,
) (entry *int64, err error) {
	var before any
	if isDeleted {
		added, err := addProperty(tx, target)
		if err == nil && added == 0 { // another transaction added it meanwhile
			err = PropertyNotDeleted(target.ID)
		}
		if err != nil {
			return nil, err
		}
	} else {
		was, errWas := json.Marshal(known)
		is, errIs := json.Marshal(target)
		if err := errors.Join(errWas, errIs); err != nil || bytes.Equal(was, is) {
			return nil, err
		}
		if _, err := tx.Exec(updateProperty, append(storedPropertyValues(target), auditedAs(is, 0))...); err != nil {
			return nil, err
		}
		before = known
	}
	subject := PropertySubject(target.ID)
	if err := Audit(tx, restoration.At, restoration.By, ActionRestoreProperty, subject, before, target); err != nil {
		return nil, err
	}
	return o.lastEntry(tx, subject)
}

// lastEntry returns the number of the entry that a transaction has added about a subject.
func (o Operations) lastEntry(tx Tx, subject string) (*int64, error) {
	number, err := One(tx, ScanValue[int64], `
		SELECT `+o.db.AuditID+` FROM audit WHERE subject = $1 ORDER BY `+o.db.AuditID+` DESC LIMIT 1`, subject)
	return &number, err
}

// firstReply decodes what an entry says that a change has left, for a key that names it.
func (o Operations) firstReply(tx Tx, entry int64, into any) error {
	encoded, err := OneOr(fmt.Errorf("the audit log lacks the entry %d, which has the reply to a key", entry), tx,
		ScanValue[string], `SELECT after FROM audit WHERE `+o.db.AuditID+` = $1`, entry)
	if err == nil {
		err = json.Unmarshal([]byte(encoded), into)
	}
	return err
}

// versionToRestore finds the version that a restoration names.
func (o Operations) versionToRestore(ctx context.Context, restoration PropertyRestoration) (PropertyRecord, error) {
	return inSnapshot(ctx, o, "find the version to restore", o.db.Snapshot,
		func(q Querier) (PropertyRecord, error) {
			h, err := o.historyOf(q, restoration.ID, func(string) error { return nil })
			switch {
			case err != nil:
				return PropertyRecord{}, err
			case restoration.Is != nil:
				return findVersion(h, restoration.ID, restoration.Is)
			}
			record, _, err := h.asOf(restoration.AsOf)
			return record, err
		})
}

// deletedProperty returns a listing as it was when it was deleted for the last time, or PropertyNotFound.
func (o Operations) deletedProperty(q Querier, id int64) (deleted PropertyRecord, err error) {
	encoded, err := o.lastDeleted(q, PropertySubject(id))
	if errors.Is(err, ErrNoRow) {
		return deleted, PropertyNotFound(id)
	}
	if err == nil {
		if err = json.Unmarshal([]byte(encoded), &deleted); err != nil {
			err = fmt.Errorf("read the deleted property %d: %w", id, err)
		}
	}
	return deleted, err
}
