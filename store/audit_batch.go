package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/perks/api"
)

// AuditPlace is a place in the audit log: after a position, or after some of the entries between two. The zero value
// is the start.
type AuditPlace struct {
	Since AuditPosition
	Until AuditPosition // "" after Since
	Read  int           // entries between Since and Until that are before the place
}

// AuditBatch is consecutive entries, in the order of their commits. After of a listing's update is the whole
// listing, as it is now.
type AuditBatch struct {
	Entries []AuditEntry // each with its place
	Next    AuditPlace   // after them
	IsLast  bool         // Next is the end that was asked for
}

// AuditBound is how much is read at once. The first entry is read however large it is.
type AuditBound struct {
	Entries int // about
	Bytes   int // of the records in the entries
}

// ErrPosition means that a text is not an AuditPosition of the database.
var ErrPosition = errors.New("not a position in the audit log")

// AuditPositionUnknown says that the database does not have that position.
func AuditPositionUnknown() error {
	return api.FieldErrorf("after", "is not a position in the events of this service, or its database was restored "+
		"from an older copy: leave it out to begin at the newest ones")
}

func (o Operations) CursorKey(ctx context.Context) ([]byte, error) {
	return Read(ctx, o.db, "read the key of cursors", func(q Querier) ([]byte, error) {
		return One(q, ScanValue[[]byte], `SELECT key FROM cursor_key`)
	})
}

// AuditEnd is where a batch ends.
type AuditEnd struct {
	Position AuditPosition
	IsLast   bool // it is the end that was asked for
}

func (o Operations) NextAudit(
	ctx context.Context, after AuditPlace, upTo AuditPosition, most AuditBound,
) (AuditBatch, error) {
	return o.readAuditLog(ctx, func(q Querier) (batch AuditBatch, err error) {
		wanted := upTo
		if after.Until != "" {
			wanted = after.Until
		}
		end, err := o.db.AuditEnd(q, after.Since, wanted, most)
		if err == nil && after.Until != "" {
			isBefore := upTo == after.Until
			if upTo != "" && !isBefore { // the end must not be before the place
				_, err = o.db.AuditEnd(q, after.Until, upTo, most)
			}
			end = AuditEnd{Position: after.Until, IsLast: isBefore}
		}
		if err != nil {
			return batch, err
		}
		batch.Next, batch.IsLast = AuditPlace{Since: end.Position}, end.IsLast
		if after.Since == "" || after.Since == end.Position {
			return batch, nil
		}
		err = o.readBatch(q, after, &batch, most)
		return batch, err
	})
}

// auditSize is the bytes that the records of an entry have.
const auditSize = `coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0) +
	coalesce(octet_length(metadata), 0)`

// readBatch reads the entries between a place and the end of the batch, or the first of them.
func (o Operations) readBatch(q Querier, after AuditPlace, batch *AuditBatch, most AuditBound) error {
	until := batch.Next.Since
	redemptions, entries, err := o.db.AuditRange(q, after.Since, until)
	if err != nil {
		return err
	}
	text, args := AuditQuery{}.union(o.db.Dialect, redemptions, entries)
	order, limit := o.db.AuditInCommitOrder, 2*most.Entries
	text = fmt.Sprintf(`
		SELECT * FROM (
			SELECT count(*) OVER () AS found,
				coalesce(sum(size) OVER (%s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS size_before, part.*
			FROM (SELECT %s AS size, log.* FROM (%s) AS log %s LIMIT %d OFFSET %d) AS part
		) AS measured WHERE size_before < %d %s`, order, auditSize, text, order, limit+1, after.Read, most.Bytes, order)
	found := 0
	batch.Entries, err = All(q, func(r Scanner) (entry AuditEntry, err error) {
		return scanAuditEntry(ScanAfter(r, &found, new(int64), new(int64)))
	}, text, args...)
	if err != nil {
		return err
	}
	for i := range batch.Entries {
		batch.Entries[i].Place = AuditPlace{after.Since, until, after.Read + i + 1}
	}
	if n := len(batch.Entries); n < found || found > limit {
		batch.Next, batch.IsLast = batch.Entries[n-1].Place, false
	} else if n > 0 {
		batch.Entries[n-1].Place = batch.Next
	}
	return o.completeBatch(q, batch, most)
}

// completeBatch completes updates, which makes them larger, and ends the batch where that is too much.
func (o Operations) completeBatch(q Querier, batch *AuditBatch, most AuditBound) error {
	size := 0
	for begun := 0; begun < len(batch.Entries); begun += recordChunk {
		chunk := batch.Entries[begun:min(begun+recordChunk, len(batch.Entries))]
		if err := o.completeUpdates(q, chunk); err != nil {
			return err
		}
		for i, entry := range chunk {
			if size += entry.size(); size > most.Bytes && begun+i > 0 {
				batch.Entries = batch.Entries[:begun+i]
				batch.Next, batch.IsLast = batch.Entries[begun+i-1].Place, false
				return nil
			}
		}
	}
	return nil
}

func (e AuditEntry) size() int { return len(e.Before) + len(e.After) }

// RecentAudit is a query for the newest entries.
type RecentAudit struct {
	Actions []string
	Wants   func(AuditEntry) bool // may be called again after it returned true
	Most    AuditBound            // of the wanted entries, of which the first is read however large it is
}

// AuditKey names an entry of the audit log in its order.
type AuditKey struct {
	ID    string // of the redemption that was made, or ""
	Entry int64  // the number of the entry, if it is not a redemption
	Order int64  // what the order of commits follows from
	Size  int    // bytes of its records
}

// AuditSearch is how many entries are searched at most for the newest of some kinds.
const AuditSearch = 100_000

const (
	recentStep   = 64   // entries that are looked at first
	recentSearch = 1000 // and then
	recordChunk  = 16   // entries whose records are read at once
)

func (o Operations) RecentAudit(ctx context.Context, query RecentAudit) (AuditBatch, error) {
	return o.readAuditLog(ctx, func(q Querier) (batch AuditBatch, err error) {
		end, err := o.db.AuditEnd(q, "", "", query.Most)
		batch = AuditBatch{Next: AuditPlace{Since: end.Position}, IsLast: true}
		if err != nil || len(query.Actions) == 0 {
			return batch, err
		}
		size, seen := 0, 0
		for _, look := range []int{recentStep, recentSearch} {
			keys, err := o.db.AuditNewest(q, end.Position, query.Actions, look)
			if err != nil {
				return batch, err
			}
			isAll := len(keys) < look
			for keys = keys[min(seen, len(keys)):]; len(keys) > 0; {
				n := chunkOf(keys, query.Most.Bytes)
				entries, err := o.auditOf(q, keys[:n])
				if err == nil {
					err = o.completeUpdates(q, entries)
				}
				if err != nil {
					return batch, err
				}
				for i, entry := range entries {
					if !query.Wants(entry) {
						continue
					}
					size += entry.size()
					if len(batch.Entries) == query.Most.Entries || size > query.Most.Bytes && len(batch.Entries) > 0 {
						return batch, nil
					}
					if entry.Place, err = o.db.AuditPlaceOf(q, end.Position, keys[i]); err != nil {
						return batch, err
					}
					batch.Entries = slices.Insert(batch.Entries, 0, entry)
				}
				keys, seen = keys[n:], seen+n
			}
			if isAll {
				break
			}
		}
		return batch, nil
	})
}

// chunkOf is how many of the keys fit in that many bytes, and at least 1.
func chunkOf(keys []AuditKey, bytes int) int {
	size := 0
	for i, key := range keys[:min(recordChunk, len(keys))] {
		if size += key.Size; size > bytes && i > 0 {
			return i
		}
	}
	return min(recordChunk, len(keys))
}

// auditOf returns the entries with the keys, in their order.
func (o Operations) auditOf(q Querier, keys []AuditKey) ([]AuditEntry, error) {
	var redemptions, entries AuditFilter
	place := map[string]int{}
	for i, key := range keys {
		if key.ID != "" {
			redemptions.Args = append(redemptions.Args, key.ID)
			place[RedemptionSubject(key.ID)] = i
		} else {
			entries.Args = append(entries.Args, key.Entry)
			place[fmt.Sprint(key.Entry)] = i
		}
	}
	in := func(column string, filter *AuditFilter) {
		filter.Conditions = []string{`false`}
		if n := len(filter.Args); n > 0 {
			filter.Conditions[0] = column + ` IN (?` + strings.Repeat(`, ?`, n-1) + `)`
		}
	}
	in(o.db.AuditRedemptions.Columns["id"], &redemptions)
	in(`a.`+o.db.AuditID, &entries)
	text, args := AuditQuery{}.union(o.db.Dialect, redemptions, entries)
	found := make([]AuditEntry, len(keys))
	for entry, err := range Each(q, scanAuditEntry, text, args...) {
		if err != nil {
			return nil, err
		}
		name := entry.Subject
		if entry.Number != 0 {
			name = fmt.Sprint(entry.Number)
		}
		found[place[name]] = entry
	}
	return found, nil
}

func (o Operations) readAuditLog(ctx context.Context, read func(Querier) (AuditBatch, error)) (AuditBatch, error) {
	return inSnapshot(notBehind(ctx), o, "read a part of the audit log", o.db.Snapshot,
		func(q Querier) (AuditBatch, error) {
			batch, err := read(q)
			switch {
			case errors.Is(err, ErrPosition), errors.Is(err, ErrOlderCopy):
				err = AuditPositionUnknown()
			case errors.Is(err, ErrArchived):
				err = AuditPositionArchived()
			}
			return batch, err
		})
}
