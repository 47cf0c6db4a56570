package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestTotalsArePurgedAfterAFailover checks that a standby which was promoted without the last import, and reached the
// same version with another one, is not treated as the old server.
func TestTotalsArePurgedAfterAFailover(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	db := openAt(t, address)
	fill(t, db, 3, 1)
	requireTotal(t, db, 3)

	other := must(pgx.Connect(t.Context(), address))(t)
	defer other.Close(t.Context())
	_, gone := other.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	_, imported := other.Exec(t.Context(), `
		INSERT INTO perks (id, created_at, updated_at, approval, title_fold, city_fold, title, city, description, words)
		VALUES ('other', now(), now(), 'auto', 'tea', 'bath', 'Tea', 'Bath', 'Hot', '')`)
	noError(t, errors.Join(gone, imported))
	requireTotal(t, db, 4)
}

func requireTotal(t *testing.T, db *DB, want int64) {
	t.Helper()
	query := store.PerkQuery{At: asOf, Sort: sortedBy(t, "title"), Window: store.Window{Page: 1, PerPage: perPage}}
	list := must(db.ListPerks(t.Context(), query))(t)
	if list.Total != want || int64(len(list.Items)) != want {
		t.Errorf("the list has %d perks and the total %d, want %d", len(list.Items), list.Total, want)
	}
}
