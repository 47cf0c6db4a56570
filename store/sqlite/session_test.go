package sqlite

import (
	"fmt"
	"testing"

	"example.com/perks/store"
)

// TestParametersAreBoundByNumber pins what the driver makes of $1 and $2: SQLite itself numbers them in the order of
// the statement.
func TestParametersAreBoundByNumber(t *testing.T) {
	const text = `SELECT $2 || $1 || '$1 costs $' || $3 || $2`
	db := openTemporary(t)
	err := db.write(t.Context(), "compare", func(s *session) error {
		for name, querier := range map[string]store.Querier{"view": db.latest(t.Context()), "session": s} {
			got, err := store.One(querier, func(r row) (got string, err error) { return got, r.Scan(&got) }, text, "a",
				"b", "c")
			if want := "ba$1 costs $cb"; err != nil || got != want {
				return fmt.Errorf("%s: %q, %w; want %q", name, got, err, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
