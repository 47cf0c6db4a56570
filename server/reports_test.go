package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

func (d *desks) report(token, query string) api.Report {
	d.t.Helper()
	var report api.Report
	if status := d.Do(d.Request(token, "GET", d.LiveURL()+"/reports/redemptions"+query, ""),
		&report); status != http.StatusOK {
		d.t.Fatalf("%s: %d", query, status)
	}
	return report
}

func TestTheDefaultReportKeepsItsETagForAMinute(t *testing.T) {
	clock := servertest.NewClock(time.Date(2026, 3, 1, 12, 0, 1, 0, time.UTC))
	s := servertest.Start(t, servertest.WithClock(clock))
	token := s.Token(api.ScopeRedemptionsRead)
	request := s.Request(token, "GET", s.LiveURL()+"/reports/redemptions", "")
	first, _ := s.Send(request)
	clock.Advance(58 * time.Second)
	request.Header.Set("If-None-Match", first.Header.Get("ETag"))
	if again, body := s.Send(request); again.StatusCode != http.StatusNotModified {
		t.Errorf("58 s later: %s %s", again.Status, body)
	}
	clock.Advance(2 * time.Second)
	if later, body := s.Send(request); later.StatusCode != http.StatusOK {
		t.Errorf("a minute later: %s %s", later.Status, body)
	}
}

func TestAReportCountsWhatTheCallerMayRead(t *testing.T) {
	d := newDesks(t)
	lead := d.Token(api.ScopeRedemptionsRead, api.ScopeRedemptionsReadAll)
	d.decide(d.tokens[1], d.made[1]["tea"].ID, "void", `{"reason":"mistake"}`, "")
	own, all := api.RedemptionCounts{Total: 2, Pending: 1, Approved: 1},
		api.RedemptionCounts{Total: 4, Pending: 2, Approved: 1, Voided: 1}
	for _, test := range []struct {
		what, token, query string
		want               api.RedemptionCounts
	}{
		{"one desk", d.tokens[0], "", own},
		{"the other", d.tokens[1], "", api.RedemptionCounts{Total: 2, Pending: 1, Voided: 1}},
		{"the lead", lead, "", all},
		{"the lead's own", lead, "?own=true", api.RedemptionCounts{}},
		{"of a time", lead, "?since=" + d.made[1]["tea"].RedeemedAt.Format(time.RFC3339),
			api.RedemptionCounts{Total: 2, Pending: 1, Voided: 1}},
		{"before a time", lead, "?until=" + d.made[0]["spa"].RedeemedAt.Format(time.RFC3339),
			api.RedemptionCounts{Total: 1, Approved: 1}},
		{"92 days", lead, "?since=2026-01-01&until=2026-04-03", all},
	} {
		for _, by := range api.ReportDimensions() {
			query := strings.Replace("?"+strings.TrimPrefix(test.query+"&by=", "?")+string(by), "?&", "?", 1)
			report := d.report(test.token, query)
			if diff := cmp.Diff(test.want, report.Meta.Totals); diff != "" {
				t.Errorf("%s, %s: want (-), got (+):\n%s", test.what, query, diff)
			}
			sum := api.RedemptionCounts{}
			for _, row := range report.Data {
				sum.Add(row.RedemptionCounts)
			}
			if diff := cmp.Diff(test.want, sum); diff != "" || report.Meta.By != by || report.Meta.IsMore {
				t.Errorf("%s, %s: the rows of %+v have (+), want (-):\n%s", test.what, query, report.Meta, diff)
			}
		}
	}
}

func TestAReportIsOfTheLastThirtyDaysUnlessAskedOtherwise(t *testing.T) {
	d := newDesks(t)
	now := d.clock.Now().UTC()
	for query, want := range map[string][2]time.Time{
		"": {now.AddDate(0, 0, -30), now}, "?until=2026-02-01": {date(2026, 1, 2), date(2026, 2, 1)}, "?since=" +
			now.AddDate(0, 0, -2).Format(time.DateOnly): {now.Truncate(24*time.Hour).AddDate(0, 0, -2), now},
	} {
		report := d.report(d.tokens[0], query)
		if !report.Meta.Since.Equal(want[0]) || !report.Meta.Until.Equal(want[1]) || report.Meta.By != api.ReportByDay {
			t.Errorf("%s: %+v, want %v", query, report.Meta, want)
		}
		if first, last := report.Data[0].Key,
			report.Data[len(report.Data)-1].Key; first != want[0].Format(time.DateOnly) ||
			last != want[1].Add(-1).Format(time.DateOnly) {
			t.Errorf("%s: from %s to %s", query, first, last)
		}
	}
	for query, field := range map[string]string{
		"?by=hour": "by", "?by=day&by=day": "by", "?since=x": "since", "?since=2999-01-01": "since",
		"?since=2026-01-01&until=2026-01-01":               "since",
		"?since=2026-01-01&until=2026-04-03T00:00:00.001Z": "since", "?since=0001-01-02": "since", "?perk=tea": "perk",
		"?user=u": "user", "?status=pending": "status", "?own=1": "own",
	} {
		response, body := d.Send(d.Request(d.tokens[0], "GET", d.LiveURL()+"/reports/redemptions"+query, ""))
		if response.StatusCode != http.StatusUnprocessableEntity ||
			!strings.Contains(string(body), `"errors":{"`+field+`"`) {
			t.Errorf("%s: %d %s", query, response.StatusCode, body)
		}
	}
	if _, body := d.Send(d.Request(d.tokens[0], "GET", d.LiveURL()+"/reports/redemptions?since=2020-01-01",
		"")); !strings.Contains(string(body), "at most 92 days") {
		t.Errorf("a report of years: %s", body)
	}
	if _, body := d.Send(d.Request(d.tokens[0], "GET", d.SandboxURL()+"/reports/redemptions?by=perk",
		"")); !strings.Contains(string(body), `"data":[]`) {
		t.Errorf("in the sandbox: %s", body)
	}
}

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func TestUsersAreListedByTheBeginningsOfTheirIDs(t *testing.T) {
	s := servertest.Start(t)
	users := make([]string, store.MaxCounted+1)
	for i := range users {
		users[i] = userNumber(i)
	}
	s.ImportUsers(append(users, "zoe", "zoë")...)
	token := s.Token(api.ScopeRedemptionsReadAll)
	list := func(address string) (*http.Response, api.Page[api.User]) {
		t.Helper()
		response, body := s.Send(s.Request(token, "GET", address, ""))
		var page api.Page[api.User]
		decode(t, body, &page)
		return response, page
	}
	response, page := list(s.LiveURL() + "/users?prefix=zo&per_page=1")
	if page.Data[0].ID != "zoe" || page.Meta.Total != 2 || response.Header.Get("X-Total-Count") != "2" {
		t.Errorf("%+v with %v", page, response.Header)
	}
	if _, page = list(links(response.Header)["next"]); len(page.Data) != 1 || page.Data[0].ID != "zoë" ||
		page.Meta.Page != 2 {
		t.Errorf("the second page is %+v", page)
	}
	seen := 0
	for at := s.LiveURL() + "/users?per_page=100"; at != ""; at = links(response.Header)["next"] {
		if response, page = list(at); page.Meta.MoreThan != store.MaxCounted ||
			response.Header.Get("X-Total-Count") != "" {
			t.Errorf("%s: %+v", at, page.Meta)
		}
		seen += len(page.Data)
	}
	if seen != len(users)+2 {
		t.Errorf("%d users were seen", seen)
	}
	if _, err := s.Sandbox.ImportUsers(t.Context(), servertest.Rows([]store.User{{ID: "only-here"}}), store.Operator,
		time.Now()); err != nil {
		t.Fatal(err)
	}
	for base, want := range map[string]int{s.LiveURL(): 0, s.SandboxURL(): 1} {
		if _, page = list(base + "/users?prefix=only"); len(page.Data) != want {
			t.Errorf("%s has %+v", base, page)
		}
	}
	for query, field := range map[string]string{"?page=9": "page", "?after=x": "after", "?prefix=%00": "prefix",
		"?prefix=a&prefix=b": "prefix", "?per_page=0": "per_page"} {
		response, body := s.Send(s.Request(token, "GET", s.LiveURL()+"/users"+query, ""))
		if response.StatusCode != http.StatusUnprocessableEntity ||
			!strings.Contains(string(body), `"errors":{"`+field+`"`) {
			t.Errorf("%s: %d %s", query, response.StatusCode, body)
		}
	}
}
