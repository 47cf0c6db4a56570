package sqlite

import (
	"fmt"

	"example.com/perks/store"
)

// dialect has no locks, because SQLite has one writer at a time.
var dialect = &store.Dialect{
	Stock:             `CROSS JOIN perk_stock AS s ON s.perk = p.row`,
	RedemptionColumns: redemptionColumns,
	Redemptions:       `redemptions AS r CROSS JOIN perks AS p ON p.row = r.perk`,
	RedemptionsOfUser: `redemptions AS r CROSS JOIN perks AS p ON p.row = r.perk`,
	RedemptionPerk:    `r.perk`,
	PerkKey:           `row`,
	IndexedPerk:       `r.perk`,
	RedemptionDay:     `r.redeemed_at / 86400000000`,
	RedemptionOrder:   store.RedemptionOrder(`p.id`, `r.redeemed_at`),
	FilteredOrder:     store.RedemptionOrder(`p.id`, `r.redeemed_at`),
	AuditRedemptions: store.AuditSource{
		Select: `
			SELECT r.redeemed_at AS at, 0 AS source, r.row AS seq, '' AS actor, '' AS action, '' AS subject, NULL AS before, NULL AS after,
				r.id, p.id AS perk, r.user_id, r.client_id, r.first_status, r.metadata
			FROM redemptions AS r CROSS JOIN perks AS p ON p.row = r.perk`,
		// The + keeps SQLite from reading all redemptions of a client, of which a follower wants the last.
		Columns: map[string]string{"at": `r.redeemed_at`, "id": `r.id`, "client": `+r.client_id`},
	},
	AuditEntries: store.AuditSource{
		Select: `
			SELECT a.at, 1 AS source, a.row AS seq, a.actor, a.action, a.subject, a.before, a.after,
				NULL AS id, NULL AS perk, NULL AS user_id, NULL AS client_id, NULL AS first_status, NULL AS metadata
			FROM audit AS a`,
		Columns: map[string]string{"at": `a.at`, "subject": `a.subject`, "actor": `a.actor`, "action": `a.action`},
	},
	AuditID: `row`,
	// A redemption sorts before other entries of the same instant, because it is made before it is decided.
	AuditOldestFirst: ` ORDER BY at, source, seq`,
	AuditNewestFirst: ` ORDER BY at DESC, source DESC, seq DESC`,
}

// auditAfter uses the last row ids of redemptions and audit as position. With one writer at a time, row ids are in commit order.
func auditAfter(q store.Querier, since store.AuditPosition) (now store.AuditPosition, redemptions, entries store.AuditFilter, err error) {
	var last, read struct{ redemptions, audit int64 }
	now, err = store.One(q, func(r row) (store.AuditPosition, error) {
		err := r.Scan(&last.redemptions, &last.audit)
		return store.AuditPosition(fmt.Sprintf("%d.%d", last.redemptions, last.audit)), err
	}, `SELECT ifnull((SELECT max(row) FROM redemptions), 0), ifnull((SELECT max(row) FROM audit), 0)`)
	if err != nil || since == "" {
		return now, redemptions, entries, err
	}
	if _, err := fmt.Sscanf(string(since), "%d.%d", &read.redemptions, &read.audit); err != nil {
		return now, redemptions, entries, fmt.Errorf("%q is not a position in the audit log of SQLite", since)
	}
	if last.audit < read.audit {
		return now, redemptions, entries, store.ErrOlderCopy
	}
	// After a reset of a sandbox, row ids of redemptions start over.
	wasReset, err := store.One(q, store.ScanValue[bool],
		`SELECT EXISTS (SELECT 1 FROM audit WHERE row > $1 AND action = $2)`, read.audit, store.ActionResetSandbox)
	if wasReset {
		read.redemptions = 0
	}
	redemptions = store.AuditFilter{Conditions: []string{`r.row > ?`}, Args: []any{read.redemptions}}
	entries = store.AuditFilter{Conditions: []string{`a.row > ?`}, Args: []any{read.audit}}
	return now, redemptions, entries, err
}
