package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestListsOfPropertiesAreReadOnIndexes checks every statement of lists: only what is collected is sorted, and filters
// other than words are compared on an index, without the listings.
func TestListsOfPropertiesAreReadOnIndexes(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	storetest.AddListings(t, db, 6000)
	must(db.writes.Exec(t.Context(), `VACUUM (ANALYZE) properties`, pgx.QueryExecModeExec))(t)
	snapshot := func(work func(store.Querier) error) error { return db.database.Snapshot(t.Context(), work) }
	storetest.PropertyStatements(t, dialect, db.database.Latest(t.Context()), snapshot,
		func(s storetest.PropertyStatement) {
			text := explain(t, s.Querier.(customPlanView).view, s.Text, append([]any{customPlan}, s.Args...)...)
			p := plan{what: "a list with " + s.List + ":\n" + s.Text, text: text}
			p.requireWithout(t, "Seq Scan")
			if !strings.Contains(s.Text, "@few") {
				p.requireWithout(t, "Sort")
			}
			// An owner's listings in a city are compared in the table, because no index has both.
			hasBoth := strings.Contains(s.List, "city=") && strings.Contains(s.List, `of "owner"`)
			if !s.HasWords && !hasBoth && !strings.Contains(s.Text, "title") {
				p.requireWithout(t, "Index Scan")
				p.requireWithout(t, "Bitmap")
			}
		})
}

// TestHistoriesAreReadOnTheirIndexes has two listings with many entries, and many with few.
func TestHistoriesAreReadOnTheirIndexes(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	storetest.AddListings(t, db, 100)
	must(db.writes.Exec(t.Context(), `INSERT INTO audit (at, actor, action, subject, before, after)
		SELECT to_timestamp(n), 'operator', 'property.update', 'property/' || CASE n % 3 WHEN 2 THEN n ELSE n % 3 END,
			CASE WHEN n % 16 = 0 THEN '{"propertyId":1}' ELSE '{"title":""}' END, '{"title":"New"}'
		FROM generate_series(1, 20000) AS n`, pgx.QueryExecModeExec))(t)
	must(db.writes.Exec(t.Context(), `VACUUM (ANALYZE) audit, imported_properties`, pgx.QueryExecModeExec))(t)
	snapshot := func(work func(store.Querier) error) error { return db.database.Snapshot(t.Context(), work) }
	storetest.HistoryStatements(t, dialect, db.database.Latest(t.Context()), snapshot,
		func(s storetest.PropertyStatement) {
			if !strings.Contains(s.Text, "imported_properties") {
				return
			}
			text := explain(t, s.Querier.(customPlanView).view, s.Text, append([]any{customPlan}, s.Args...)...)
			p := plan{what: s.Text, text: text}
			p.requireWithout(t, "Seq Scan on audit")
			p.requireWithout(t, "audit_pkey")
			if !strings.Contains(s.Text, "at <=") { // which has an index too
				p.requireSteps(t, "audit_of_property")
			}
		})
}
