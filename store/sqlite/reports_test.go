package sqlite

import (
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestReportsReadTheirTime checks that an index with the time, and the client if there is one, leads to what a report
// counts.
func TestReportsReadTheirTime(t *testing.T) {
	db := openTemporary(t)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, by := range api.ReportDimensions() {
		for client, want := range map[string]string{
			"":     "SEARCH r USING INDEX redemptions_by_time (redeemed_at>? AND redeemed_at<?)",
			"desk": "SEARCH r USING INDEX redemptions_of_client (client_id=? AND redeemed_at>? AND redeemed_at<?)",
		} {
			text, args := dialect.ReportText(store.ReportQuery{By: by, ClientID: client, Since: noon,
				Until: noon.AddDate(0, 0, 1)})
			plan := explained(t, db, text, args)
			if !strings.Contains(plan, want) || strings.Contains(plan, "SCAN p") {
				t.Errorf("by %s of %q: want %q, and no scan of all perks:\n%s", by, client, want, plan)
			}
		}
	}
}

func TestAReportOrAListThatTakesTooLongIsInterrupted(t *testing.T) {
	db := openTemporary(t)
	endless := func(q store.Querier) error {
		_, err := store.One(q, store.ScanValue[int64],
			`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`)
		return err
	}
	err := db.snapshotWithin(t.Context(), 50*time.Millisecond, endless)
	storetest.Fails(t, "a statement without end", err, store.ErrTimeLimit)
	err = db.snapshot(store.LimitList(t.Context(), 50*time.Millisecond, 0), endless)
	storetest.Fails(t, "a list without end", err, store.ErrTimeLimit)
	_, err = db.ReportRedemptions(t.Context(),
		store.ReportQuery{By: api.ReportByDay, Since: time.Unix(0, 0), Until: time.Unix(1, 0), Within: 1})
	storetest.Fails(t, "a report without time", err, api.CodeValidationFailed)
}

func TestUsersAreReadOnOneRangeOfTheirIndex(t *testing.T) {
	db := openTemporary(t)
	query := store.UserQuery{UserFilter: api.UserFilter{Prefix: "ann"}, Window: store.Window{Page: 1, PerPage: 9}}
	for _, query.After = range []*store.Cursor{nil, {ID: "anna"}} {
		count, page, args := store.UserTexts(query)
		for _, text := range []string{count, page} {
			if plan := explained(t, db, text, args); !strings.Contains(plan,
				"SEARCH users USING PRIMARY KEY (id>? AND id<?)") || strings.Contains(plan, "B-TREE") {
				t.Errorf("%s:\n%s", text, plan)
			}
		}
	}
}
