package sqlite

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/perks/store"
)

// position is the last row ids of redemptions and of the audit log. With one writer at a time, row ids are in commit
// order.
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

// readRange reads two positions. After a reset of a sandbox, row ids of redemptions start over: those before are gone,
// and the number in since is 0 if until is after it.
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
	gone, err := store.One(q, store.ScanValue[int64], `SELECT row FROM audit_archived`)
	if err == nil && from.audit < gone {
		err = store.ErrArchived
	}
	if err != nil {
		return from, to, false, err
	}
	reset, err := lastReset(q, from.audit)
	if reset > from.audit {
		from.redemptions, areGone = 0, reset > to.audit
	}
	return from, to, areGone, err
}

// auditEnd ends after so many entries, and after the redemptions that were made before the next one; or else after so
// many redemptions, and the entries that were added before the next of these.
func auditEnd(q store.Querier, since, upTo store.AuditPosition, most store.AuditBound) (end store.AuditEnd, err error) {
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
	if err != nil || most == (store.AuditBound{}) {
		return end, err
	}
	lastRedemption, err := lastWithin(q, `redemptions`, `octet_length(metadata)`, from.redemptions, to.redemptions,
		most)
	if err != nil {
		return end, err
	}
	lastEntry, err := lastWithin(q, `audit`, recordSize, from.audit, to.audit, most)
	if err != nil || lastRedemption == to.redemptions && lastEntry == to.audit {
		return end, err
	}
	cut := position{to.redemptions, lastEntry}
	if cut.audit < to.audit {
		cut.redemptions, err = store.One(q, store.ScanValue[int64],
			`SELECT ifnull(redemption, 0) FROM audit WHERE row > $1 ORDER BY row LIMIT 1`, cut.audit)
		cut.redemptions = min(max(cut.redemptions, from.redemptions), to.redemptions)
	}
	if err == nil && cut.redemptions > lastRedemption {
		cut.redemptions = lastRedemption
		cut.audit, err = store.One(q, store.ScanValue[int64],
			`SELECT ifnull(max(row), $1) FROM audit WHERE row > $1 AND row <= $2 AND ifnull(redemption, 0) <= $3`,
			from.audit, cut.audit, cut.redemptions)
	}
	return store.AuditEnd{Position: cut.text()}, err
}

// recordSize is the bytes of an entry's records. SQLite knows them without reading the records.
const recordSize = `ifnull(octet_length(before), 0) + ifnull(octet_length(after), 0)`

// lastWithin returns the last of the rows after from until to that are within half of the bound, or to.
func lastWithin(q store.Querier, table, size string, from, to int64, most store.AuditBound) (last int64, err error) {
	type sized struct{ row, bytes int64 }
	last = from
	left := int64(most.Bytes / 2)
	rows := store.Each(q, func(r row) (s sized, err error) { return s, r.Scan(&s.row, &s.bytes) },
		`SELECT row, `+size+` FROM `+table+` WHERE row > $1 AND row <= $2 ORDER BY row LIMIT $3`, from, to,
		most.Entries+1)
	count := 0
	for s, err := range rows {
		if count++; err != nil || count > most.Entries || left < s.bytes && last > from {
			return last, err
		}
		last, left = s.row, left-s.bytes
	}
	return to, nil
}

func auditRange(q store.Querier, since, until store.AuditPosition) (redemptions, entries store.AuditFilter, err error) {
	from, to, areGone, err := readRange(q, since, until)
	if areGone {
		to.redemptions = 0
	}
	redemptions = store.AuditFilter{Conditions: []string{`r.row > ?`, `r.row <= ?`},
		Args: []any{from.redemptions, to.redemptions}}
	entries = store.AuditFilter{Conditions: []string{`a.row > ?`, `a.row <= ?`}, Args: []any{from.audit, to.audit}}
	return redemptions, entries, err
}

// auditNewest looks at what was added since the last reset of a sandbox: before that, other redemptions had the same
// rows.
func auditNewest(q store.Querier, now store.AuditPosition, actions []string, most int) ([]store.AuditKey, error) {
	end, err := readPosition(now)
	if err != nil {
		return nil, err
	}
	reset, err := lastReset(q, 0)
	if err != nil {
		return nil, err
	}
	args := []any{end.redemptions, end.audit, max(reset, end.audit-store.AuditSearch), most}
	redemptions := `
		SELECT * FROM (
			SELECT id, 0 AS entry, row AS position, 0 AS source, octet_length(metadata) AS size
			FROM redemptions WHERE row <= $1 ORDER BY row DESC LIMIT $4
		) UNION ALL`
	if !slices.Contains(actions, store.ActionRedeem) {
		redemptions = ``
	}
	var numbers []string
	for _, action := range actions {
		args = append(args, action)
		numbers = append(numbers, fmt.Sprintf(`$%d`, len(args)))
	}
	return store.All(q, func(r row) (key store.AuditKey, err error) {
		return key, r.Scan(&key.ID, &key.Entry, &key.Order, new(int64), &key.Size)
	}, redemptions+`
		SELECT * FROM (
			SELECT '' AS id, row AS entry, ifnull(redemption, 0) AS position, 1 AS source, `+recordSize+` AS size
			FROM audit WHERE row <= $2 AND row > $3
				AND +action IN (`+strings.Join(numbers, `, `)+`) ORDER BY row DESC LIMIT $4
		)
		ORDER BY position DESC, source DESC, entry DESC LIMIT $4`, args...)
}

func auditPlaceOf(q store.Querier, now store.AuditPosition, key store.AuditKey) (place store.AuditPlace, err error) {
	after := position{key.Order, key.Entry}
	if key.ID != "" {
		after.audit, err = lastEntryBefore(q, now, key.Order)
	}
	return store.AuditPlace{Since: after.text()}, err
}

// lastEntryBefore returns the last entry that was added before a redemption. The entries are in the order of the
// redemptions that they follow.
func lastEntryBefore(q store.Querier, now store.AuditPosition, redemption int64) (int64, error) {
	end, err := readPosition(now)
	if err != nil {
		return 0, err
	}
	before, err := lastReset(q, 0)
	if err != nil {
		return 0, err
	}
	for upTo := end.audit; before < upTo; {
		middle := before + (upTo-before+1)/2
		var found position
		_, err := store.OneOr(nil, q, func(r row) (any, error) { return nil, r.Scan(&found.audit, &found.redemptions) },
			`SELECT row, ifnull(redemption, 0) FROM audit WHERE row >= $1 AND row <= $2 ORDER BY row LIMIT 1`, middle,
			upTo)
		if err != nil {
			return 0, err
		}
		if found.audit != 0 && found.redemptions < redemption {
			before = found.audit
		} else {
			upTo = middle - 1
		}
	}
	return before, nil
}

// lastReset returns the entry of the last reset of a sandbox after another entry, or 0.
func lastReset(q store.Querier, after int64) (int64, error) {
	return store.One(q, store.ScanValue[int64], `SELECT ifnull(max(row), 0) FROM audit WHERE row > $1 AND action = $2`,
		after, store.ActionResetSandbox)
}
