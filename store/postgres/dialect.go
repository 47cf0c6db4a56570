package postgres

import (
	"fmt"
	"strings"

	"example.com/perks/store"
)

// dialect is PostgreSQL's.
var dialect = &store.Dialect{
	LockClient:        ` FOR NO KEY UPDATE`, // properties can be given to the client meanwhile: shutting it out must not wait for an import
	LockProperty:      ` FOR UPDATE`,
	LockSigningKeys:   lockSigningKeys,
	LockNewProperties: lockNewProperties,
	OnCommitDrop:      `ON COMMIT DROP`,
	Stock:             `JOIN perk_stock AS s ON s.perk_id = p.id`,
	RedemptionColumns: redemptionColumns,
	Redemptions:       `redemptions AS r`,
	RedemptionPage:    redemptionPage,
	AuditRedemptions: store.AuditSource{
		Select: `
			SELECT r.redeemed_at AS at, 0 AS source, 0::bigint AS entry, '' AS actor, '' AS action, '' AS subject, NULL AS before, NULL AS after,
				r.id AS redemption, r.perk_id, r.user_id, r.client_id, r.first_status, r.metadata
			FROM redemptions AS r`,
		Columns: map[string]string{"at": `r.redeemed_at`, "id": `r.id`, "client": `r.client_id`},
	},
	AuditEntries: store.AuditSource{
		Select: `
			SELECT a.at, 1 AS source, a.entry, a.actor, a.action, a.subject, a.before, a.after,
				NULL AS redemption, NULL AS perk_id, NULL AS user_id, NULL AS client_id, NULL AS first_status, NULL AS metadata
			FROM audit AS a`,
		Columns: map[string]string{"at": `a.at`, "subject": `a.subject`, "actor": `a.actor COLLATE "C"`, "action": `a.action COLLATE "C"`},
	},
	AuditID: `entry`,
	// A redemption comes before another entry of its instant, since what is decided was made before. Two indexes give the order
	// of the instants, so that only entries of one instant are ever sorted.
	AuditOldestFirst: ` ORDER BY at, source, entry, redemption`,
	AuditNewestFirst: ` ORDER BY at DESC, source DESC, entry DESC, redemption DESC`,
}

// lockSigningKeys lets others read. It is the table that is locked, because what two replicas could do at once is to add a
// key, and there is no row to lock before it is there.
const lockSigningKeys = `LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`

// lockNewProperties lets one at a time add properties. Those that are there can be changed and deleted meanwhile.
const lockNewProperties = `LOCK TABLE properties IN SHARE UPDATE EXCLUSIVE MODE`

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
func (s snapshot) newIn(table string) store.AuditFilter {
	arrived, age := table+`.arrived`, `age(`+table+`.xmin)`
	next := fmt.Sprint(uint32(s.next)) // #nosec G115 -- an xid is the lower half of an xid8
	later, args := arrived+` >= ?::xid8 AND `+age+` <= age(?::xid)`, []any{fmt.Sprint(s.next), next}
	if s.underWay == "" {
		return store.AuditFilter{Conditions: []string{later}, Args: args}
	}
	underWay := arrived + ` = ANY (?::xid8[]) AND ` + age + ` <= age(` + arrived + `::xid)`
	return store.AuditFilter{Conditions: []string{`(` + later + ` OR ` + underWay + `)`}, Args: append(args, "{"+s.underWay+"}")}
}

// auditAfter has positions that are snapshots. It also keeps what is read in the order of an index, so that nothing has to be sorted as a
// whole before the first entry is shown.
func auditAfter(q store.Querier, position store.AuditPosition) (now store.AuditPosition, made, kept store.AuditFilter, err error) {
	now, err = store.One(q, func(r row) (now store.AuditPosition, err error) {
		return now, r.Scan(&now, new(string))
	}, `SELECT pg_current_snapshot()::text, set_config('enable_seqscan', 'off', true)`)
	if err != nil || position == "" {
		return now, made, kept, err
	}
	since, err := readSnapshot(string(position))
	if err != nil {
		return now, made, kept, err
	}
	seen, err := readSnapshot(string(now))
	if err == nil && seen.next < since.next {
		err = store.ErrOlderCopy
	}
	return now, since.newIn(`r`), since.newIn(`a`), err
}
