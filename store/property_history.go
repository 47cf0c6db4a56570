package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"example.com/perks/api"
)

// historyOf reads where the history of a listing begins, if check allows the owner to read it.
func (o Operations) historyOf(
	q Querier, id int64, check func(owner string) error,
) (h history[PropertyRecord], err error) {
	found, err := One(q, scanAuditedListing, selectAudited, id)
	current := &found
	if errors.Is(err, ErrNoRow) {
		current = nil
		found.record, err = o.deletedProperty(q, id)
	}
	if err == nil {
		err = check(found.record.Owner)
	}
	if err != nil {
		return h, err
	}
	return listings.historyOf(o, q, current, fmt.Sprintf("property %d", id), PropertySubject(id), id)
}

// findVersion returns the newest version that is the wanted one. What an entry found may be a version too that no other
// entry left.
func findVersion(h history[PropertyRecord], id int64, is func(api.Property) bool) (PropertyRecord, error) {
	const most = 100
	for number := int64(math.MaxInt64); ; {
		entries, err := h.before(number, 0, most)
		if err != nil {
			return PropertyRecord{}, err
		}
		for _, entry := range entries {
			for _, version := range []*PropertyRecord{entry.After, entry.Before} {
				if version != nil && is(version.Property) {
					return *version, nil
				}
			}
		}
		if len(entries) < most {
			return PropertyRecord{}, NoPropertyVersion(id)
		}
		number = entries[most-1].number
	}
}

func (o Operations) PropertyHistory(
	ctx context.Context, query PropertyHistoryQuery,
) (List[PropertyVersion], error) {
	return inSnapshot(ctx, o, "read the history of a property", o.db.Snapshot,
		func(q Querier) (List[PropertyVersion], error) {
			h, err := o.historyOf(q, query.ID, query.Check)
			if err != nil {
				return List[PropertyVersion]{Items: []PropertyVersion{}}, err
			}
			return h.page(query.Window, query.After)
		})
}

func (o Operations) PropertyAsOf(
	ctx context.Context, id int64, at time.Time, check func(owner string) error,
) (PropertyRecord, error) {
	return inSnapshot(notBehind(ctx), o, "read a property as it was", o.db.Snapshot,
		func(q Querier) (PropertyRecord, error) {
			h, err := o.historyOf(q, id, check)
			if err != nil {
				return PropertyRecord{}, err
			}
			record, _, err := h.asOf(at)
			return record, err
		})
}
