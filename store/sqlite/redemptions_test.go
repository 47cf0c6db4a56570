package sqlite

import (
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// TestListsOfRedemptionsAreReadOnIndexes checks that a page reads the index of the filter in the order of the list.
func TestListsOfRedemptionsAreReadOnIndexes(t *testing.T) {
	db := openTemporary(t)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ticket := api.MetadataFilter("").With("ticket", "4711")
	for _, test := range []struct {
		query store.RedemptionQuery
		index string
	}{
		{store.RedemptionQuery{}, "redemptions_by_time"},
		{redeemedIf(api.RedemptionFilter{Status: api.StatusApproved}), "redemptions_by_time"},
		{redeemedIf(api.RedemptionFilter{Since: noon, Until: noon.Add(time.Hour)}),
			"redemptions_by_time (redeemed_at>? AND redeemed_at<?)"},
		{store.RedemptionQuery{ClientID: "desk"}, "redemptions_of_client (client_id=?"},
		{store.RedemptionQuery{ClientID: "desk", RedemptionFilter: api.RedemptionFilter{Since: noon}},
			"redemptions_of_client (client_id=? AND redeemed_at>?"},
		{redeemedIf(api.RedemptionFilter{Actor: "ann"}), "redemptions_of_actor (actor=?"},
		{redeemedIf(api.RedemptionFilter{Actor: "ann", Status: api.StatusApproved, Since: noon}),
			"redemptions_of_actor (actor=? AND redeemed_at>?"},
		{redeemedIf(api.RedemptionFilter{PerkID: "tea"}), "redemptions_of_perk (perk=?"},
		{store.RedemptionQuery{ClientID: "desk", RedemptionFilter: api.RedemptionFilter{PerkID: "tea",
			Status: api.StatusApproved}}, "redemptions_of_perk (perk=?"},
		{redeemedIf(api.RedemptionFilter{Status: api.StatusPending}),
			"redemptions_not_approved (status=? AND voided=?"},
		{redeemedIf(api.RedemptionFilter{Status: api.StatusVoided, Until: noon}),
			"redemptions_not_approved (status=? AND voided=? AND redeemed_at"},
		{redeemedIf(api.RedemptionFilter{PerkID: "tea", Status: api.StatusRejected}),
			"redemptions_not_approved_of_perk (perk=? AND status=? AND voided=?"},
		{redeemedIf(api.RedemptionFilter{Metadata: ticket}), "m USING PRIMARY KEY (key=? AND value=?"},
		{store.RedemptionQuery{ClientID: "desk", RedemptionFilter: api.RedemptionFilter{Metadata: ticket, Actor: "ann",
			Status: api.StatusPending, Since: noon}}, "m USING PRIMARY KEY (key=? AND value=? AND redeemed_at>?"},
		{store.RedemptionQuery{ClientID: "desk", RedemptionFilter: api.RedemptionFilter{Status: api.StatusPending}},
			"redemptions_not_approved_of_client (client_id=? AND status=? AND voided=?"},
	} {
		query := test.query
		query.Window = store.Window{Page: 1, PerPage: 25}
		var plans []string
		for _, descending := range []bool{false, true} {
			query.Sort = []api.SortKey{{Field: "redeemed_at", Desc: descending}}
			for _, query.After = range []*store.Cursor{nil, {Values: []any{noon}, ID: "x"}} {
				parts, args, err := dialect.RedemptionPage(query)
				noError(t, err)
				last := explained(t, db, parts[len(parts)-1], args)
				plans = append(plans, last)
				if query.After != nil && !strings.Contains(last, "redeemed_at") {
					t.Errorf("%+v: the page after a cursor is not found by its time:\n%s", query, last)
				}
			}
		}
		for _, plan := range plans {
			if strings.Contains(plan, "TEMP B-TREE FOR ORDER BY") ||
				strings.Contains(plan, "SCAN r") && !strings.Contains(plan, "INDEX redemptions_by_time") ||
				!strings.Contains(plan, test.index) && test.index != "redemptions_by_time" {
				t.Errorf("%+v: want %q, and no sorting:\n%s", query, test.index, plan)
			}
		}
	}
}

func explained(t *testing.T, db *DB, text string, args store.Named) string {
	t.Helper()
	return must(explain(db.latest(t.Context()), text, args))(t)
}
