package postgres

import (
	"strings"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestTheAuditLogIsReadInIndexOrder checks that entries stream from an index: sorting ten million redemptions would
// fill the server's disk.
func TestTheAuditLogIsReadInIndexOrder(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 100, 1000)
	noError(t, db.write(t.Context(), "fill the database", func(s *session) error {
		return store.Run(s.Exec, store.Step{Text: `
			INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata)
			SELECT p.id || '/' || u.id, p.id, u.id, 'shop', now() + i * interval '1 second', 'approved', 'approved',
				'{}'
			FROM perks AS p CROSS JOIN users AS u CROSS JOIN generate_series(1, 2) AS i
			ON CONFLICT DO NOTHING`}, store.Step{Text: `
			INSERT INTO audit (at, actor, action, subject)
			SELECT now() + i * interval '1 minute', 'operator', 'property.update', 'property/1' FROM generate_series(1,
				1000) AS i`},
			store.Step{Text: `ANALYZE`})
	}))
	var plan []string
	noError(t, db.snapshot(t.Context(), "", func(v view) (err error) {
		// As little memory for ten thousand rows as servers have for ten million.
		if _, err = store.All(v, store.ScanValue[string], `SELECT set_config('work_mem', '64kB', true)`); err != nil {
			return err
		}
		text, args := store.AuditQuery{}.Statement(dialect, store.AuditFilter{}, store.AuditFilter{})
		plan, err = store.All(v, store.ScanValue[string], `EXPLAIN `+text, args...)
		return err
	}))
	text := strings.Join(plan, "\n")
	for _, want := range []string{"Incremental Sort", "using redemptions_by_time", "using audit_by_time"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan has no %s:\n%s", want, text)
		}
	}
}
