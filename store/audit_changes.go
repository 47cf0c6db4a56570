package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// The entry of an update has the changed fields alone: before as they were, after as they are. So every version of a
// record follows from its entries: a creation, an import, a restore and a deletion have the whole record, and each
// update changes the one that the entry before it left. If something without an entry has changed the record since,
// such as an import of perks, the next update has the whole record as it was before. Every wholeEvery updates, one has
// the whole record as it is after, so that no version is far from a whole record. No update changes the id of a record,
// so only a whole record has it.

// wholeEvery is how many updates there are at most from one whole record to the next.
const wholeEvery = 32

// recordKind is a kind of record whose versions follow from the audit log.
type recordKind[R any] struct {
	prefix string // of its subjects
	whole  string // what only a whole record as JSON begins with
	// entries are its entries in the audit log, as EntriesOf has them.
	entries recordEntries
}

var (
	listings = recordKind[PropertyRecord]{propertyPrefix, `{"propertyId"`, listingEntries}
	perks    = recordKind[PerkRecord]{PerkSubjectPrefix, `{"id"`, perkEntries}
)

// isWhole tells whether encoded is a whole record.
func (k recordKind[R]) isWhole(encoded []byte) bool { return bytes.HasPrefix(encoded, []byte(k.whole)) }

// merged returns the record with the encoded fields.
func merged[R any](record *R, encoded []byte) (*R, error) {
	result := *record
	detach(reflect.ValueOf(&result).Elem())
	return &result, json.Unmarshal(encoded, &result)
}

// detach copies what a record points to, where a decoder would write.
func detach(record reflect.Value) {
	for i := range record.NumField() {
		field := record.Field(i)
		switch kind := field.Kind(); {
		case kind == reflect.Struct:
			detach(field)
		case !field.CanSet():
		case kind == reflect.Pointer && !field.IsNil():
			own := reflect.New(field.Type().Elem())
			own.Elem().Set(field.Elem())
			field.Set(own)
		case kind == reflect.Slice && !field.IsNil():
			own := reflect.MakeSlice(field.Type(), field.Len(), field.Len())
			reflect.Copy(own, field)
			field.Set(own)
		}
	}
}

// audited is a record with the digest of the one that its last entry left, and how many updates since the last entry
// with a whole record.
type audited[R any] struct {
	record  R
	digest  []byte // nil without such an entry
	updates int
}

// scanAudited returns a scan of the column audited and then of the record.
func scanAudited[R any](scan func(Scanner) (R, error)) func(Scanner) (audited[R], error) {
	return func(r Scanner) (a audited[R], err error) {
		a.record, err = scan(ScanAfter(r, &a.digest))
		a.updates = wholeEvery // unknown: a former version wrote no number
		if len(a.digest) > sha256.Size {
			a.digest, a.updates = a.digest[:sha256.Size], int(a.digest[sha256.Size])
		}
		return a, err
	}
}

// auditedAs is what scanAudited reads. A former version takes it for the digest of another record.
func auditedAs(encoded []byte, updates int) []byte { return append(digestOf(encoded), byte(updates)) }

// digestOf identifies an encoded record.
func digestOf(encoded []byte) []byte {
	sum := sha256.Sum256(encoded)
	return sum[:]
}

// isAudited tells whether the record is as its last entry left it.
func (a audited[R]) isAudited() (bool, error) {
	encoded, err := json.Marshal(a.record)
	return bytes.Equal(a.digest, digestOf(encoded)), err
}

// updateEntry returns what the entry of an update says was before it, and is after it, and what to store as audited.
// Both records are encoded.
func (a audited[R]) updateEntry(before, after []byte) (was, is json.RawMessage, audited []byte, err error) {
	var old, new map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(before, &old), json.Unmarshal(after, &new)); err != nil {
		return nil, nil, nil, fmt.Errorf("compare a record with what it was: %w", err)
	}
	for name, value := range old {
		if bytes.Equal(value, new[name]) {
			delete(old, name)
			delete(new, name)
		}
	}
	was, errOld := json.Marshal(old)
	is, errNew := json.Marshal(new)
	updates := a.updates + 1
	switch {
	case !bytes.Equal(a.digest, digestOf(before)):
		was, updates = before, 0
	case updates >= wholeEvery:
		is, updates = after, 0
	}
	return was, is, auditedAs(after, updates), errors.Join(errOld, errNew)
}

// completeUpdates sets After of listings' updates to the whole listing, as it is now or was when it was deleted, or to
// null if there is neither. The entries of a listing share it.
func (o Operations) completeUpdates(q Querier, entries []AuditEntry) error {
	var updates []*AuditEntry
	var ids []string
	listings := map[string]json.RawMessage{}
	for i := range entries {
		entry := &entries[i]
		if entry.Action != ActionUpdateProperty {
			continue
		}
		updates = append(updates, entry)
		if _, seen := listings[entry.Subject]; seen {
			continue
		}
		listings[entry.Subject] = nil
		id, err := strconv.ParseInt(strings.TrimPrefix(entry.Subject, propertyPrefix), 10, 64)
		if err != nil {
			return fmt.Errorf("the entry %d of the audit log changes %q, which is not a property",
				entry.Number, entry.Subject)
		}
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	if len(ids) == 0 {
		return nil
	}
	found := Each(q, ScanProperty,
		`SELECT `+PropertyColumns+` FROM properties WHERE id IN (`+strings.Join(ids, `, `)+`)`)
	for record, err := range found {
		if err == nil {
			listings[PropertySubject(record.ID)], err = json.Marshal(record)
		}
		if err != nil {
			return err
		}
	}
	for _, entry := range updates {
		if listings[entry.Subject] == nil {
			deleted, err := o.lastDeleted(q, entry.Subject)
			if errors.Is(err, ErrNoRow) { // somebody deleted it by hand
				deleted, err = `null`, nil
			}
			if err != nil {
				return err
			}
			listings[entry.Subject] = json.RawMessage(deleted)
		}
		entry.After = listings[entry.Subject]
	}
	return nil
}

// lastDeleted returns the record of a listing as it was when it was deleted for the last time, or ErrNoRow.
func (o Operations) lastDeleted(q Querier, subject string) (encoded string, err error) {
	return One(q, ScanValue[string], `
		SELECT before FROM audit WHERE subject = $1 AND action = $2 ORDER BY `+o.db.AuditID+` DESC LIMIT 1`,
		subject, ActionDeleteProperty)
}
