package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"example.com/perks/api"
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

// Audit returns the entries that the query wants, in the order in which they happened.
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
	return each(v, scanAuditEntry, text, args...)
}

// auditStatement is empty when there is nothing that the query could want.
func auditStatement(query store.AuditQuery, since *rowsRead) (string, []any) {
	var w auditWhere
	var parts []string
	if made, wanted := query.Made(); wanted {
		w.begin(madeEntries)
		w.whenIf(made.ID != "", `r.id = ?`, made.ID)
		w.matches(`r.client_id`, made.Client)
		w.within(`r.redeemed_at`, query)
		if since != nil {
			w.when(`r.row > ?`, since.redemptions)
		}
		parts = append(parts, w.text())
	}
	if query.Kept() {
		w.begin(keptEntries)
		w.whenIf(query.Subject != "", `a.subject = ?`, query.Subject)
		w.matches(`a.actor`, store.ReadAuditPattern(query.Actor))
		w.matches(`a.action`, store.ReadAuditPattern(query.Action))
		w.within(`a.at`, query)
		if since != nil {
			w.when(`a.row > ?`, since.audit)
		}
		parts = append(parts, w.text())
	}
	text := strings.Join(parts, ` UNION ALL `)
	switch {
	case len(parts) == 0:
		return "", nil
	case query.Last > 0 && since == nil:
		return `SELECT * FROM (` + text + lastFirst + fmt.Sprintf(` LIMIT %d`, query.Last) + `)` + entryOrder, w.args
	}
	return text + entryOrder, w.args
}

// auditWhere puts the halves of a statement together. Their arguments are in the order of the question marks.
type auditWhere struct {
	from       string
	conditions []string
	args       []any
}

func (w *auditWhere) begin(from string) { w.from, w.conditions = from, nil }

func (w *auditWhere) when(condition string, args ...any) {
	w.conditions, w.args = append(w.conditions, condition), append(w.args, args...)
}

func (w *auditWhere) whenIf(is bool, condition string, args ...any) {
	if is {
		w.when(condition, args...)
	}
}

func (w *auditWhere) matches(column string, pattern store.AuditPattern) {
	switch {
	case pattern.MatchesAll():
	case pattern.IsPrefix:
		w.when(column+` >= ? AND `+column+` < ?`, pattern.Text, pattern.End())
	default:
		w.when(column+` = ?`, pattern.Text)
	}
}

func (w *auditWhere) within(column string, query store.AuditQuery) {
	w.whenIf(!query.Since.IsZero(), column+` >= ?`, query.Since.UnixMicro())
	w.whenIf(!query.Until.IsZero(), column+` < ?`, query.Until.UnixMicro())
}

func (w *auditWhere) text() string {
	if len(w.conditions) == 0 {
		return w.from
	}
	return w.from + ` WHERE ` + strings.Join(w.conditions, ` AND `)
}

// AuditSince returns the entries that were not there yet at the position.
func (db *DB) AuditSince(ctx context.Context, query store.AuditQuery, position *store.AuditPosition) iter.Seq2[store.AuditEntry, error] {
	return func(yield func(store.AuditEntry, error) bool) {
		var last rowsRead
		stopped := false
		err := db.read(ctx, "read the audit log", func(v view) (err error) {
			if last, err = one(v, scanRowsRead, `SELECT ifnull((SELECT max(row) FROM redemptions), 0), ifnull((SELECT max(row) FROM audit), 0)`); err != nil {
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

// sincePosition is nil before everything. A sandbox that was reset has its redemptions numbered anew, and may have as many
// again.
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
	wasReset, err := one(v, scanValue[bool], `SELECT EXISTS (SELECT 1 FROM audit WHERE row > ? AND action = ?)`, since.audit, store.ActionResetSandbox)
	if wasReset {
		since.redemptions = 0
	}
	return &since, err
}

func scanAuditEntry(r row) (entry store.AuditEntry, err error) {
	var at, source, place int64
	var before, after, id, perk, user, client, status, metadata *string
	if err := r.Scan(&at, &source, &place, &entry.Actor, &entry.Action, &entry.Subject, &before, &after,
		&id, &perk, &user, &client, &status, &metadata); err != nil {
		return entry, err
	}
	if source == 0 {
		return store.RedeemEntry(store.RedemptionRecord{ClientID: *client, Redemption: api.Redemption{
			ID: *id, PerkID: *perk, UserID: *user, RedeemedAt: fromMicros(at),
			Status: api.RedemptionStatus(*status), Metadata: json.RawMessage(*metadata),
		}})
	}
	entry.At, entry.Before, entry.After = fromMicros(at), store.AuditedRecord(before), store.AuditedRecord(after)
	return entry, nil
}
