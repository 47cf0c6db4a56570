package sqlite

import (
	"strings"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestListsOfPropertiesAreReadOnIndexes checks every statement of lists: only what is collected is sorted, and filters
// other than words are compared on an index, without the listings.
func TestListsOfPropertiesAreReadOnIndexes(t *testing.T) {
	db := openTemporary(t)
	storetest.AddListings(t, db, 3000) // so many that the import builds the indexes again
	snapshot := func(work func(store.Querier) error) error { return db.snapshot(t.Context(), work) }
	storetest.PropertyStatements(t, dialect, db.latest(t.Context()), snapshot, func(s storetest.PropertyStatement) {
		plan := must(explain(s.Querier.(view), s.Text, s.Args...))(t)
		// An owner's listings in a city are compared in the table, because no index has both.
		mayReadTable := s.HasWords || strings.Contains(s.List, "city=") && strings.Contains(s.List, `of "owner"`)
		if strings.Count(plan+"\n", "SCAN p\n") > strings.Count(plan, "CO-ROUTINE p\n") && !mayReadTable {
			t.Errorf("a list with %s:\n%s\n%s", s.List, s.Text, plan)
		}
		for step := range strings.SplitSeq(plan, "\n") {
			isSorted := strings.Contains(step, "TEMP B-TREE") && !strings.Contains(s.Text, "@few")
			if isSorted || strings.Contains(step, " USING INDEX properties") && !mayReadTable {
				t.Errorf("a list with %s:\n%s\n%s", s.List, s.Text, plan)
			}
		}
	})
}

// TestHistoriesAreReadOnTheirIndexes has two listings with many entries, and many with few.
func TestHistoriesAreReadOnTheirIndexes(t *testing.T) {
	db := openTemporary(t)
	storetest.AddListings(t, db, 100)
	execute(t, db, `
		WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 2000)
		INSERT INTO audit (at, actor, action, subject, before, after)
		SELECT n * 1000000, 'operator', 'property.update', 'property/' || CASE n % 3 WHEN 2 THEN n ELSE n % 3 END,
			CASE WHEN n % 16 = 0 THEN '{"propertyId":1}' ELSE '{"title":""}' END, '{"title":"New"}' FROM s`)
	snapshot := func(work func(store.Querier) error) error { return db.snapshot(t.Context(), work) }
	storetest.HistoryStatements(t, dialect, db.latest(t.Context()), snapshot, func(s storetest.PropertyStatement) {
		if !strings.Contains(s.Text, "imported_properties") {
			return
		}
		plan := must(explain(s.Querier.(view), s.Text, s.Args...))(t)
		for _, want := range []string{"SEARCH audit USING INDEX audit_of_property (subject=?",
			"SEARCH imported_properties USING INDEX imported_properties_in_order (property=?"} {
			if !strings.Contains(strings.ReplaceAll(plan, "COVERING ", ""), want) {
				t.Errorf("the plan lacks %q:\n%s\n%s", want, s.Text, plan)
			}
		}
		if strings.Count(plan, "TEMP B-TREE") > 1 { // of the entries of both tables, which are few
			t.Errorf("the entries of a table are sorted:\n%s\n%s", s.Text, plan)
		}
	})
}
