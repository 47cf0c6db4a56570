package postgres

import (
	"fmt"
	"strings"

	"example.com/perks/store"
)

// dialect is PostgreSQL's.
var dialect = &store.Dialect{
	LockClient:        ` FOR NO KEY UPDATE`, // lets an import reference the client: disabling it must not wait for that
	LockProperty:      ` FOR UPDATE`,
	LockSigningKeys:   lockSigningKeys,
	LockNewProperties: lockNewProperties,
	OnCommitDrop:      `ON COMMIT DROP`,
	Stock:             `JOIN perk_stock AS s ON s.perk_id = p.id`,
	RedemptionColumns: redemptionColumns,
	Redemptions:       `redemptions AS r`,
	// All redemptions of a user are sorted: they are few, because each is of another perk or not live. OFFSET 0 keeps PostgreSQL from
	// searching an index of all redemptions.
	RedemptionsOfUser: `(SELECT * FROM redemptions WHERE user_id = @user OFFSET 0) AS r`,
	RedemptionPerk:    `r.perk_id`,
	PerkKey:           `id`,
	// PostgreSQL supposes that what a filter matches is spread evenly over time, and would read all redemptions in their order until there are
	// enough. And whether a user has a perk it would look up among all redemptions of the perk. So the indexes for filters have expressions
	// that are only used here.
	IndexedPerk:     `(r.perk_id || '')`,
	RedemptionDay:   `(r.redeemed_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01'`,
	ByCodePoint:     ` COLLATE "C"`,
	RedemptionOrder: store.RedemptionOrder(`r.perk_id`, `r.redeemed_at`),
	FilteredOrder:   store.RedemptionOrder(`r.perk_id`, `(r.redeemed_at AT TIME ZONE 'UTC')`),
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
	// A redemption sorts before other entries of the same instant, because it is made before it is decided. Two indexes give the
	// order of time, so that only entries of one instant are sorted.
	AuditOldestFirst: ` ORDER BY at, source, entry, redemption`,
	AuditNewestFirst: ` ORDER BY at DESC, source DESC, entry DESC, redemption DESC`,
}

// lockSigningKeys allows reads. It locks the table, because two replicas could add a key at once, and there is no row to lock yet.
const lockSigningKeys = `LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`

// lockNewProperties lets one transaction at a time add properties. Others can update and delete existing ones.
const lockNewProperties = `LOCK TABLE properties IN SHARE UPDATE EXCLUSIVE MODE`

// snapshot is the transactions that were complete at a moment: those below next that were not running.
type snapshot struct {
	next    uint64
	running string // numbers separated by commas
}

// readSnapshot reads the text of a pg_snapshot.
func readSnapshot(text string) (s snapshot, err error) {
	if _, err := fmt.Sscanf(text, "%d:%d:", new(uint64), &s.next); err != nil {
		return s, fmt.Errorf("%q is not a position in the audit log of PostgreSQL", text)
	}
	s.running = text[strings.LastIndexByte(text, ':')+1:]
	return s, nil
}

// newIn is the condition for rows of transactions that the snapshot does not include. After a restore to another server, rows have
// transaction numbers of the old one, which the new one may reach later. The age of the row's xmin shows that they are not new.
func (s snapshot) newIn(table string) store.AuditFilter {
	arrived, age := table+`.arrived`, `age(`+table+`.xmin)`
	next := fmt.Sprint(uint32(s.next)) // #nosec G115 -- an xid is the lower half of an xid8
	later, args := arrived+` >= ?::xid8 AND `+age+` <= age(?::xid)`, []any{fmt.Sprint(s.next), next}
	if s.running == "" {
		return store.AuditFilter{Conditions: []string{later}, Args: args}
	}
	running := arrived + ` = ANY (?::xid8[]) AND ` + age + ` <= age(` + arrived + `::xid)`
	return store.AuditFilter{Conditions: []string{`(` + later + ` OR ` + running + `)`}, Args: append(args, "{"+s.running+"}")}
}

// auditAfter uses snapshots as positions. It also disables sequential scans in the transaction, so that entries are read in index order
// and the first is returned without a sort of all.
func auditAfter(q store.Querier, position store.AuditPosition) (now store.AuditPosition, redemptions, entries store.AuditFilter, err error) {
	now, err = store.One(q, func(r row) (now store.AuditPosition, err error) {
		return now, r.Scan(&now, new(string))
	}, `SELECT pg_current_snapshot()::text, set_config('enable_seqscan', 'off', true)`)
	if err != nil || position == "" {
		return now, redemptions, entries, err
	}
	since, err := readSnapshot(string(position))
	if err != nil {
		return now, redemptions, entries, err
	}
	seen, err := readSnapshot(string(now))
	if err == nil && seen.next < since.next {
		err = store.ErrOlderCopy
	}
	return now, since.newIn(`r`), since.newIn(`a`), err
}
