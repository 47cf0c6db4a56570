package sqlite

import (
	"cmp"
	"fmt"
	"regexp"

	"example.com/perks/store"
)

// position is the last row ids of redemptions and of the audit log. With one writer at a time, row ids are in commit order.
type position struct{ redemptions, audit int64 }

func (p position) text() store.AuditPosition {
	return store.AuditPosition(fmt.Sprintf("%d.%d", p.redemptions, p.audit))
}

var positionText = regexp.MustCompile(`^[0-9]{1,18}\.[0-9]{1,18}$`)

// readPosition reads a position, which may come from a caller.
func readPosition(text store.AuditPosition) (p position, err error) {
	if !positionText.MatchString(string(text)) {
		return p, fmt.Errorf("%q: %w of SQLite", text, store.ErrPosition)
	}
	_, err = fmt.Sscanf(string(text), "%d.%d", &p.redemptions, &p.audit)
	return p, err
}

func auditNow(q store.Querier) (position, error) {
	return store.One(q, func(r row) (now position, err error) { return now, r.Scan(&now.redemptions, &now.audit) },
		`SELECT ifnull((SELECT max(row) FROM redemptions), 0), ifnull((SELECT max(row) FROM audit), 0)`)
}

// readRange reads two positions. After a reset of a sandbox, row ids of redemptions start over: those before are gone, and the number in
// since is 0 if until is after it.
func readRange(q store.Querier, since, until store.AuditPosition) (from, to position, areGone bool, err error) {
	if from, err = readPosition(since); err != nil {
		return from, to, false, err
	}
	if to, err = readPosition(until); err != nil {
		return from, to, false, err
	}
	if to.audit < from.audit {
		return from, to, false, store.ErrOlderCopy
	}
	lastReset, err := store.One(q, store.ScanValue[int64], `SELECT ifnull(max(row), 0) FROM audit WHERE row > $1 AND action = $2`, from.audit, store.ActionResetSandbox)
	if lastReset > from.audit {
		from.redemptions, areGone = 0, lastReset > to.audit
	}
	return from, to, areGone, err
}

func auditAfter(q store.Querier, since store.AuditPosition) (now store.AuditPosition, redemptions, entries store.AuditFilter, err error) {
	last, err := auditNow(q)
	if now = last.text(); err != nil || since == "" {
		return now, redemptions, entries, err
	}
	read, _, _, err := readRange(q, since, now)
	redemptions = store.AuditFilter{Conditions: []string{`r.row > ?`}, Args: []any{read.redemptions}}
	entries = store.AuditFilter{Conditions: []string{`a.row > ?`}, Args: []any{read.audit}}
	return now, redemptions, entries, err
}

// auditEnd ends after so many entries, and after the redemptions that were made before the next one; or else after so many redemptions, and
// the entries that were added before the next of these.
func auditEnd(q store.Querier, since, upTo store.AuditPosition, most int) (end store.AuditEnd, err error) {
	now, err := auditNow(q)
	end = store.AuditEnd{Position: cmp.Or(upTo, now.text()), IsLast: true}
	if err != nil || since == "" {
		return end, err
	}
	if _, _, _, err := readRange(q, end.Position, now.text()); err != nil {
		return end, err
	}
	from, to, areGone, err := readRange(q, since, end.Position)
	if areGone {
		from.redemptions = to.redemptions
	}
	if err != nil || to.audit-from.audit <= int64(most) && to.redemptions-from.redemptions <= int64(most) {
		return end, err
	}
	cut := position{to.redemptions, min(to.audit, from.audit+int64(most))}
	if cut.audit < to.audit {
		cut.redemptions, err = store.One(q, store.ScanValue[int64], `SELECT ifnull(redemption, 0) FROM audit WHERE row = $1`, cut.audit+1)
		cut.redemptions = min(max(cut.redemptions, from.redemptions), to.redemptions)
	}
	if err == nil && cut.redemptions-from.redemptions > int64(most) {
		cut.redemptions = from.redemptions + int64(most)
		cut.audit, err = store.One(q, store.ScanValue[int64], `SELECT ifnull(max(row), $1) FROM audit WHERE row > $1 AND row <= $2 AND ifnull(redemption, 0) <= $3`,
			from.audit, cut.audit, cut.redemptions)
	}
	return store.AuditEnd{Position: cut.text()}, err
}

func auditRange(q store.Querier, since, until store.AuditPosition) (redemptions, entries store.AuditFilter, err error) {
	from, to, areGone, err := readRange(q, since, until)
	if areGone {
		to.redemptions = 0
	}
	redemptions = store.AuditFilter{Conditions: []string{`r.row > ?`, `r.row <= ?`}, Args: []any{from.redemptions, to.redemptions}}
	entries = store.AuditFilter{Conditions: []string{`a.row > ?`, `a.row <= ?`}, Args: []any{from.audit, to.audit}}
	return redemptions, entries, err
}
