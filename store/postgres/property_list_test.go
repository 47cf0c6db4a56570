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
