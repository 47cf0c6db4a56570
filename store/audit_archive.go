package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// Archived is what the audit log shows of entries that were moved to a file.
type Archived struct {
	File    string    `json:"file"`
	Before  time.Time `json:"before"`
	Entries int64     `json:"entries"`
	SHA256  string    `json:"sha256"` // of the file's contents
}

// AuditSubject is the audit log as a whole.
const AuditSubject = "audit"

// ErrArchived means that entries after an AuditPosition were moved to a file.
var ErrArchived = errors.New("entries after that position were moved to a file by 'perksd audit archive'")

// AuditPositionArchived is ErrArchived for a caller of the API.
func AuditPositionArchived() error {
	return api.FieldErrorf("after", "is too old: events after it were archived. Leave it out to begin at the newest "+
		"ones, and read again what you keep a copy of")
}

// movableEntries selects the entries before $1 that nothing needs. What stays: the last deletion of a listing that does
// not live, for its restore, and what positions and archives follow from.
func (d *Dialect) movableEntries() string {
	return d.AuditEntries.Select + ` WHERE a.at < $1
		AND a.action NOT IN ('` + ActionArchiveAudit + `', '` + ActionResetSandbox + `')
		AND CASE WHEN a.action = '` + ActionDeleteProperty + `' THEN
			EXISTS (SELECT 1 FROM properties AS p WHERE p.id = CAST(substr(a.subject, 10) AS bigint))
			OR EXISTS (SELECT 1 FROM audit AS later
				WHERE later.subject = a.subject AND later.action = a.action
					AND later.` + d.AuditID + ` > a.` + d.AuditID + `)
			ELSE true END
		UNION ALL ` + d.auditImports().Select + ` WHERE a.at < $1` + d.AuditOldestFirst
}

func (o Operations) MovableAudit(ctx context.Context, before time.Time) iter.Seq2[AuditEntry, error] {
	return stream(notBehind(ctx), o.db, "read the entries to archive", scanAuditEntry, o.db.movableEntries(), before)
}

func (o Operations) RecordArchive(ctx context.Context, archived Archived, by Actor, at time.Time) error {
	return o.db.Write(ctx, "record that entries were archived", func(tx Tx) error {
		if err := lock(tx, o.db.LockAudit); err != nil {
			return err
		}
		known, err := All(tx, ScanValue[string],
			`SELECT after FROM audit WHERE subject = $1 AND action = $2 ORDER BY at`, AuditSubject, ActionArchiveAudit)
		if err != nil {
			return err
		}
		for _, record := range known {
			if strings.Contains(record, archived.SHA256) {
				return nil
			}
		}
		return Audit(tx, at, by, ActionArchiveAudit, AuditSubject, nil, archived)
	})
}

// removedAtOnce is how many rows one transaction of RemoveArchived reads, so that other writes do not wait.
const removedAtOnce = 200

func (o Operations) RemoveArchived(ctx context.Context, entries []AuditEntry) (removed int64, err error) {
	entries = slices.SortedFunc(slices.Values(entries), func(a, b AuditEntry) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Subject, b.Subject))
	})
	isImport := func(e AuditEntry) bool { return e.Action == ActionImportProperty }
	imports := slices.DeleteFunc(slices.Clone(entries), func(e AuditEntry) bool { return !isImport(e) })
	for some := range slices.Chunk(imports, removedAtOnce) {
		n, err := writeFor(ctx, o, "remove archived entries", func(tx Tx) (int64, error) {
			return o.removeImports(tx, some)
		})
		if removed += n; err != nil {
			return removed, err
		}
	}
	entries = slices.DeleteFunc(entries, isImport)
	for len(entries) > 0 {
		var through, n int64
		err := o.db.Write(ctx, "remove archived entries", func(tx Tx) (err error) {
			through, n, err = o.removeSome(tx, entries)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += n
		left := slices.IndexFunc(entries, func(e AuditEntry) bool { return e.Number > through })
		if left < 0 {
			return removed, nil
		}
		entries = entries[left:]
	}
	return removed, nil
}

// removeImports removes entries for what imports made of listings. Removing the entry of the import, which comes later,
// says that they are gone.
func (o Operations) removeImports(tx Tx, entries []AuditEntry) (removed int64, err error) {
	archived := map[string]AuditEntry{}
	name := func(e AuditEntry) string { return fmt.Sprint(e.Number, " ", e.Subject) }
	var keys []string
	var args []any
	for _, entry := range entries {
		var id int64
		if _, err := fmt.Sscanf(entry.Subject, propertyPrefix+"%d", &id); err != nil {
			return 0, fmt.Errorf("the entry %d of the file is of %q, not of a property", entry.Number, entry.Subject)
		}
		archived[name(entry)] = entry
		args = append(args, id, entry.Number)
		keys = append(keys, fmt.Sprintf(`(CAST($%d AS bigint), CAST($%d AS bigint))`, len(args)-1, len(args)))
	}
	source := o.db.auditImports()
	where := ` WHERE (property, ` + o.db.AuditID + `) IN (VALUES ` + strings.Join(keys, `, `) + `)`
	for row, err := range Each(tx, scanAuditEntry, source.Select+where, args...) {
		if err != nil {
			return 0, err
		}
		if !sameEntry(archived[name(row)], row) {
			return 0, otherArchive(row)
		}
	}
	if err := lock(tx, o.db.BeginRemoving); err != nil {
		return 0, err
	}
	removed, err = tx.Exec(`DELETE FROM imported_properties`+where, args...)
	return removed, cmp.Or(err, lock(tx, o.db.EndRemoving))
}

func otherArchive(row AuditEntry) error {
	return fmt.Errorf("the entry %d of the file is not that of the database: the file is the archive of another one",
		row.Number)
}

// removeSome removes those of the entries, in the order of their numbers, that are among the first rows from there on.
// It returns the number of the last row that it has dealt with.
func (o Operations) removeSome(tx Tx, entries []AuditEntry) (through, removed int64, err error) {
	number := `a.` + o.db.AuditID
	last := entries[len(entries)-1].Number
	rows, err := All(tx, scanAuditEntry, o.db.AuditEntries.Select+` WHERE `+number+` >= $1 AND `+number+` <= $2
		ORDER BY `+number+` LIMIT $3`, entries[0].Number, last, removedAtOnce)
	if err != nil {
		return 0, 0, err
	}
	if through = last; len(rows) == removedAtOnce {
		through = rows[len(rows)-1].Number
	}
	if err := lock(tx, o.db.BeginRemoving); err != nil {
		return 0, 0, err
	}
	remove := func(first, last int64) error {
		if first == 0 {
			return nil
		}
		if _, err := tx.Exec(o.db.AuditGone, first, last); err != nil {
			return err
		}
		id := o.db.AuditID
		n, err := tx.Exec(`DELETE FROM audit WHERE `+id+` >= $1 AND `+id+` <= $2`, first, last)
		removed += n
		return err
	}
	var first, end int64 // of rows without others in between
	for _, row := range rows {
		i, isArchived := slices.BinarySearchFunc(entries, row.Number, func(e AuditEntry, number int64) int {
			return cmp.Compare(e.Number, number)
		})
		switch {
		case isArchived && !sameEntry(entries[i], row):
			return 0, 0, otherArchive(row)
		case isArchived:
			first, end = cmp.Or(first, row.Number), row.Number
		default:
			if err := remove(first, end); err != nil {
				return 0, 0, err
			}
			first = 0
		}
	}
	if err := remove(first, end); err != nil {
		return 0, 0, err
	}
	return through, removed, lock(tx, o.db.EndRemoving)
}

// sameEntry compares entries as archives have them.
func sameEntry(a, b AuditEntry) bool {
	first, errFirst := EncodeArchived(a)
	second, errSecond := EncodeArchived(b)
	return errFirst == nil && errSecond == nil && bytes.Equal(first, second)
}

// Matches tells whether the query selects the entry, apart from Last.
func (q AuditQuery) Matches(e AuditEntry) bool {
	matches := func(filter, text string) bool {
		pattern, isPrefix := auditPattern(filter)
		return text == pattern || isPrefix && strings.HasPrefix(text, pattern)
	}
	return (q.Subject == "" || q.Subject == e.Subject) &&
		matches(q.Actor, string(e.Actor)) && matches(q.Action, e.Action) &&
		(q.Since.IsZero() || !e.At.Before(q.Since)) && (q.Until.IsZero() || e.At.Before(q.Until))
}

// archivedEntry is an AuditEntry as an archive has it: with its number.
type archivedEntry struct {
	Number int64 `json:"number"`
	AuditEntry
}

// EncodeArchived returns an entry as a line of an archive.
func EncodeArchived(e AuditEntry) ([]byte, error) {
	e.At = e.At.UTC()
	return json.Marshal(archivedEntry{e.Number, e})
}

// DecodeArchived reverses EncodeArchived.
func DecodeArchived(line []byte) (AuditEntry, error) {
	var e archivedEntry
	err := json.Unmarshal(line, &e)
	e.AuditEntry.Number = e.Number
	return e.AuditEntry, err
}
