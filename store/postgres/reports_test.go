package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// reportsReadTheirTime checks that an index with the time, and the client if there is one, leads to what a report
// counts.
func reportsReadTheirTime(t *testing.T, db *DB) {
	for _, by := range api.ReportDimensions() {
		for client, steps := range map[string][]string{
			"": {"redemptions_by_time", "Cond: ((redeemed_at >= "},
			"client": {"redemptions_of_client",
				"Cond: ((client_id = 'client'::text) AND ((redeemed_at AT TIME ZONE 'UTC'::text) >= "},
			"idle": {"redemptions_of_client",
				"Cond: ((client_id = 'idle'::text) AND ((redeemed_at AT TIME ZONE 'UTC'::text) >= "},
		} {
			text, args := dialect.ReportText(store.ReportQuery{By: by, ClientID: client, Since: asOf.AddDate(0, 0, -2),
				Until: asOf})
			noError(t, db.snapshotWithin(t.Context(), time.Minute, func(q store.Querier) error {
				p := plan{what: string(by) + " of " + client,
					text: explain(t, q.(customPlanView).view, text, customPlan, args)}
				p.requireSteps(t, steps...)
				p.requireWithout(t, "Seq Scan on redemptions")
				p.requireWithout(t, "Parallel")
				return nil
			}))
		}
	}
}

func TestAReportThatTakesTooLongIsEndedByTheServer(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	err := db.snapshotWithin(t.Context(), 50*time.Millisecond, func(q store.Querier) error {
		_, err := store.One(q, func(row) (bool, error) { return false, nil }, `SELECT pg_sleep(60)`)
		return err
	})
	storetest.Fails(t, "a statement of a minute", err, store.ErrTimeLimit)
	err = db.write(t.Context(), "lock", func(s *session) error {
		if err := s.exec(`LOCK TABLE redemptions`); err != nil {
			return err
		}
		_, err := db.ReportRedemptions(t.Context(), store.ReportQuery{By: api.ReportByDay, Since: asOf,
			Until: asOf.AddDate(0, 0, 1), Within: 50 * time.Millisecond})
		return err
	})
	storetest.Fails(t, "a report that waits for a lock", err, api.CodeValidationFailed)
	if limit, err := store.One(db.database.Latest(t.Context()), store.ScanValue[string],
		`SELECT current_setting('statement_timeout')`); err != nil || limit != "0" {
		t.Errorf("afterwards the connection has the limit %q: %v", limit, err)
	}
}

func TestUsersAreReadOnOneRangeOfTheirIndex(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	for _, text := range []string{`INSERT INTO users SELECT 'user-' || i FROM generate_series(1, 20000) AS i`,
		`VACUUM ANALYZE users`} {
		must(db.writes.Exec(t.Context(), text, pgx.QueryExecModeExec))(t)
	}
	query := store.UserQuery{UserFilter: api.UserFilter{Prefix: "user-1"},
		Window: store.Window{Page: 1, PerPage: perPage}}
	for _, query.After = range []*store.Cursor{nil, {ID: "user-12"}} {
		count, page, args := store.UserTexts(query)
		noError(t, db.snapshot(t.Context(), "", func(v view) error {
			for _, text := range []string{count, page} {
				p := plan{what: text, text: explain(t, v, text, customPlan, args)}
				p.requireSteps(t, "Index Only Scan using users_pkey", "Index Cond: ((id >", "(id < 'user-2'::text)")
				p.requireWithout(t, "Sort")
			}
			return nil
		}))
	}
}
