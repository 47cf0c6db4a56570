package sqlite

import (
	"strings"
	"testing"
	"time"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestTheAuditLogIsAppendOnly changes rows by hand, as anyone with write access can.
func TestTheAuditLogIsAppendOnly(t *testing.T) {
	db := openTemporary(t)
	const columns = `(row, id, perk, user_id, client_id, redeemed_at, first_status, status, metadata)`
	execute(t, db,
		`INSERT INTO users VALUES ('ann'), ('bob')`,
		`INSERT INTO perks (row, id, created_at, updated_at, approval, title_fold, city_fold, title, city, description)
			VALUES (1, 'p', 1, 1, 'auto', '', '', '', '', '')`,
		`INSERT INTO perk_stock (perk) VALUES (1)`,
		`INSERT INTO clients (id, name, secret, scopes, sandbox_only, disabled, created_at)
			VALUES ('shop', 'Shop', x'00', '', 0, 0, 1)`,
		`INSERT INTO audit (at, actor, action, subject) VALUES (1, 'operator', 'test', 'kept'), (2, 'operator', 'test',
			'kept')`,
		`INSERT INTO redemptions `+columns+` VALUES (1, 'kept', 1, 'ann', 'shop', 1, 'pending', 'pending', '{}'),
			(2, 'decided', 1, 'bob', 'shop', 1, 'pending', 'pending', '{}')`,
		`UPDATE redemptions SET status = 'rejected' WHERE id = 'decided'`,
	)
	before := history(t, db)
	for _, text := range []string{
		`UPDATE audit SET actor = 'operator/somebody'`,
		`UPDATE OR REPLACE audit SET row = 2 WHERE row = 1`,
		`DELETE FROM audit`,
		`INSERT OR REPLACE INTO audit (row, at, actor, action, subject) VALUES (1, 1, '', '', '')`,
		`REPLACE INTO audit (row, at, actor, action, subject) VALUES (2, 1, '', '', '')`,
		`INSERT INTO audit (row, at, actor, action, subject) VALUES (1, 1, '', '', '') ON CONFLICT (row) DO UPDATE
			SET actor = ''`,
		`INSERT INTO audit (row, at, actor, action, subject) VALUES (-1, 1, '', '', '')`,
		`INSERT INTO audit (row, at, actor, action, subject) VALUES (0, 1, '', '', '')`,
		`UPDATE redemptions SET redeemed_at = 2 WHERE id = 'kept'`,
		`UPDATE redemptions SET user_id = 'bob' WHERE id = 'kept'`,
		`UPDATE redemptions SET client_id = 'another', status = 'approved' WHERE id = 'kept'`,
		`UPDATE redemptions SET metadata = '{"a":1}' WHERE id = 'kept'`,
		`UPDATE redemptions SET first_status = 'approved' WHERE id = 'kept'`,
		`UPDATE redemptions SET actor = 'eve', status = 'approved' WHERE id = 'kept'`,
		`UPDATE redemptions SET decided_actor = 'eve' WHERE id = 'decided'`,
		`UPDATE redemptions SET status = 'approved' WHERE id = 'decided'`,
		`UPDATE redemptions SET status = 'pending' WHERE id = 'decided'`,
		`UPDATE OR REPLACE redemptions SET id = 'decided', status = 'approved' WHERE id = 'kept'`,
		`REPLACE INTO redemptions ` + columns +
			` VALUES (1, 'other', 1, 'bob', 'shop', 1, 'approved', 'approved', '{}')`,
		`REPLACE INTO redemptions ` + columns +
			` VALUES (9, 'kept', 1, 'bob', 'shop', 1, 'approved', 'approved', '{}')`,
		`REPLACE INTO redemptions ` + columns +
			` VALUES (9, 'other', 1, 'ann', 'shop', 1, 'approved', 'approved', '{}')`,
		`INSERT INTO redemptions ` + columns +
			` VALUES (-5, 'other', 1, 'bob', 'shop', 1, 'approved', 'approved', '{}')`,
		`DELETE FROM redemptions`,
		movedAside + `DELETE FROM redemptions; ` + movedBack,
	} {
		byHand := func(s *session) error { return s.script(text) }
		if err := db.write(t.Context(), "work by hand", byHand); err == nil {
			t.Errorf("it is possible to %s", text)
		}
	}
	storetest.Equal(t, "the log", history(t, db), before)
}

func TestAResetKeepsTheRedemptionTriggers(t *testing.T) {
	db := openTemporary(t)
	guard := func() string {
		return value[string](t, db, `SELECT sql FROM sqlite_schema WHERE name = 'redemptions_stay'`)
	}
	before := guard()
	must(db.Reset(t.Context(), store.Operator, time.UnixMicro(1).UTC()))(t)
	storetest.Equal(t, "the guard", guard(), before)
}

// A transaction can move the rows that tell a live database from a sandbox aside, and back.
const (
	movedAside = `CREATE TEMP TABLE aside AS SELECT * FROM clients; DELETE FROM clients; DELETE FROM signing_keys; `
	movedBack  = `INSERT INTO clients SELECT * FROM aside`
)

func history(t *testing.T, db *DB) string {
	t.Helper()
	lines := must(store.All(db.latest(t.Context()), store.ScanValue[string], `
		SELECT concat_ws(' ', row, at, actor, action, subject) FROM audit UNION ALL
		SELECT concat_ws(' ', row, id, perk, user_id, client_id, redeemed_at, first_status, status, metadata)
			FROM redemptions`))(t)
	return strings.Join(lines, "\n")
}

// TestTheAuditLogIsReadOnIndexes checks that common queries neither sort nor read more than necessary.
func TestTheAuditLogIsReadOnIndexes(t *testing.T) {
	db := openTemporary(t)
	at := time.UnixMicro(1).UTC()
	for _, r := range []struct {
		query   store.AuditQuery
		since   store.AuditPosition
		want    []string
		without string
	}{
		{store.AuditQuery{}, "", []string{"SCAN r USING INDEX redemptions_by_time", "SCAN a USING INDEX audit_by_time"},
			"TEMP B-TREE FOR ORDER BY"},
		{store.AuditQuery{Last: 10}, "",
			[]string{"SCAN r USING INDEX redemptions_by_time", "SCAN a USING INDEX audit_by_time"}, "none"},
		{store.AuditQuery{Since: at}, "", []string{"redemptions_by_time (redeemed_at>?)", "audit_by_time (at>?)"},
			"TEMP B-TREE FOR ORDER BY"},
		{store.AuditQuery{Subject: "property/1"}, "",
			[]string{"audit_by_subject (subject=?)", "imported_properties_in_order (property=?)"}, "SCAN"},
		{store.AuditQuery{Subject: "redemption/1"}, "",
			[]string{"sqlite_autoindex_redemptions_1 (id=?)", "audit_by_subject (subject=?)"}, "SCAN"},
		{store.AuditQuery{Actor: "operator/ann"}, "", []string{"audit_by_actor (actor=?)"}, "TEMP B-TREE FOR ORDER BY"},
		{store.AuditQuery{Actor: "operator/*"}, "", []string{"audit_by_actor (actor>? AND actor<?)"}, "SCAN"},
		{store.AuditQuery{Actor: "client/shop"}, "",
			[]string{"SCAN r USING INDEX redemptions_by_time", "audit_by_actor (actor=?)",
				"audit_by_actor (actor>? AND actor<?)"}, "SCAN a"},
		{store.AuditQuery{Action: "key.rotate"}, "", []string{"audit_by_action (action=?)"},
			"TEMP B-TREE FOR ORDER BY"},
		{store.AuditQuery{Action: "client.*"}, "", []string{"audit_by_action (action>? AND action<?)"}, "SCAN"},
		{store.AuditQuery{}, "0.0", []string{"SEARCH r USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
			"SEARCH a USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"}, "INDEX redemptions_by"},
		{store.AuditQuery{Actor: "client/shop"}, "0.0",
			[]string{"SEARCH r USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
			"SCAN r"},
	} {
		var made, kept store.AuditFilter
		if r.since != "" {
			var err error
			if made, kept, err = auditRange(db.latest(t.Context()), r.since, r.since); err != nil {
				t.Fatal(err)
			}
		}
		text, args := r.query.Statement(dialect, made, kept)
		plan := must(explain(db.latest(t.Context()), text, args...))(t)
		for _, want := range r.want {
			if !strings.Contains(plan, want) {
				t.Errorf("%+v: the plan has no %q:\n%s", r.query, want, plan)
			}
		}
		if strings.Contains(plan, r.without) {
			t.Errorf("%+v: the plan has %q:\n%s", r.query, r.without, plan)
		}
	}
}
