package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

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

func (db *DB) Audit(ctx context.Context, query store.AuditQuery) iter.Seq2[store.AuditEntry, error] {
	return db.AuditSince(ctx, query, new(store.AuditPosition))
}

// auditColumns are those that conditions are about.
var auditColumns = map[string]string{
	"id": `r.id`, "client": `r.client_id`, "subject": `a.subject`, "actor": `a.actor COLLATE "C"`, "action": `a.action COLLATE "C"`,
}

// auditStatement is empty when there is nothing that the query could want.
func auditStatement(query store.AuditQuery, since *snapshot) (text string, args []any) {
	if slices.ContainsFunc([]any{query.Subject, query.Actor, query.Action}, store.IsForeign) {
		return "", nil
	}
	var parts []string
	add := func(part, table, at string, conditions []store.AuditCondition) {
		where, values := since.newIn(table)
		for _, c := range conditions {
			column := auditColumns[c.Field]
			if c.Field == "at" {
				column = at
			}
			where, values = append(where, column+` `+c.Is+` ?`), append(values, c.Value)
		}
		if len(where) > 0 { // a WHERE that keeps all would keep PostgreSQL from reading both tables in the order of their indexes
			part += ` WHERE ` + strings.Join(where, ` AND `)
		}
		for _, value := range values {
			args = append(args, value)
			part = strings.Replace(part, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		parts = append(parts, part)
	}
	if conditions, wanted := query.OfMade(); wanted {
		add(madeEntries, `r`, `r.redeemed_at`, conditions)
	}
	if conditions, wanted := query.OfKept(); wanted {
		add(keptEntries, `a`, `a.at`, conditions)
	}
	text = strings.Join(parts, ` UNION ALL `)
	switch {
	case text == "":
		return "", nil
	case query.Last > 0 && since == nil:
		return `SELECT * FROM (` + text + lastFirst + fmt.Sprintf(` LIMIT %d`, query.Last) + `) AS entries` + entryOrder, args
	}
	return text + entryOrder, args
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

// newIn is the condition, with a question mark for each argument, that keeps to rows of transactions that the snapshot did not
// see. In a database that was restored elsewhere rows hold numbers of the old server, which the new one comes to one day: that
// these rows are not new is told by the version of the row, which was written here by a transaction that is older than the
// snapshot and than that number.
func (s *snapshot) newIn(table string) (conditions []string, args []any) {
	if s == nil {
		return nil, nil
	}
	arrived, age := table+`.arrived`, `age(`+table+`.xmin)`
	next := fmt.Sprint(uint32(s.next)) // #nosec G115 -- an xid is the lower half of an xid8
	later, args := arrived+` >= ?::xid8 AND `+age+` <= age(?::xid)`, []any{fmt.Sprint(s.next), next}
	if s.underWay == "" {
		return []string{later}, args
	}
	underWay := arrived + ` = ANY (?::xid8[]) AND ` + age + ` <= age(` + arrived + `::xid)`
	return []string{`(` + later + ` OR ` + underWay + `)`}, append(args, "{"+s.underWay+"}")
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
		if seen, err = store.One(v, store.ScanValue[string], `SELECT pg_current_snapshot()::text`); err != nil {
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
		if _, err := store.All(v, store.ScanValue[string], onlyIndexesHere); err != nil {
			return err
		}
		begun, err = passOn(store.Each(v, scanAuditEntry, text, append([]any{forTheseValues}, args...)...), func(entry store.AuditEntry, err error) bool {
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

func scanAuditEntry(r row) (store.AuditEntry, error) {
	var entry store.AuditRow
	var at time.Time
	if err := r.Scan(append([]any{&at}, entry.Columns()...)...); err != nil {
		return store.AuditEntry{}, err
	}
	return entry.Entry(at)
}
