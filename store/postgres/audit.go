package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

func (s *session) AddEntry(at time.Time, by store.Actor, action, subject string, before, after *string) error {
	return s.exec(`INSERT INTO audit (at, actor, action, subject, before, after) VALUES ($1, $2, $3, $4, $5, $6)`,
		at, string(by), action, subject, before, after)
}

const (
	// madeEntries are the redemptions as they were made, each an entry by itself.
	madeEntries = `
		SELECT r.redeemed_at AS at, 0 AS source, 0::bigint AS entry, '' AS actor, '' AS action, '' AS subject, NULL AS before, NULL AS after,
			r.id AS redemption, r.perk_id, r.user_id, r.client_id, r.first_status, r.metadata
		FROM redemptions AS r`
	keptEntries = `
		SELECT a.at, 1 AS source, a.entry, a.actor, a.action, a.subject, a.before, a.after,
			NULL AS redemption, NULL AS perk_id, NULL AS user_id, NULL AS client_id, NULL AS first_status, NULL AS metadata
		FROM audit AS a`
	// entryOrder puts a redemption before another entry of its instant, since what is decided was made before. Two indexes
	// give the order of the instants, so that only entries of one instant are ever sorted.
	entryOrder = ` ORDER BY at, source, entry, redemption`
	lastFirst  = ` ORDER BY at DESC, source DESC, entry DESC, redemption DESC`
)

// Audit returns the entries that the query wants, in the order in which they happened.
func (db *DB) Audit(ctx context.Context, query store.AuditQuery) iter.Seq2[store.AuditEntry, error] {
	return db.AuditSince(ctx, query, new(store.AuditPosition))
}

// auditStatement is empty when there is nothing that the query could want.
func auditStatement(query store.AuditQuery, since *snapshot) (string, []any) {
	if slices.ContainsFunc([]any{query.Subject, query.Actor, query.Action}, isForeign) {
		return "", nil
	}
	var w auditWhere
	var parts []string
	if made, wanted := query.Made(); wanted {
		w.begin(madeEntries)
		w.whenIf(made.ID != "", `r.id = ?`, made.ID)
		w.matches(`r.client_id`, made.Client)
		w.within(`r.redeemed_at`, query)
		w.newSince(`r`, since)
		parts = append(parts, w.text())
	}
	if query.Kept() {
		w.begin(keptEntries)
		w.whenIf(query.Subject != "", `a.subject = ?`, query.Subject)
		w.matches(`a.actor COLLATE "C"`, store.ReadAuditPattern(query.Actor))
		w.matches(`a.action COLLATE "C"`, store.ReadAuditPattern(query.Action))
		w.within(`a.at`, query)
		w.newSince(`a`, since)
		parts = append(parts, w.text())
	}
	switch {
	case len(parts) == 0:
		return "", nil
	case query.Last > 0 && since == nil:
		return `SELECT * FROM (` + strings.Join(parts, ` UNION ALL `) + lastFirst + fmt.Sprintf(` LIMIT %d`, query.Last) + `) AS entries` + entryOrder, w.args
	}
	return strings.Join(parts, ` UNION ALL `) + entryOrder, w.args
}

// auditWhere puts the halves of a statement together, which share their arguments.
type auditWhere struct {
	from       string
	conditions []string
	args       []any
}

func (w *auditWhere) begin(from string) { w.from, w.conditions = from, nil }

// when adds a condition with a question mark for each argument.
func (w *auditWhere) when(condition string, args ...any) {
	for _, arg := range args {
		w.args = append(w.args, arg)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(w.args)), 1)
	}
	w.conditions = append(w.conditions, condition)
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
	w.whenIf(!query.Since.IsZero(), column+` >= ?`, query.Since)
	w.whenIf(!query.Until.IsZero(), column+` < ?`, query.Until)
}

// newSince keeps to rows of transactions that the snapshot did not see. In a database that was restored elsewhere rows
// hold numbers of the old server, which the new one comes to one day: that these rows are not new is told by the version
// of the row, which was written here by a transaction that is older than the snapshot and than that number.
func (w *auditWhere) newSince(table string, since *snapshot) {
	if since == nil {
		return
	}
	arrived, age := table+`.arrived`, `age(`+table+`.xmin)`
	next := fmt.Sprint(uint32(since.next)) // #nosec G115 -- an xid is the lower half of an xid8
	later := arrived + ` >= ?::xid8 AND ` + age + ` <= age(?::xid)`
	if since.underWay == "" {
		w.when(later, fmt.Sprint(since.next), next)
		return
	}
	w.when(`(`+later+` OR `+arrived+` = ANY (?::xid8[]) AND `+age+` <= age(`+arrived+`::xid))`, fmt.Sprint(since.next), next, "{"+since.underWay+"}")
}

func (w *auditWhere) text() string {
	if len(w.conditions) == 0 {
		return w.from
	}
	return w.from + ` WHERE ` + strings.Join(w.conditions, ` AND `)
}

// snapshot is which transactions were over at a moment: those below next that were not under way.
type snapshot struct {
	next     uint64
	underWay string // numbers with commas between
}

// readSnapshot reads the text of a pg_snapshot.
func readSnapshot(text string) (s snapshot, err error) {
	if _, err := fmt.Sscanf(text, "%d:%d:", new(uint64), &s.next); err != nil {
		return s, fmt.Errorf("%q is not a position in the audit log of PostgreSQL", text)
	}
	s.underWay = text[strings.LastIndexByte(text, ':')+1:]
	return s, nil
}

// onlyIndexesHere keeps what is read in the order of an index, so that nothing has to be sorted as a whole before the first
// entry is shown. It is a SELECT, since a view has nothing else.
const onlyIndexesHere = `SELECT set_config('enable_seqscan', 'off', true)`

var errOlderCopy = errors.New("the database is an older copy of the one that was read before")

// AuditSince returns the entries that were not there yet at the position, which is a snapshot.
func (db *DB) AuditSince(ctx context.Context, query store.AuditQuery, position *store.AuditPosition) iter.Seq2[store.AuditEntry, error] {
	return func(yield func(store.AuditEntry, error) bool) {
		begun, err := db.auditTurn(ctx, query, position, yield)
		if db.leadsNowhere(err) && !begun && ctx.Err() == nil {
			_, err = db.auditTurn(ctx, query, position, yield)
		}
		if err != nil {
			yield(store.AuditEntry{}, fault("read the audit log", err))
		}
	}
}

func (db *DB) auditTurn(ctx context.Context, query store.AuditQuery, position *store.AuditPosition, yield func(store.AuditEntry, error) bool) (begun bool, err error) {
	var seen string
	stopped := false
	err = db.readOnce(ctx, func(v view) (err error) {
		if seen, err = one(v, scanValue[string], `SELECT pg_current_snapshot()::text`); err != nil {
			return err
		}
		since, err := sincePosition(*position, seen)
		if err != nil {
			return err
		}
		text, args := auditStatement(query, since)
		if text == "" {
			return nil
		}
		if _, err := all(v, scanValue[string], onlyIndexesHere); err != nil {
			return err
		}
		begun, err = passOn(each(v, scanAuditEntry, text, append([]any{forTheseValues}, args...)...), func(entry store.AuditEntry, err error) bool {
			stopped = !yield(entry, err)
			return !stopped
		})
		return err
	})
	if err == nil && !stopped {
		*position = store.AuditPosition(seen)
	}
	return begun, err
}

// sincePosition is nil before everything.
func sincePosition(position store.AuditPosition, seen string) (*snapshot, error) {
	if position == "" {
		return nil, nil
	}
	since, err := readSnapshot(string(position))
	if err != nil {
		return nil, err
	}
	now, err := readSnapshot(seen)
	if err == nil && now.next < since.next {
		err = errOlderCopy
	}
	return &since, err
}

func scanAuditEntry(r row) (entry store.AuditEntry, err error) {
	var source, place int64
	var before, after, id, perk, user, client, status, metadata *string
	if err := r.Scan(&entry.At, &source, &place, &entry.Actor, &entry.Action, &entry.Subject, &before, &after,
		&id, &perk, &user, &client, &status, &metadata); err != nil {
		return entry, err
	}
	entry.At = entry.At.UTC()
	if source == 0 {
		return store.RedeemEntry(store.RedemptionRecord{ClientID: *client, Redemption: api.Redemption{
			ID: *id, PerkID: *perk, UserID: *user, RedeemedAt: entry.At,
			Status: api.RedemptionStatus(*status), Metadata: json.RawMessage(*metadata),
		}})
	}
	entry.Before, entry.After = store.AuditedRecord(before), store.AuditedRecord(after)
	return entry, nil
}
