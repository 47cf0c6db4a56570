package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestPerksThatManyAskForAtOnceAreReadTogether holds up the first queries, so that all others wait for the next.
func TestPerksThatManyAskForAtOnceAreReadTogether(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 40, 1)
	type answer struct {
		asked, got string
		err        error
	}
	answers := make(chan answer)
	ask := func(ctx context.Context, id string) {
		go func() {
			perk, err := db.Perk(ctx, id)
			answers <- answer{id, perk.ID, err}
		}()
	}
	hold := begin(t, db, `LOCK TABLE perks`)
	for range maxPerkReads {
		ask(t.Context(), "perk-0")
		waitForLock(t, db)
	}
	ctx, leave := context.WithCancel(t.Context())
	ask(ctx, "perk-1")
	leave()
	if gone := <-answers; !errors.Is(gone.err, context.Canceled) {
		t.Errorf("who left got %v, want %v", gone.err, context.Canceled)
	}
	const asked = 200
	for i := range asked {
		ask(t.Context(), fmt.Sprint("perk-", i%50))
	}
	commit(t, hold)
	missing := 0
	for range maxPerkReads + asked {
		a := <-answers
		switch {
		case api.CodeOf(a.err) == api.CodeNotFound:
			missing++
		case a.err != nil || a.got != a.asked:
			t.Errorf("who asked for %s got %q, %v", a.asked, a.got, a.err)
		}
	}
	if want := asked / 50 * 10; missing != want {
		t.Errorf("%d were told that the perk is not there, want those who asked for perk-40 to perk-49, %d", missing, want)
	}
}

// TestShortListsAreNotPlannedAnew lets one connection read and redeem one thing at a time, and looks at how its statements
// were planned: five times for their values, as PostgreSQL does to compare, and from then on never again.
func TestShortListsAreNotPlannedAnew(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t)+"&pool_max_conns=1")
	fill(t, db, 5000, 100) // enough that reading ten seems to cost more than reading one
	if _, err := db.writes.Exec(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	const times = 20
	for i := range times {
		if _, err := db.Perk(t.Context(), "perk-0"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Redeem(t.Context(), store.RedeemAttempt{
			ID: fmt.Sprint(i), PerkID: "perk-0", UserID: fmt.Sprint("user-", i), ClientID: "shop", At: time.Now(), Metadata: []byte(`{}`),
			Key: &store.IdempotencyKey{Key: fmt.Sprint(i)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, pool := range []interface {
		Query(context.Context, string, ...any) (pgx.Rows, error)
	}{db.reads, db.writes} {
		looked := 0
		for line, err := range store.Each(view{t.Context(), pool}, scanPlanned, `
			SELECT statement, custom_plans FROM pg_prepared_statements WHERE statement LIKE '%::text[]%'`, pgx.QueryExecModeExec) {
			if err != nil {
				t.Fatal(err)
			}
			if looked++; line.times > 5 {
				t.Errorf("planned %d times in %d:\n%s", line.times, times, line.statement)
			}
		}
		if looked == 0 {
			t.Error("no statement with a list was found")
		}
	}
}

type planned struct {
	statement string
	times     int
}

func scanPlanned(r row) (p planned, err error) { return p, r.Scan(&p.statement, &p.times) }
