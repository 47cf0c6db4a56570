package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"example.com/perks/api"
)

// reportedRedemptions is how many redemptions are in the time of a report, whatever the number of all.
const reportedRedemptions = 5000

// userSizes is how many users there are. The last is compared with the first.
var userSizes = []int64{10_000, 1_000_000}

// userFilters are beginnings of the ids of all users, of ever fewer, and of none.
var userFilters = []listFilter{
	{"none", ""}, {"many users", "prefix=u-0"}, {"some users", "prefix=u-0012"}, {"one user", "prefix=u-001234"},
	{"no user", "prefix=x"},
}

// measureUsers compares pages of users, with every filter, at a million with the same at ten thousand.
func measureUsers(ctx context.Context, l *harness) (*table, error) {
	t := newTable("Lists of users (`users`)", "filter", "store", "grows most", "10,000 users", "1,000,000 users")
	for _, kind := range []string{"PostgreSQL", "SQLite"} {
		var ask []askList
		for _, size := range userSizes {
			database, err := l.newDatabase(ctx, kind, fmt.Sprintf("users-%d", size))
			if err != nil {
				return nil, err
			}
			s, err := l.serve(ctx, database)
			if err != nil {
				return nil, err
			}
			if _, err := l.runPerksd(ctx, database, nil, "demo-data", "--perks", "0", "--users",
				fmt.Sprint(size)); err != nil {
				return nil, err
			}
			l.logf("made %s users over %s", grouped(size), kind)
			ask = append(ask, func(ctx context.Context, filter, place string) ([]time.Duration, error) {
				return s.askPage(ctx, "/partners/users?"+filter+place)
			})
		}
		if err := l.compareFilters(ctx, t, kind, userFilters, []string{""}, ask); err != nil {
			return nil, err
		}
	}
	t.note("Over HTTP, one connection, pages of %d; p50 of %d requests each, alternating.", api.DefaultPerPage,
		l.rounds*listRequests)
	return t, nil
}

// report is the address of a report of a time.
func report(by api.ReportBy, since, until time.Time) string {
	query := url.Values{"by": {string(by)}, "since": {since.Format(time.RFC3339Nano)},
		"until": {until.Format(time.RFC3339Nano)}}
	return "/partners/reports/redemptions?" + query.Encode()
}

// compareReports adds a row for each kind of report: of as many redemptions among a million as among ten thousand, and
// of all of them.
func (l *harness) compareReports(ctx context.Context, t *table, kind string, lists []*redemptionLists) error {
	var filters []listFilter
	for _, by := range api.ReportDimensions() {
		filters = append(filters, listFilter{fmt.Sprintf("report by %s of %s", by, grouped(reportedRedemptions)),
			string(by)})
	}
	all := []listFilter{{"report by perk of all", string(api.ReportByPerk)}}
	asking := func(ofAll bool) (ask []askList) {
		for _, r := range lists {
			until := r.early
			if ofAll {
				until = time.Now().UTC().Add(time.Hour)
			}
			ask = append(ask, func(ctx context.Context, by, _ string) ([]time.Duration, error) {
				return r.askPage(ctx, report(api.ReportBy(by), r.begun, until))
			})
		}
		return ask
	}
	if err := l.compareFilters(ctx, t, kind, filters, []string{""}, asking(false)); err != nil {
		return err
	}
	return l.compareAs(ctx, t, target{}, kind, all, []string{""}, asking(true))
}
