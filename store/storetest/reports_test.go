package storetest_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var reportTests = []test{
	{"every report counts what a second opinion counts", func(f *fixture) {
		records := f.redemptionsInCities()
		for _, of := range [][2]string{{}, {"desk"}, {"nobody"}, {"", "ann"}, {"desk", "Ann"}} {
			for _, since := range []time.Time{now.AddDate(0, 0, -1), now, now.Add(26 * time.Hour),
				now.AddDate(0, 0, 9)} {
				for _, until := range []time.Time{since.Add(time.Hour), now.AddDate(0, 0, 3), now.AddDate(0, 0, 40)} {
					for _, by := range api.ReportDimensions() {
						query := store.ReportQuery{By: by, ClientID: of[0], Actor: of[1], Since: since,
							Until: until, Within: time.Minute}
						f.equal(fmt.Sprintf("%+v", query), must(f.ReportRedemptions(f.ctx, query))(f),
							reported(records, query))
					}
				}
			}
		}
	}},
	{"a report by perk has a bound, the most frequent first, and the totals of all", func(f *fixture) {
		const perks = api.MaxReportRows + 1
		f.addUsers("ann", "bob")
		var many []store.PerkRecord
		for i := range perks {
			many = append(many, perk(fmt.Sprintf("p%04d", i),
				func(p *store.PerkRecord) { p.City = fmt.Sprint("City ", i/2) }))
		}
		f.addPerks(many...)
		for _, p := range many {
			f.redeem(attempt(p.ID, "ann"))
		}
		last := many[perks-1].ID
		f.redeem(attempt(last, "bob"))
		query := store.ReportQuery{By: api.ReportByPerk, Since: now, Until: now.Add(time.Hour), Within: time.Minute}
		report := must(f.ReportRedemptions(f.ctx, query))(f)
		f.equal("rows", len(report.Data), api.MaxReportRows)
		f.equal("the first", []any{report.Data[0].Key, report.Data[0].Total, report.Data[1].Key, report.Data[1].Total},
			[]any{last, int64(2), "p0000", int64(1)})
		f.equal("there are more", report.Meta.IsMore, true)
		f.equal("totals", report.Meta.Totals, api.RedemptionCounts{Total: perks + 1, Approved: perks + 1})
		query.By = api.ReportByCity
		report = must(f.ReportRedemptions(f.ctx, query))(f)
		f.equal("cities", []any{len(report.Data), report.Meta.IsMore, report.Meta.Totals.Total},
			[]any{perks/2 + 1, false, int64(perks + 1)})
	}},
}

var cities = []string{"Zürich", "ZÜRICH", "York", "york", "Åre", "Rome"}

// redemptionsInCities makes redemptions of every status, on three days, of perks in cities whose names differ in case
// and accents.
func (f *fixture) redemptionsInCities() []api.RedemptionRecord {
	f.Helper()
	users := numbered("user", 7)
	f.addUsers(users...)
	for i, city := range cities {
		f.addPerks(perk(fmt.Sprint("perk", i), manual, func(p *store.PerkRecord) { p.City = city }))
	}
	for i, user := range users {
		for j := range min(i, 5) {
			a := attempt(fmt.Sprint("perk", j), user)
			a.ClientID, a.At = []string{"shop", "desk"}[(i+j)%2], now.Add(time.Duration(i*j)*3*time.Hour)
			a.Actor = []string{"", "ann", "Ann"}[i%3]
			f.redeem(a)
			switch (i + j) % 4 {
			case 1:
				f.decide(a.ID, api.StatusApproved)
			case 2:
				f.decide(a.ID, api.StatusRejected)
			case 3:
				f.decide(a.ID, api.StatusApproved)
				f.decide(a.ID, api.StatusVoided)
			}
		}
	}
	return collect(f, f.ExportRedemptions(f.ctx, ""))
}

// reported is the report of a query, computed here.
func reported(records []api.RedemptionRecord, query store.ReportQuery) api.Report {
	report := api.Report{Data: []api.ReportRow{},
		Meta: api.ReportMeta{By: query.By, Since: query.Since, Until: query.Until}}
	fold := store.Fold
	if query.By == api.ReportByActor {
		fold = func(name string) string { return name }
	}
	add := func(key string, title *string, counts api.RedemptionCounts) {
		at := slices.IndexFunc(report.Data,
			func(row api.ReportRow) bool { return fold(row.Key) == fold(key) })
		if at < 0 {
			at = len(report.Data)
			report.Data = append(report.Data, api.ReportRow{Key: key, Title: title})
		}
		report.Data[at].Key = min(report.Data[at].Key, key)
		report.Data[at].Add(counts)
	}
	switch query.By {
	case api.ReportByDay:
		for at := query.Since.Truncate(24 * time.Hour); at.Before(query.Until); at = at.Add(24 * time.Hour) {
			add(at.Format(time.DateOnly), nil, api.RedemptionCounts{})
		}
	case api.ReportByStatus:
		for _, status := range api.RedemptionStatuses() {
			add(string(status), nil, api.RedemptionCounts{})
		}
	}
	for _, r := range records {
		if query.ClientID != "" && r.ClientID != query.ClientID || r.RedeemedAt.Before(query.Since) ||
			!r.RedeemedAt.Before(query.Until) || query.Actor != "" && actorOf(r) != query.Actor {
			continue
		}
		counts := api.RedemptionCounts{Total: 1}
		*counts.Of(r.Status) = 1
		report.Meta.Totals.Add(counts)
		switch query.By {
		case api.ReportByDay:
			add(r.RedeemedAt.Format(time.DateOnly), nil, counts)
		case api.ReportByStatus:
			add(string(r.Status), nil, counts)
		case api.ReportByPerk:
			title := perk(r.PerkID).Title
			add(r.PerkID, &title, counts)
		case api.ReportByCity:
			add(cities[r.PerkID[len("perk")]-'0'], nil, counts)
		case api.ReportByActor:
			add(actorOf(r), nil, counts)
		}
	}
	if query.By != api.ReportByDay && query.By != api.ReportByStatus {
		slices.SortFunc(report.Data, func(a, b api.ReportRow) int {
			return cmp.Or(cmp.Compare(b.Total, a.Total), strings.Compare(fold(a.Key), fold(b.Key)))
		})
	}
	return report
}
