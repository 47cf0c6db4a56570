package postgres

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/perks/store"
)

// Positions in the audit log are snapshots, because numbers of rows and times are not in the order of commits.

// snapshot is the transactions that were complete at a moment: those below next that were not running.
type snapshot struct {
	next    uint64
	running string // numbers separated by commas
}

// snapshotText is the text of a pg_snapshot: the first running transaction, the next one, and the running ones.
var snapshotText = regexp.MustCompile(`^[0-9]{1,19}:([0-9]{1,19}):((?:[0-9]{1,19}(?:,[0-9]{1,19})*)?)$`)

// maxPosition is the longest position, in bytes, with hundreds of running transactions.
const maxPosition = 8 << 10

// readSnapshot reads the text of a pg_snapshot, which may come from a caller.
func readSnapshot(position store.AuditPosition) (s snapshot, err error) {
	parts := snapshotText.FindStringSubmatch(string(position))
	if parts == nil || len(position) > maxPosition {
		return s, fmt.Errorf("%q: %w of PostgreSQL", position, store.ErrPosition)
	}
	s.next, err = strconv.ParseUint(parts[1], 10, 64)
	s.running = parts[2]
	return s, err
}

// before is the snapshot as it was when another transaction was the next one, if those have ended that had begun and
// are not running.
func (s snapshot) before(next uint64) snapshot {
	earlier := snapshot{next: next}
	var running []string
	for id := range strings.SplitSeq(s.running, ",") {
		if n, err := strconv.ParseUint(id, 10, 64); err == nil && n < next {
			running = append(running, id)
		}
	}
	earlier.running = strings.Join(running, ",")
	return earlier
}

func (s snapshot) position() store.AuditPosition {
	first, _, _ := strings.Cut(s.running, ",")
	return store.AuditPosition(fmt.Sprintf("%s:%d:%s", cmp.Or(first, fmt.Sprint(s.next)), s.next, s.running))
}

// newIn is the condition for rows of transactions that the snapshot does not include. After a restore to another
// server, rows have transaction numbers of the old one, which the new one may reach later. The age of the row's xmin
// shows that they are not new.
func (s snapshot) newIn(table string) store.AuditFilter {
	arrived, age := table+`.arrived`, `age(`+table+`.xmin)`
	next := fmt.Sprint(uint32(s.next)) // #nosec G115 -- an xid is the lower half of an xid8
	later, args := arrived+` >= ?::xid8 AND `+age+` <= age(?::xid)`, []any{fmt.Sprint(s.next), next}
	if s.running == "" {
		return store.AuditFilter{Conditions: []string{later}, Args: args}
	}
	running := arrived + ` = ANY (?::xid8[]) AND ` + age + ` <= age(` + arrived + `::xid)`
	return store.AuditFilter{Conditions: []string{`(` + later + ` OR ` + running + `)`},
		Args: append(args, "{"+s.running+"}")}
}

// checkArchived returns store.ErrArchived if entries were archived that the snapshot does not include.
func (s snapshot) checkArchived(q store.Querier) error {
	filter := s.newIn(`g`)
	text := `SELECT EXISTS (SELECT 1 FROM audit_archived AS g WHERE ` + strings.Join(filter.Conditions, ` AND `) + `)`
	for i := range filter.Args {
		text = strings.Replace(text, "?", fmt.Sprintf("$%d", i+1), 1)
	}
	missed, err := store.One(q, store.ScanValue[bool], text, filter.Args...)
	if err == nil && missed {
		err = store.ErrArchived
	}
	return err
}

// readSnapshots reads two positions, of which the second must not be before the first.
func readSnapshots(since, until store.AuditPosition) (from, to snapshot, err error) {
	if from, err = readSnapshot(since); err != nil {
		return from, to, err
	}
	if to, err = readSnapshot(until); err == nil && to.next < from.next {
		err = store.ErrOlderCopy
	}
	return from, to, err
}

// auditEnd divides what is between two snapshots at a transaction, and so at a snapshot too: that of the moment when
// the transaction had not begun, and all before it had ended that have ended by upTo.
//
// It disables sequential scans in the transaction: the planner does not know how few rows are new, and entries that are
// read in index order need no sort.
func auditEnd(q store.Querier, since, upTo store.AuditPosition, most store.AuditBound) (store.AuditEnd, error) {
	now, err := store.One(q, func(r row) (now string, err error) { return now, r.Scan(&now, new(string)) },
		`SELECT pg_current_snapshot()::text, set_config('enable_seqscan', 'off', true)`)
	end := store.AuditEnd{Position: cmp.Or(upTo, store.AuditPosition(now)), IsLast: true}
	if err != nil || since == "" {
		return end, err
	}
	if _, _, err := readSnapshots(end.Position, store.AuditPosition(now)); err != nil {
		return end, err
	}
	from, to, err := readSnapshots(since, end.Position)
	if err == nil {
		err = from.checkArchived(q)
	}
	if err != nil || most == (store.AuditBound{}) {
		return end, err
	}
	// It must advance, however large the first transaction is.
	cut, err := store.All(q, store.ScanValue[string], firstAfterMost,
		fmt.Sprint(from.next), fmt.Sprint(to.next), most.Entries)
	if err != nil || len(cut) == 0 {
		return end, err
	}
	next, err := strconv.ParseUint(cut[0], 10, 64)
	if next = max(next, from.next+1); err == nil && next < to.next {
		end = store.AuditEnd{Position: to.before(next).position()}
	}
	return end, err
}

// firstAfterMost is the transaction of the first row that has $3 before it in its table.
const firstAfterMost = `
	SELECT number::text AS text FROM (
		(SELECT arrived AS number FROM redemptions WHERE arrived >= $1::xid8 AND arrived < $2::xid8
			ORDER BY arrived OFFSET $3 LIMIT 1)
		UNION ALL
		(SELECT arrived FROM audit WHERE arrived >= $1::xid8 AND arrived < $2::xid8 ORDER BY arrived OFFSET $3 LIMIT 1)
	) AS rows ORDER BY number LIMIT 1`

func auditRange(_ store.Querier, since, until store.AuditPosition) (redemptions, entries store.AuditFilter, err error) {
	from, to, err := readSnapshots(since, until)
	return from.until(to, `r`), from.until(to, `a`), err
}

// until is newIn without the rows of transactions that another snapshot does not include.
func (s snapshot) until(to snapshot, table string) store.AuditFilter {
	filter := s.newIn(table)
	filter.Conditions = append(filter.Conditions, table+`.arrived < ?::xid8`)
	filter.Args = append(filter.Args, fmt.Sprint(to.next))
	if to.running != "" {
		filter.Conditions = append(filter.Conditions, table+`.arrived <> ALL (?::xid8[])`)
		filter.Args = append(filter.Args, "{"+to.running+"}")
	}
	return filter
}

// auditNewest leaves out the rows of a restored copy whose numbers this server has not reached.
func auditNewest(q store.Querier, now store.AuditPosition, actions []string, most int) ([]store.AuditKey, error) {
	end, err := readSnapshot(now)
	if err != nil {
		return nil, err
	}
	redemptions := `
		(SELECT id, 0::bigint AS entry, arrived, redeemed_at AS at, 0 AS source, octet_length(metadata) AS size
			FROM redemptions WHERE arrived < $1::xid8 ORDER BY arrived DESC, redeemed_at DESC, id DESC LIMIT $2)
		UNION ALL`
	if !slices.Contains(actions, store.ActionRedeem) {
		redemptions = ``
	}
	return store.All(q, func(r row) (key store.AuditKey, err error) {
		return key, r.Scan(&key.ID, &key.Entry, &key.Order, &key.Size)
	}, `
		SELECT id, entry, arrived::text::bigint, size FROM (`+redemptions+`
			(SELECT '' AS id, entry, arrived, at, 1 AS source,
					coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0) AS size
				FROM (SELECT * FROM audit WHERE arrived < $1::xid8 ORDER BY arrived DESC LIMIT $3) AS newest
				WHERE action = ANY ($4) ORDER BY arrived DESC, at DESC, entry DESC LIMIT $2)
		) AS entries ORDER BY arrived DESC, at DESC, source DESC, entry DESC, id DESC LIMIT $2`,
		fmt.Sprint(end.next), most, store.AuditSearch, actions)
}

// auditPlaceOf counts the entries of the transaction up to the one with the key, in the order of commits.
func auditPlaceOf(q store.Querier, now store.AuditPosition, key store.AuditKey) (place store.AuditPlace, err error) {
	end, err := readSnapshot(now)
	if err != nil {
		return place, err
	}
	number := uint64(key.Order) // #nosec G115 -- PostgreSQL does not reach the half of its numbers
	var all int
	place = store.AuditPlace{Since: end.before(number).position(), Until: end.before(number + 1).position()}
	place.Read, err = store.OneOr(nil, q, func(r row) (n int, err error) { return n, r.Scan(&n, &all) }, `
		SELECT n, rows FROM (
			SELECT id, entry, row_number() OVER (ORDER BY at, source, entry, id) AS n, count(*) OVER () AS rows FROM (
				SELECT id, 0::bigint AS entry, redeemed_at AS at, 0 AS source FROM redemptions
				WHERE arrived = $1::xid8 AND age(xmin) <= age($2::xid)
				UNION ALL
				SELECT '', entry, at, 1 FROM audit WHERE arrived = $1::xid8 AND age(xmin) <= age($2::xid)
			) AS entries
		) AS numbered WHERE id = $3 AND entry = $4`,
		fmt.Sprint(number), fmt.Sprint(uint32(number)), key.ID, key.Entry) // #nosec G115 -- as in newIn
	if place.Read == all {
		place = store.AuditPlace{Since: place.Until}
	}
	return place, err
}
