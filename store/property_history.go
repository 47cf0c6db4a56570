package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.com/perks/api"
)

// listingEntry is an entry of the audit log about a listing.
type listingEntry struct {
	PropertyVersion
	number int64
}

// ofProperty are the entries of listing $1, as the index audit_of_property has them.
const ofProperty = ` FROM audit WHERE subject = $1 AND subject >= 'property/' AND subject < 'property0'`

// versions returns all that the audit log has of a listing, oldest first.
func (o Operations) versions(q Querier, id int64) (known []listingEntry, err error) {
	entries := Each(q, func(r Scanner) (e listingEntry, err error) {
		var before, after *string
		if err = r.Scan(&e.number, &e.At, &e.Actor, &e.Action, &before, &after); err != nil {
			return e, err
		}
		var last *PropertyRecord
		if len(known) > 0 {
			last = known[len(known)-1].After
		}
		if before != nil && bytes.HasPrefix([]byte(*before), []byte(`{"propertyId"`)) {
			last = new(PropertyRecord)
			err = json.Unmarshal([]byte(*before), last)
		}
		if e.Before = last; err == nil && after != nil {
			e.After = new(PropertyRecord)
			if last != nil {
				*e.After = last.clone()
			}
			err = json.Unmarshal([]byte(*after), e.After)
		}
		return e, err
	}, `SELECT `+o.db.AuditID+`, at, actor, action, before, after`+ofProperty+` ORDER BY `+o.db.AuditID,
		PropertySubject(id))
	for entry, err := range entries {
		if err != nil {
			return nil, err
		}
		known = append(known, entry)
	}
	return known, nil
}

func (p PropertyRecord) clone() PropertyRecord {
	p.Images = slices.Clone(p.Images)
	for _, number := range []**float64{&p.Lat, &p.Lng} {
		if *number != nil {
			*number = new(**number)
		}
	}
	return p
}

// ownerNow returns the owner of a listing, or the last one of a deleted one.
func (o Operations) ownerNow(q Querier, id int64) (string, error) {
	owner, err := One(q, ScanValue[string], `SELECT owner FROM properties WHERE id = $1`, id)
	if !errors.Is(err, ErrNoRow) {
		return owner, err
	}
	deleted, err := o.deletedProperty(q, id)
	return deleted.Owner, err
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

func (o Operations) PropertyHistory(
	ctx context.Context, query PropertyHistoryQuery,
) (List[PropertyVersion], error) {
	return inSnapshot(ctx, o, "read the history of a property", o.db.SnapshotInOrder,
		func(q Querier) (list List[PropertyVersion], err error) {
			list.Items = []PropertyVersion{}
			owner, err := o.ownerNow(q, query.ID)
			if err == nil {
				err = query.Check(owner)
			}
			if err != nil {
				return list, err
			}
			known, err := o.versions(q, query.ID)
			if err != nil {
				return list, err
			}
			slices.Reverse(known)
			list.Total, list.IsMore = min(int64(len(known)), MaxCounted), len(known) > MaxCounted
			skip := query.Window.Offset()
			if query.After != nil {
				skip = int64(slices.IndexFunc(known, func(e listingEntry) bool {
					return strconv.FormatInt(e.number, 10) == query.After.ID
				}) + 1)
				if skip == 0 {
					return list, ErrNoCursor
				}
			}
			for i := skip; i < int64(len(known)); i++ {
				if len(list.Items) == query.Window.PerPage {
					list.Next = &Cursor{ID: strconv.FormatInt(known[i-1].number, 10)}
					break
				}
				list.Items = append(list.Items, known[i].PropertyVersion)
			}
			return list, nil
		})
}

func (o Operations) PropertyAsOf(
	ctx context.Context, id int64, at time.Time, check func(owner string) error,
) (PropertyRecord, error) {
	return inSnapshot(ctx, o, "read a property as it was", o.db.SnapshotInOrder,
		func(q Querier) (record PropertyRecord, err error) {
			owner, err := o.ownerNow(q, id)
			if err == nil {
				err = check(owner)
			}
			if err != nil {
				return record, err
			}
			return o.propertyAsOf(q, id, at)
		})
}

func (o Operations) propertyAsOf(q Querier, id int64, at time.Time) (PropertyRecord, error) {
	known, err := o.versions(q, id)
	if err != nil {
		return PropertyRecord{}, err
	}
	for _, version := range slices.Backward(known) {
		if !version.At.After(at) && version.After != nil {
			return *version.After, nil
		} else if !version.At.After(at) {
			break
		}
	}
	return PropertyRecord{}, PropertyNotThere(id, at)
}

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
			if err == nil && named != id {
				err = IdempotencyKeyReused(restoration.Key.Key)
			}
			if err == nil {
				restored.PropertyRecord, err = wanted, notFound // which it was already
				if entry != nil {
					restored.PropertyRecord, err = o.asRestored(tx, *entry)
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
			known.PropertyRecord, err = o.deletedProperty(tx, id)
		}
		if err == nil && restoration.Check != nil {
			err = restoration.Check(known.PropertyRecord)
		}
		if err != nil {
			return restored, err
		}
		target := known.PropertyRecord
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
		target.ID, target.Owner = id, known.Owner
		restored.PropertyRecord = target
		entry, err := o.putRestored(tx, restoration, known.PropertyRecord, target, isDeleted)
		if err == nil && restoration.Key != nil {
			err = keepKey(tx, restoration.ClientID, *restoration.Key, restoration.At, id, entry)
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
		if _, err := tx.Exec(updateProperty, append(storedPropertyValues(target), digestOf(is))...); err != nil {
			return nil, err
		}
		before = known
	}
	subject := PropertySubject(target.ID)
	if err := Audit(tx, restoration.At, restoration.By, ActionRestoreProperty, subject, before, target); err != nil {
		return nil, err
	}
	number, err := One(tx, ScanValue[int64], `SELECT max(`+o.db.AuditID+`)`+ofProperty, subject)
	return &number, err
}

// asRestored returns what an entry says that a listing was restored to.
func (o Operations) asRestored(tx Tx, entry int64) (record PropertyRecord, err error) {
	encoded, err := OneOr(fmt.Errorf("the audit log lacks the entry %d of a restored property", entry), tx,
		ScanValue[string], `SELECT after FROM audit WHERE `+o.db.AuditID+` = $1`, entry)
	if err == nil {
		err = json.Unmarshal([]byte(encoded), &record)
	}
	return record, err
}

// versionToRestore finds the version that a restoration names.
func (o Operations) versionToRestore(ctx context.Context, restoration PropertyRestoration) (PropertyRecord, error) {
	return inSnapshot(ctx, o, "find the version to restore", o.db.SnapshotInOrder,
		func(q Querier) (record PropertyRecord, err error) {
			if restoration.Is == nil {
				return o.propertyAsOf(q, restoration.ID, restoration.AsOf)
			}
			known, err := o.versions(q, restoration.ID)
			for _, version := range slices.Backward(known) {
				for _, record := range []*PropertyRecord{version.After, version.Before} {
					if record != nil && restoration.Is(record.Property) {
						return *record, nil
					}
				}
			}
			if err == nil {
				err = NoPropertyVersion(restoration.ID)
			}
			return record, err
		})
}
