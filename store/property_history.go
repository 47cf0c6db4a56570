package store

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// The history of a listing is its entries in the audit log, in the order of commits: every change takes its entry's
// number while it has the listing locked. The times are those of many servers. audit_changes.go says which entries have
// a whole record. The others follow from the nearest one that has.

// listingEntry is an entry of the audit log about a listing.
type listingEntry struct {
	PropertyVersion
	number        int64
	before, after []byte // JSON; nil is null
	isKnown       bool   // Before and After are set
}

// follows tells whether the entry changes what the entry before it left. Of other entries that is not certain, because
// former versions imported without entries.
func (e *listingEntry) follows() bool { return e.Action == ActionUpdateProperty && !isWhole(e.before) }

// isWhole tells whether encoded is a whole record: no update changes the id.
func isWhole(encoded []byte) bool { return bytes.HasPrefix(encoded, []byte(`{"propertyId"`)) }

func scanListingEntry(r Scanner) (e listingEntry, err error) {
	var before, after *string
	if err = r.Scan(&e.number, &e.At, &e.Actor, &e.Action, &before, &after); err != nil {
		return e, err
	}
	if before != nil {
		e.before = []byte(*before)
	}
	if after != nil {
		e.after = []byte(*after)
	}
	switch {
	case isWhole(e.after):
		err = e.setAfter(new(PropertyRecord))
	case isWhole(e.before):
		err = e.setBefore(new(PropertyRecord))
	}
	return e, err
}

// setAfter completes an entry that left a record, of which the entry may have a part.
func (e *listingEntry) setAfter(left *PropertyRecord) (err error) {
	if e.After, err = merged(left, e.after); err == nil && e.before != nil {
		e.Before, err = merged(e.After, e.before)
	}
	return e.setKnown(err)
}

// setBefore completes an entry that found a record.
func (e *listingEntry) setBefore(found *PropertyRecord) (err error) {
	if e.Before, err = merged(found, e.before); err == nil && e.after != nil {
		e.After, err = merged(e.Before, e.after)
	}
	return e.setKnown(err)
}

func (e listingEntry) known() bool { return e.isKnown }

func (e *listingEntry) setKnown(err error) error {
	if e.isKnown = err == nil; err != nil {
		err = fmt.Errorf("read the entry %d of the audit log: %w", e.number, err)
	}
	return err
}

// merged returns the record with the encoded fields.
func merged(record *PropertyRecord, encoded []byte) (*PropertyRecord, error) {
	result := *record
	result.Images = slices.Clone(result.Images) // the decoder writes where slices and pointers point
	for _, number := range []**float64{&result.Lat, &result.Lng} {
		if *number != nil {
			*number = new(**number)
		}
	}
	return &result, json.Unmarshal(encoded, &result)
}

// complete completes consecutive entries, oldest first, from those that are known.
func complete(entries []listingEntry) error {
	for i := 1; i < len(entries); i++ {
		if last := entries[i-1]; !entries[i].isKnown && last.isKnown && last.After != nil {
			if err := entries[i].setBefore(last.After); err != nil {
				return err
			}
		}
	}
	for i := len(entries) - 2; i >= 0; i-- {
		if next := entries[i+1]; !entries[i].isKnown && next.isKnown && next.follows() {
			if err := entries[i].setAfter(next.Before); err != nil {
				return err
			}
		}
	}
	return nil
}

// history reads the history of one listing.
type history struct {
	Operations
	q  Querier
	id int64
	// begin is the first entries of the log by their numbers, up to one with a whole record. What was before them may
	// have been archived: then they follow from that one.
	begin map[int64]listingEntry
	first int64 // the number of the first entry that is known, and so are all after it
}

// historyOf reads where the history of a listing begins, if check allows the owner to read it.
func (o Operations) historyOf(q Querier, id int64, check func(owner string) error) (history, error) {
	h := history{Operations: o, q: q, id: id, begin: map[int64]listingEntry{}, first: math.MaxInt64}
	current, err := One(q, scanAuditedListing, selectAudited, id)
	isLiving := !errors.Is(err, ErrNoRow)
	if !isLiving {
		current.PropertyRecord, err = o.deletedProperty(q, id)
	}
	if err == nil {
		err = check(current.Owner)
	}
	if err != nil {
		return h, err
	}
	var entries []listingEntry
	for most := int64(1); !slices.ContainsFunc(entries, listingEntry.known); most = wholeEvery {
		last := int64(0)
		if len(entries) > 0 {
			last = entries[len(entries)-1].number
		}
		more, err := h.read(`>`, ``, last, 0, most)
		if err != nil {
			return h, err
		}
		if entries = append(entries, more...); int64(len(more)) == most {
			continue
		}
		isCurrent, err := current.isAudited()
		if n := len(entries); err == nil && isLiving && isCurrent && n > 0 && !entries[n-1].isKnown {
			err = entries[n-1].setAfter(&current.PropertyRecord)
		}
		if err != nil {
			return h, err
		}
		break
	}
	err = complete(entries)
	for _, entry := range entries {
		if entry.isKnown {
			h.begin[entry.number], h.first = entry, min(h.first, entry.number)
		}
	}
	return h, err
}

// ofAudit and ofImports are the entries of listing $1, which has id $2. The first repeats the condition of its index.
const (
	ofAudit   = `subject = $1 AND subject >= 'property/' AND subject < 'property0'`
	ofImports = `property = $2`
)

// EntriesOfProperty is a statement for the entries of a listing that meet a condition, in the order of their numbers,
// or the reverse. most says how many of each table are read.
func (d *Dialect) EntriesOfProperty(columns, condition, descending, most string) string {
	part := func(number, action, table, index, of string) string {
		return `SELECT * FROM (
			SELECT ` + d.AuditID + ` AS number, at, actor, ` + action + ` AS action, before, after
			FROM ` + table + d.Indexed(index) + `
			WHERE ` + of + ` AND ` + strings.ReplaceAll(condition, `number`, number) + `
			ORDER BY ` + number + descending + ` LIMIT ` + most + `) AS of_` + table
	}
	return `SELECT ` + columns + ` FROM (
		` + part(d.IndexedAuditID, `action`, `audit`, `audit_of_property`, ofAudit) + ` UNION ALL ` +
		part(d.AuditID, `'`+ActionImportProperty+`'`, `imported_properties`, `imported_properties_in_order`,
			ofImports) + `) AS entries`
}

// read returns entries after or before a number.
func (h history) read(beyond, descending string, number, skip, take int64) ([]listingEntry, error) {
	return All(h.q, scanListingEntry, h.db.EntriesOfProperty(`*`, `number `+beyond+` $3`, descending, `$4`)+
		` ORDER BY number`+descending+` LIMIT $5 OFFSET $6`,
		PropertySubject(h.id), h.id, number, skip+take, take, skip)
}

// before returns entries of the history before a number, newest first.
func (h history) before(number, skip, take int64) ([]listingEntry, error) {
	entries, err := h.read(`<`, ` DESC`, number, skip, take)
	if i := slices.IndexFunc(entries, func(e listingEntry) bool { return e.number < h.first }); i >= 0 {
		entries = entries[:i]
	}
	wanted := len(entries)
	for most := int64(wholeEvery); err == nil && wanted > 0; most *= 4 {
		last := &entries[len(entries)-1]
		if known, isThere := h.begin[last.number]; isThere {
			*last = known
		}
		if last.isKnown {
			break
		}
		var older []listingEntry
		if older, err = h.read(`<`, ` DESC`, last.number, 0, most); len(older) == 0 {
			break
		}
		isBase := func(e listingEntry) bool { return e.isKnown || h.begin[e.number].isKnown }
		if i := slices.IndexFunc(older, isBase); i >= 0 {
			older = older[:i+1]
		}
		entries = append(entries, older...)
	}
	if err != nil {
		return nil, err
	}
	slices.Reverse(entries)
	err = complete(entries)
	slices.Reverse(entries)
	return entries[:wanted], err
}

// count is capped at MaxCounted.
func (h history) count() (total int64, isMore bool, err error) {
	total, err = One(h.q, ScanValue[int64],
		h.db.EntriesOfProperty(`count(*)`, `number >= $3`, ``, `$4`), PropertySubject(h.id), h.id, h.first,
		MaxCounted+1)
	return min(total, MaxCounted), total > MaxCounted, err
}

// asOf returns the listing as the last entry of that time or earlier left it.
func (h history) asOf(at time.Time) (PropertyRecord, error) {
	number, err := OneOr(nil, h.q, ScanValue[int64],
		h.db.EntriesOfProperty(`number`, `at <= $3`, ` DESC`, `1`)+` ORDER BY number DESC LIMIT 1`,
		PropertySubject(h.id), h.id, at)
	if err != nil {
		return PropertyRecord{}, err
	}
	first := h.begin[h.first]
	switch {
	case number == 0 && first.isKnown && first.Before == nil: // it was created later
		return PropertyRecord{}, PropertyNotThere(h.id, at)
	case number < h.first:
		return PropertyRecord{}, PropertyNotKnown(h.id, at, first.At)
	}
	entries, err := h.before(number+1, 0, 1)
	if err == nil && (len(entries) == 0 || entries[0].After == nil) {
		err = PropertyNotThere(h.id, at)
	}
	if err != nil {
		return PropertyRecord{}, err
	}
	return *entries[0].After, nil
}

// findVersion returns the newest version that is the wanted one. What an entry found may be a version too that no other
// entry left.
func (h history) findVersion(is func(api.Property) bool) (PropertyRecord, error) {
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
			return PropertyRecord{}, NoPropertyVersion(h.id)
		}
		number = entries[most-1].number
	}
}

// cursors encrypts the numbers of entries, which tell how much all partners do.
func (h history) cursors() (cipher.Block, error) {
	key, err := One(h.q, ScanValue[[]byte], `SELECT key FROM cursor_key`)
	if err != nil {
		return nil, err
	}
	own := sha256.Sum256(append([]byte("history"), key...))
	return aes.NewCipher(own[:])
}

// cursorAfter returns the place after an entry. A block holds the id too, so that another listing refuses it.
func (h history) cursorAfter(number int64) (*Cursor, error) {
	cursors, err := h.cursors()
	if err != nil {
		return nil, err
	}
	place := binary.BigEndian.AppendUint64(nil, uint64(h.id)) // #nosec G115 -- the bits are the same
	place = binary.BigEndian.AppendUint64(place, uint64(number))
	cursors.Encrypt(place, place)
	return &Cursor{ID: base64.RawURLEncoding.EncodeToString(place)}, nil
}

// entryOf reverses cursorAfter.
func (h history) entryOf(cursor *Cursor) (int64, error) {
	cursors, err := h.cursors()
	if err != nil {
		return 0, err
	}
	place, err := base64.RawURLEncoding.DecodeString(cursor.ID)
	if err != nil || len(place) != aes.BlockSize {
		return 0, ErrNoCursor
	}
	cursors.Decrypt(place, place)
	if binary.BigEndian.Uint64(place) != uint64(h.id) { // #nosec G115 -- as above
		return 0, ErrNoCursor
	}
	return int64(binary.BigEndian.Uint64(place[8:])), nil // #nosec G115 -- as above
}

func (o Operations) PropertyHistory(
	ctx context.Context, query PropertyHistoryQuery,
) (List[PropertyVersion], error) {
	return inSnapshot(ctx, o, "read the history of a property", o.db.Snapshot,
		func(q Querier) (list List[PropertyVersion], err error) {
			list.Items = []PropertyVersion{}
			h, err := o.historyOf(q, query.ID, query.Check)
			if err == nil {
				list.Total, list.IsMore, err = h.count()
			}
			number, skip, per := int64(math.MaxInt64), query.Window.Offset(), int64(query.Window.PerPage)
			if err == nil && query.After != nil {
				skip = 0
				number, err = h.entryOf(query.After)
			}
			if err != nil || skip >= list.Total && !list.IsMore {
				return list, err
			}
			entries, err := h.before(number, min(skip, math.MaxInt32), per+1)
			if err == nil && int64(len(entries)) > per {
				entries = entries[:per]
				list.Next, err = h.cursorAfter(entries[per-1].number)
			}
			for _, entry := range entries {
				list.Items = append(list.Items, entry.PropertyVersion)
			}
			return list, err
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
			return h.asOf(at)
		})
}
