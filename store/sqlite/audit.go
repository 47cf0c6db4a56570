package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"example.com/perks/store"
)

func (s *session) AddEntry(at time.Time, by store.Actor, action, subject string, before, after *string) error {
	return s.exec(`INSERT INTO audit (at, actor, action, subject, before, after) VALUES (?, ?, ?, ?, ?, ?)`,
		at.UnixMicro(), string(by), action, subject, before, after)
}

const (
	// madeEntries are the redemptions as they were made, each an entry by itself.
	madeEntries = `
		SELECT r.redeemed_at AS at, 0 AS source, r.row AS place, '' AS actor, '' AS action, '' AS subject, NULL AS before, NULL AS after,
			r.id, p.id AS perk, r.user_id, r.client_id, r.first_status, r.metadata
		FROM redemptions AS r CROSS JOIN perks AS p ON p.row = r.perk`
	keptEntries = `
		SELECT a.at, 1 AS source, a.row AS place, a.actor, a.action, a.subject, a.before, a.after,
			NULL AS id, NULL AS perk, NULL AS user_id, NULL AS client_id, NULL AS first_status, NULL AS metadata
		FROM audit AS a`
	// entryOrder puts a redemption before another entry of its instant, since what is decided was made before.
	entryOrder = ` ORDER BY at, source, place`
	lastFirst  = ` ORDER BY at DESC, source DESC, place DESC`
)

func (db *DB) Audit(ctx context.Context, query store.AuditQuery) iter.Seq2[store.AuditEntry, error] {
	return faults("read the audit log", auditEntries(db.latest(ctx), query, nil))
}

// rowsRead is how far someone has read. Rows are numbered in the order of their commits: there is one writer at a time,
// and what it adds comes last.
type rowsRead struct{ redemptions, audit int64 }

func auditEntries(v view, query store.AuditQuery, since *rowsRead) iter.Seq2[store.AuditEntry, error] {
	text, args := auditStatement(query, since)
	if text == "" {
		return func(func(store.AuditEntry, error) bool) {}
	}
	return store.Each(v, scanAuditEntry, text, args...)
}

// auditColumns are those that conditions are about.
var auditColumns = map[string]string{
	"id": `r.id`, "client": `r.client_id`, "subject": `a.subject`, "actor": `a.actor`, "action": `a.action`,
}

// auditStatement is empty when there is nothing that the query could want.
func auditStatement(query store.AuditQuery, since *rowsRead) (text string, args []any) {
	var parts []string
	add := func(part, at, new string, conditions []store.AuditCondition) {
		part += ` WHERE ` + new
		for _, c := range conditions {
			column, value := auditColumns[c.Field], c.Value
			if instant, ok := value.(time.Time); ok {
				column, value = at, instant.UnixMicro()
			}
			part += ` AND ` + column + ` ` + c.Is + ` ?`
			args = append(args, value)
		}
		parts = append(parts, part)
	}
	newMade, newKept := `true`, `true`
	if since != nil {
		newMade, newKept = fmt.Sprintf(`r.row > %d`, since.redemptions), fmt.Sprintf(`a.row > %d`, since.audit)
	}
	if conditions, wanted := query.OfMade(); wanted {
		add(madeEntries, `r.redeemed_at`, newMade, conditions)
	}
	if conditions, wanted := query.OfKept(); wanted {
		add(keptEntries, `a.at`, newKept, conditions)
	}
	text = strings.Join(parts, ` UNION ALL `)
	switch {
	case text == "":
		return "", nil
	case query.Last > 0 && since == nil:
		return `SELECT * FROM (` + text + lastFirst + fmt.Sprintf(` LIMIT %d`, query.Last) + `)` + entryOrder, args
	}
	return text + entryOrder, args
}

func (db *DB) AuditSince(ctx context.Context, query store.AuditQuery, position *store.AuditPosition) iter.Seq2[store.AuditEntry, error] {
	return func(yield func(store.AuditEntry, error) bool) {
		var last rowsRead
		stopped := false
		err := db.read(ctx, "read the audit log", func(v view) (err error) {
			if last, err = store.One(v, scanRowsRead, `SELECT ifnull((SELECT max(row) FROM redemptions), 0), ifnull((SELECT max(row) FROM audit), 0)`); err != nil {
				return err
			}
			since, err := sincePosition(v, *position, last)
			if err != nil {
				return err
			}
			for entry, err := range auditEntries(v, query, since) {
				if err != nil {
					return err
				}
				if stopped = !yield(entry, nil); stopped {
					return nil
				}
			}
			return nil
		})
		switch {
		case err != nil:
			yield(store.AuditEntry{}, err)
		case !stopped:
			*position = store.AuditPosition(fmt.Sprintf("%d.%d", last.redemptions, last.audit))
		}
	}
}

func scanRowsRead(r row) (last rowsRead, err error) {
	return last, r.Scan(&last.redemptions, &last.audit)
}

var errOlderCopy = errors.New("the database is an older copy of the one that was read before")

// sincePosition is nil before everything. A sandbox that was reset has its redemptions numbered anew, and may have as many again.
func sincePosition(v view, position store.AuditPosition, last rowsRead) (*rowsRead, error) {
	if position == "" {
		return nil, nil
	}
	var since rowsRead
	if _, err := fmt.Sscanf(string(position), "%d.%d", &since.redemptions, &since.audit); err != nil {
		return nil, fmt.Errorf("%q is not a position in the audit log of SQLite", position)
	}
	if last.audit < since.audit {
		return nil, errOlderCopy
	}
	wasReset, err := store.One(v, store.ScanValue[bool], `SELECT EXISTS (SELECT 1 FROM audit WHERE row > ? AND action = ?)`, since.audit, store.ActionResetSandbox)
	if wasReset {
		since.redemptions = 0
	}
	return &since, err
}

func scanAuditEntry(r row) (store.AuditEntry, error) {
	var entry store.AuditRow
	var at int64
	if err := r.Scan(append([]any{&at}, entry.Columns()...)...); err != nil {
		return store.AuditEntry{}, err
	}
	return entry.Entry(fromMicros(at))
}
