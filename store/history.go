package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The history of a record is its entries in the audit log, in the order of commits: every change takes its entry's
// number while it has the record locked. The times are those of many servers. audit_changes.go says which entries have
// a whole record. The others follow from the nearest one that has.

// recordEntry is an entry of the audit log about a record.
type recordEntry[R any] struct {
	Version[R]
	kind          *recordKind[R]
	number        int64
	before, after []byte // JSON; nil is null
	isKnown       bool   // Before and After are set
}

// follows tells whether the entry changes what the entry before it left. Of other entries that is not certain, because
// some imports have no entries.
func (e *recordEntry[R]) follows() bool { return isUpdate(e.Action) && !e.kind.isWhole(e.before) }

// isUpdate tells whether entries of the action have the changed fields alone.
func isUpdate(action string) bool {
	return action == ActionUpdateProperty || action == ActionUpdatePerk || action == ActionChangePerkStock
}

func (k *recordKind[R]) scanEntry(r Scanner) (e recordEntry[R], err error) {
	e.kind = k
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
	case k.isWhole(e.after):
		err = e.setAfter(new(R))
	case k.isWhole(e.before):
		err = e.setBefore(new(R))
	}
	return e, err
}

// setAfter completes an entry that left a record, of which the entry may have a part.
func (e *recordEntry[R]) setAfter(left *R) (err error) {
	if e.After, err = merged(left, e.after); err == nil && e.before != nil {
		e.Before, err = merged(e.After, e.before)
	}
	return e.setKnown(err)
}

// setBefore completes an entry that found a record.
func (e *recordEntry[R]) setBefore(found *R) (err error) {
	if e.Before, err = merged(found, e.before); err == nil && e.after != nil {
		e.After, err = merged(e.Before, e.after)
	}
	return e.setKnown(err)
}

func (e recordEntry[R]) known() bool { return e.isKnown }

func (e *recordEntry[R]) setKnown(err error) error {
	if e.isKnown = err == nil; err != nil {
		err = fmt.Errorf("read the entry %d of the audit log: %w", e.number, err)
	}
	return err
}

// complete completes consecutive entries, oldest first, from those that are known.
func complete[R any](entries []recordEntry[R]) error {
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

// history reads the history of one record.
type history[R any] struct {
	Operations
	q    Querier
	kind *recordKind[R]
	name string // such as property 42
	args []any  // of entries: the subject, and the id if there are imports
	// begin is the first entries of the log by their numbers, up to one with a whole record. What was before them may
	// have been archived: then they follow from that one.
	begin map[int64]recordEntry[R]
	first int64 // the number of the first entry that is known, and so are all after it
}

// historyOf reads where a history begins. current is the record; nil if it is deleted.
func (k *recordKind[R]) historyOf(
	o Operations, q Querier, current *audited[R], name string, args ...any,
) (history[R], error) {
	h := history[R]{Operations: o, q: q, kind: k, name: name, args: args, begin: map[int64]recordEntry[R]{},
		first: math.MaxInt64}
	var entries []recordEntry[R]
	for most := int64(1); !slices.ContainsFunc(entries, recordEntry[R].known); most = wholeEvery {
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
		if n := len(entries); current != nil && n > 0 && !entries[n-1].isKnown {
			isCurrent, err := current.isAudited()
			if err == nil && isCurrent {
				err = entries[n-1].setAfter(&current.record)
			}
			if err != nil {
				return h, err
			}
		}
		break
	}
	err := complete(entries)
	for _, entry := range entries {
		if entry.isKnown {
			h.begin[entry.number], h.first = entry, min(h.first, entry.number)
		}
	}
	return h, err
}

// recordEntries says where the entries of a kind are. Conditions repeat those of their indexes.
type recordEntries struct {
	index, of string // of audit, with the subject as $1
	imports   string // a table of what imports made of each record, with the id as $2; "" if there is none
	imported  string // the action of these
	importsOf string // the condition on them
}

var (
	listingEntries = recordEntries{`audit_of_property`,
		`subject = $1 AND subject >= 'property/' AND subject < 'property0'`,
		`imported_properties`, ActionImportProperty, `property = $2`}
	// An import has an entry of its own about the stock of a perk. It says nothing of the other fields.
	perkEntries = recordEntries{index: `audit_of_perk`,
		of: `subject = $1 AND subject >= 'perk/' AND subject < 'perk0' AND @actor >= 'client/' AND @actor < 'client0'`}
)

// EntriesOfProperty is a statement for the entries of listing $1, with the id $2, that meet a condition, in the order
// of their numbers, or the reverse. most says how many of each table are read.
func (d *Dialect) EntriesOfProperty(columns, condition, descending, most string) string {
	return d.entriesOf(listingEntries, columns, condition, descending, most)
}

// EntriesOfPerk is the same for perk $1, without $2.
func (d *Dialect) EntriesOfPerk(columns, condition, descending, most string) string {
	return d.entriesOf(perkEntries, columns, condition, descending, most)
}

func (d *Dialect) entriesOf(of recordEntries, columns, condition, descending, most string) string {
	part := func(number, action, table, index, of string) string {
		return `SELECT * FROM (
			SELECT ` + d.AuditID + ` AS number, at, actor, ` + action + ` AS action, before, after
			FROM ` + table + d.Indexed(index) + `
			WHERE ` + strings.ReplaceAll(of, `@actor`, `actor`+d.ByCodePoint) + ` AND ` +
			strings.ReplaceAll(condition, `number`, number) + `
			ORDER BY ` + number + descending + ` LIMIT ` + most + `) AS of_` + table
	}
	parts := part(d.IndexedAuditID, `action`, `audit`, of.index, of.of)
	if of.imports != "" {
		parts += ` UNION ALL ` + part(d.AuditID, `'`+of.imported+`'`, of.imports, of.imports+`_in_order`, of.importsOf)
	}
	return `SELECT ` + columns + ` FROM (
		` + parts + `) AS entries`
}

// entries is a statement of entriesOf with more arguments, which it names by their numbers.
func (h history[R]) entries(columns, condition, descending, most string, more ...any) (text string, args []any) {
	text = h.db.entriesOf(h.kind.entries, columns, condition, descending, most)
	return h.numbered(text), append(slices.Clone(h.args), more...)
}

// numbered replaces ?1, ?2 and so on by the parameters after those of the history.
func (h history[R]) numbered(text string) string {
	for i := range 4 {
		text = strings.ReplaceAll(text, fmt.Sprintf(`?%d`, i+1), fmt.Sprintf(`$%d`, len(h.args)+i+1))
	}
	return text
}

// read returns entries after or before a number.
func (h history[R]) read(beyond, descending string, number, skip, take int64) ([]recordEntry[R], error) {
	text, args := h.entries(`*`, `number `+beyond+` ?1`, descending, `?2`, number, skip+take, take, skip)
	return All(h.q, h.kind.scanEntry, text+h.numbered(` ORDER BY number`+descending+` LIMIT ?3 OFFSET ?4`), args...)
}

// before returns entries of the history before a number, newest first.
func (h history[R]) before(number, skip, take int64) ([]recordEntry[R], error) {
	entries, err := h.read(`<`, ` DESC`, number, skip, take)
	if i := slices.IndexFunc(entries, func(e recordEntry[R]) bool { return e.number < h.first }); i >= 0 {
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
		var older []recordEntry[R]
		if older, err = h.read(`<`, ` DESC`, last.number, 0, most); len(older) == 0 {
			break
		}
		isBase := func(e recordEntry[R]) bool { return e.isKnown || h.begin[e.number].isKnown }
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
func (h history[R]) count() (total int64, isMore bool, err error) {
	text, args := h.entries(`count(*)`, `number >= ?1`, ``, `?2`, h.first, MaxCounted+1)
	total, err = One(h.q, ScanValue[int64], text, args...)
	return min(total, MaxCounted), total > MaxCounted, err
}

// asOf returns the record as the last entry of that time or earlier left it, and the entry.
func (h history[R]) asOf(at time.Time) (record R, entry recordEntry[R], err error) {
	text, args := h.entries(`number`, `at <= ?1`, ` DESC`, `1`, at)
	number, err := OneOr(nil, h.q, ScanValue[int64], text+` ORDER BY number DESC LIMIT 1`, args...)
	if err != nil {
		return record, entry, err
	}
	first := h.begin[h.first]
	switch {
	case number == 0 && first.isKnown && first.Before == nil: // it was created later
		return record, entry, NotThere(h.name, at)
	case number < h.first:
		return record, entry, NotKnown(h.name, at, first.At)
	}
	entries, err := h.before(number+1, 0, 1)
	if err == nil && (len(entries) == 0 || entries[0].After == nil) {
		err = NotThere(h.name, at)
	}
	if err != nil {
		return record, entry, err
	}
	return *entries[0].After, entries[0], nil
}

// cursors encrypts the numbers of entries, which tell how much all partners do.
func (h history[R]) cursors() (cipher.Block, error) {
	key, err := One(h.q, ScanValue[[]byte], `SELECT key FROM cursor_key`)
	if err != nil {
		return nil, err
	}
	own := sha256.Sum256(append([]byte("history"), key...))
	return aes.NewCipher(own[:])
}

// cursorAfter returns the place after an entry. A block holds the id too, so that another record refuses it.
func (h history[R]) cursorAfter(number int64) (*Cursor, error) {
	cursors, err := h.cursors()
	if err != nil {
		return nil, err
	}
	place := binary.BigEndian.AppendUint64(nil, h.place())
	place = binary.BigEndian.AppendUint64(place, uint64(number)) // #nosec G115 -- the bits are the same
	cursors.Encrypt(place, place)
	return &Cursor{ID: base64.RawURLEncoding.EncodeToString(place)}, nil
}

// entryOf reverses cursorAfter.
func (h history[R]) entryOf(cursor *Cursor) (int64, error) {
	cursors, err := h.cursors()
	if err != nil {
		return 0, err
	}
	place, err := base64.RawURLEncoding.DecodeString(cursor.ID)
	if err != nil || len(place) != aes.BlockSize {
		return 0, ErrNoCursor
	}
	cursors.Decrypt(place, place)
	if binary.BigEndian.Uint64(place) != h.place() {
		return 0, ErrNoCursor
	}
	return int64(binary.BigEndian.Uint64(place[8:])), nil // #nosec G115 -- as above
}

// place identifies the record in cursors.
func (h history[R]) place() uint64 {
	if id, isNumber := h.args[len(h.args)-1].(int64); isNumber {
		return uint64(id) // #nosec G115 -- the bits are the same
	}
	sum := sha256.Sum256(fmt.Append(nil, h.args...))
	return binary.BigEndian.Uint64(sum[:])
}

// page returns one page of the versions, newest first.
func (h history[R]) page(window Window, after *Cursor) (list List[Version[R]], err error) {
	list.Items = []Version[R]{}
	list.Total, list.IsMore, err = h.count()
	number, skip, per := int64(math.MaxInt64), window.Offset(), int64(window.PerPage)
	if err == nil && after != nil {
		skip = 0
		number, err = h.entryOf(after)
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
		list.Items = append(list.Items, entry.Version)
	}
	return list, err
}
