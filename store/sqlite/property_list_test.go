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
