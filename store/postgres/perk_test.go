package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestConcurrentReadsOfPerksShareQueries blocks the first queries, so that all others wait for the next one.
func TestConcurrentReadsOfPerksShareQueries(t *testing.T) {
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
	ctx, cancel := context.WithCancel(t.Context())
	ask(ctx, "perk-1")
	cancel()
	if a := <-answers; !errors.Is(a.err, context.Canceled) {
		t.Errorf("the cancelled caller got %v, want %v", a.err, context.Canceled)
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
			t.Errorf("the caller that asked for %s got %q, %v", a.asked, a.got, a.err)
		}
	}
	if want := asked / 50 * 10; missing != want {
		t.Errorf("%d callers got not found, want those that asked for perk-40 to perk-49, %d", missing, want)
	}
}

// TestShortListsAreNotReplanned reads and redeems one record at a time over one connection, and checks how its
// statements were planned: five custom plans, which PostgreSQL makes to compare costs, and only the generic plan
// afterwards.
func TestShortListsAreNotReplanned(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t)+"&pool_max_conns=1")
	fill(t, db, 5000, 100) // enough that reading ten seems to cost more than reading one
	must(db.writes.Exec(t.Context(), `ANALYZE`))(t)
	const times = 20
	for i := range times {
		must(db.Perk(t.Context(), "perk-0"))(t)
		keyed := attempt(fmt.Sprint(i), "perk-0", fmt.Sprint("user-", i))
		keyed.Key = &store.IdempotencyKey{Key: fmt.Sprint(i)}
		must(db.Redeem(t.Context(), keyed))(t)
	}
	for _, pool := range []interface {
		Query(context.Context, string, ...any) (pgx.Rows, error)
	}{db.reads, db.writes} {
		looked := 0
		for line, err := range store.Each(view{t.Context(), pool}, scanPlanned, `
			SELECT statement, custom_plans FROM pg_prepared_statements
				WHERE statement LIKE '%::text[]%'`, pgx.QueryExecModeExec) {
			noError(t, err)
			if looked++; line.times > 5 {
				t.Errorf("planned %d times in %d:\n%s", line.times, times, line.statement)
			}
		}
		if looked == 0 {
			t.Error("no statement takes a list")
		}
	}
}

type planned struct {
	statement string
	times     int
}

func scanPlanned(r row) (p planned, err error) { return p, r.Scan(&p.statement, &p.times) }
