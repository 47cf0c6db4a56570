package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// desks is a server with two clients, each of which has redeemed the perks tea, approved at once, and spa, which is
// pending.
type desks struct {
	*servertest.Server
	t      *testing.T
	clock  *servertest.Clock
	id     [2]string
	tokens [2]string // with redemptions:read, decide and void
	made   [2]map[string]api.Redemption
}

func newDesks(t *testing.T) *desks {
	t.Helper()
	d := &desks{t: t, clock: clockAt(10)}
	d.Server = fixture(t, servertest.WithClock(d.clock), func(c *server.Config) { c.CreateUsers = true })
	for i := range d.id {
		d.id[i], d.tokens[i] = d.Caller(api.ScopePerksRead, api.ScopePerksRedeem, api.ScopeRedemptionsRead,
			api.ScopeRedemptionsDecide, api.ScopeRedemptionsVoid)
		d.made[i] = map[string]api.Redemption{}
		for _, perk := range []string{"tea", "spa"} {
			var r api.Redemption
			d.Do(redeemRequest(d.Server, d.tokens[i], perk, fmt.Sprintf(`{"user_id":"user%d","metadata":{"desk":%d}}`,
				i, i), ""), &r)
			d.made[i][perk] = r
			d.clock.Advance(time.Minute)
		}
	}
	return d
}

func (d *desks) list(token, query string) api.Page[api.RedemptionRecord] {
	d.t.Helper()
	page, _ := servertest.Read[api.Page[api.RedemptionRecord]](d.Server, token, d.LiveURL()+"/redemptions"+query)
	return page
}

// decide sends a decision, and returns the response with the redemption if there is one.
func (d *desks) decide(token, id, verb, body, ifMatch string) (*http.Response, api.RedemptionRecord) {
	d.t.Helper()
	request := d.Request(token, "POST", d.LiveURL()+"/redemptions/"+id+"/"+verb, body)
	if ifMatch != "" {
		request.Header.Set("If-Match", ifMatch)
	}
	response, raw := d.Send(request)
	var record api.RedemptionRecord
	if response.StatusCode == http.StatusOK {
		decode(d.t, raw, &record)
	}
	return response, record
}

func (d *desks) read(token, id string) (api.RedemptionRecord, string) {
	d.t.Helper()
	record, response := servertest.Read[api.RedemptionRecord](d.Server, token, d.LiveURL()+"/redemptions/"+id)
	return record, response.Header.Get("ETag")
}

func redeemedBy(s *servertest.Server, token, user string) api.Page[api.Redemption] {
	page, _ := servertest.Read[api.Page[api.Redemption]](s, token, s.LiveURL()+"/perks/users/"+user+"?type=redeemed")
	return page
}

func recordIDs(page api.Page[api.RedemptionRecord]) []string {
	ids := []string{}
	for _, r := range page.Data {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestAClientSeesItsOwnRedemptionsUnlessItMayReadAll(t *testing.T) {
	d := newDesks(t)
	lead := d.Token(api.ScopeRedemptionsRead, api.ScopeRedemptionsReadAll, api.ScopePerksRead)
	own := []string{d.made[0]["spa"].ID, d.made[0]["tea"].ID}
	all := []string{d.made[1]["spa"].ID, d.made[1]["tea"].ID, own[0], own[1]}
	for _, test := range []struct {
		what, token, query string
		want               []string
	}{
		{"one desk", d.tokens[0], "", own},
		{"the lead", lead, "", all},
		{"the lead's own", lead, "?own=true", []string{}},
		{"the oldest first", lead, "?sort=redeemed_at&per_page=2", []string{own[1], own[0]}},
		{"of a user of the other desk", d.tokens[0], "?user=user1", []string{}},
		{"of a user", lead, "?user=user1", all[:2]},
		{"of a time", lead, "?since=" + d.made[1]["tea"].RedeemedAt.Format(time.RFC3339), all[:2]},
	} {
		if diff := cmp.Diff(test.want, recordIDs(d.list(test.token, test.query))); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", test.what, diff)
		}
	}
	foreign := d.made[1]["tea"].ID
	if got := d.Status(d.tokens[0], "GET", d.LiveURL()+"/redemptions/"+foreign, ""); got != http.StatusNotFound {
		t.Errorf("another's redemption: %d", got)
	}
	if record, _ := d.read(lead, foreign); string(record.Metadata) != `{"desk":1}` || record.ClientID != d.id[1] {
		t.Errorf("the lead reads %s of %s", record.Metadata, record.ClientID)
	}
	for token, want := range map[string]string{d.tokens[0]: `{}`, d.tokens[1]: `{"desk":1}`, lead: `{"desk":1}`} {
		page := redeemedBy(d.Server, token, "user1")
		if len(page.Data) != 2 || string(page.Data[0].Metadata) != want {
			t.Errorf("in the user's list: %+v, want the metadata %s", page.Data, want)
		}
	}
}

func TestAListOfRedemptionsIsWalkedByItsLinks(t *testing.T) {
	d := newDesks(t)
	lead := d.Token(api.ScopeRedemptionsRead, api.ScopeRedemptionsReadAll)
	var seen []string
	for page, response := range walk[api.RedemptionRecord](d.Server, lead,
		d.LiveURL()+"/redemptions?per_page=1&sort=redeemed_at") {
		if seen = append(seen, recordIDs(page)...); response.Header.Get("X-Total-Count") != "4" {
			t.Errorf("after %d redemptions: %v", len(seen), response.Header)
		}
		if len(seen) == 2 { // whatever is decided meanwhile
			d.decide(d.tokens[0], d.made[0]["spa"].ID, "approve", "", "")
		}
	}
	if want := []string{d.made[0]["tea"].ID, d.made[0]["spa"].ID, d.made[1]["tea"].ID,
		d.made[1]["spa"].ID}; !slices.Equal(seen, want) {
		t.Errorf("the walk has %q, want %q", seen, want)
	}
}

func TestADecisionIsMadeOnceAndSeenByEverybody(t *testing.T) {
	d := newDesks(t)
	id := d.made[0]["spa"].ID
	before, tag := d.read(d.tokens[0], id)
	response, approved := d.decide(d.tokens[0], id, "approve", `{"reason":"of age"}`, tag)
	if approved.Status != api.StatusApproved || approved.DecidedAt == nil || *approved.Reason != "of age" ||
		response.Header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("%d %+v", response.StatusCode, approved)
	}
	after, newTag := d.read(d.tokens[0], id)
	if diff := cmp.Diff(approved, after); diff != "" || newTag != response.Header.Get("ETag") || newTag == tag {
		t.Errorf("read back with the tag %s after %s: %s", newTag, tag, diff)
	}
	d.clock.Advance(time.Minute)
	response, again := d.decide(d.tokens[0], id, "approve", "", tag) // as a client that lost the first reply
	if diff := cmp.Diff(approved, again); diff != "" || response.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again, with %v: %s", response.Header, diff)
	}
	for _, refused := range []struct {
		verb, body, tag string
		status          int
	}{
		{"reject", `{"reason":"no"}`, "", http.StatusConflict},
		{"void", `{"reason":"no"}`, tag, http.StatusPreconditionFailed},
		{"void", ``, "", http.StatusUnprocessableEntity},
		{"void", `{"reason":" "}`, "", http.StatusUnprocessableEntity},
		{"void", `{"because":"no"}`, "", http.StatusUnprocessableEntity},
		{"void", `{`, "", http.StatusBadRequest},
	} {
		if response, _ := d.decide(d.tokens[0], id, refused.verb, refused.body,
			refused.tag); response.StatusCode != refused.status {
			t.Errorf("%s %s: %d, want %d", refused.verb, refused.body, response.StatusCode, refused.status)
		}
	}
	if response, voided := d.decide(d.tokens[0], id, "void", `{"reason":"wrong user"}`,
		newTag); voided.Status != api.StatusVoided {
		t.Errorf("voided: %d %+v", response.StatusCode, voided)
	}
	if page := redeemedBy(d.Server, d.tokens[0], "user0"); page.Data[0].Status != api.StatusRejected {
		t.Errorf("in the user's list it is %s", page.Data[0].Status)
	}
	if before.DecidedAt != nil || before.Reason != nil {
		t.Errorf("before, it was decided: %+v", before)
	}
	if status := d.Do(redeemRequest(d.Server, d.tokens[0], "spa", `{"user_id":"user0"}`, ""),
		nil); status != http.StatusCreated {
		t.Errorf("the user redeems again: %d", status)
	}
}

func TestOnlyWhatAClientMayReadIsDecided(t *testing.T) {
	d := newDesks(t)
	id := d.made[0]["spa"].ID
	if response, _ := d.decide(d.tokens[1], id, "approve", "", ""); response.StatusCode != http.StatusNotFound {
		t.Errorf("by another desk: %d", response.StatusCode)
	}
	if record, _ := d.read(d.tokens[0], id); record.Status != api.StatusPending {
		t.Errorf("it is %s", record.Status)
	}
	lead := d.Token(api.ScopeRedemptionsDecide, api.ScopeRedemptionsReadAll)
	if response, record := d.decide(lead, strings.ToUpper(id), "reject", `{"reason":"full"}`,
		""); record.Status != api.StatusRejected {
		t.Errorf("by the lead: %d %+v", response.StatusCode, record)
	}
	if response, _ := d.decide(lead, "none", "approve", "", ""); response.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown one: %d", response.StatusCode)
	}
}

func TestEligibilityIsWhatRedeemingSays(t *testing.T) {
	s := fixture(t)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "had"}},
		store.PerkRecord{Perk: api.Perk{ID: "last"}, Stock: new(int64(1))})
	token := s.Token()
	for _, perk := range []string{"had", "last"} {
		s.Do(redeemRequest(s, token, perk, `{"user_id":"alice"}`, ""), nil)
	}
	for _, r := range []struct {
		perk, user string
		status     int
		code       api.Code
	}{
		{"tea", "alice", http.StatusCreated, ""},
		{"spa", "alice", http.StatusCreated, ""}, // needs approval
		{"had", "alice", http.StatusConflict, api.CodeAlreadyRedeemed},
		{"last", "alice", http.StatusConflict, api.CodeAlreadyRedeemed}, // not sold out: the user has it
		{"last", "bob", http.StatusConflict, api.CodeSoldOut},
		{"out", "bob", http.StatusConflict, api.CodeSoldOut},
		{"soon", "bob", http.StatusConflict, api.CodePerkNotStarted},
		{"late", "bob", http.StatusConflict, api.CodePerkExpired},
		{"late", "nobody", http.StatusNotFound, api.CodeNotFound},
	} {
		answer, _ := servertest.Read[api.Eligibility](s, token,
			s.LiveURL()+"/perks/"+r.perk+"/eligibility?user_id="+r.user)
		request := redeemRequest(s, token, r.perk, `{"user_id":"`+r.user+`"}`, "")
		if answer.Eligible != (r.code == "") {
			t.Errorf("%s for %s: eligible is %t", r.perk, r.user, answer.Eligible)
		} else if answer.Eligible {
			var made api.Redemption
			if s.Do(request, &made); answer.Status == nil || *answer.Status != made.Status {
				t.Errorf("%s for %s: the answer was %+v, but it is %s", r.perk, r.user, answer, made.Status)
			}
		} else if answer.Status != nil {
			t.Errorf("%s for %s: refused, but the status is %s", r.perk, r.user, *answer.Status)
		} else if _, refusal := wantError(t, s, request, r.status, problemType, r.code); *answer.Code != r.code ||
			*answer.Reason != refusal.Response {
			t.Errorf("%s for %s: %s %q, want %q", r.perk, r.user, *answer.Code, *answer.Reason, refusal.Response)
		}
	}
	wantPerks(t, s, token, s.LiveURL(), "alice", 0, 4)
	if bobs := redeemedBy(s, token, "bob"); len(bobs.Data) != 0 {
		t.Errorf("refused requests left %+v", bobs.Data)
	}
}

func TestEligibilityOfManyPairs(t *testing.T) {
	const uuid = "0195b2c4-6f1e-7c3a-9d52-3b1f6e0c7a11"
	s := servertest.Start(t, servertest.WithClock(clockAt(10)))
	s.ImportUsers("alice", strings.ToUpper(uuid))
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}},
		store.PerkRecord{Perk: api.Perk{ID: uuid}, Approval: store.ApprovalManual},
		store.PerkRecord{Perk: api.Perk{ID: "none"}, Stock: new(int64(0))})
	token := s.Token()
	s.Do(redeemRequest(s, token, "tea", `{"user_id":"alice"}`, ""), nil)
	pairs := []api.Pair{{PerkID: strings.ToUpper(uuid), UserID: uuid}}
	for _, perk := range []string{"tea", uuid, "none", "tea"} {
		for _, user := range []string{"alice", "bob", uuid} {
			pairs = append(pairs, api.Pair{PerkID: perk, UserID: user})
		}
	}
	ask := func(pairs any) (answers api.EligibilityList, status int) {
		body, err := api.EncodeJSON(map[string]any{"pairs": pairs})
		if err != nil {
			t.Fatal(err)
		}
		return answers, s.Do(s.Request(token, "POST", s.LiveURL()+"/eligibility", string(body)), &answers)
	}
	answers, status := ask(pairs)
	if status != http.StatusOK || len(answers.Data) != len(pairs) {
		t.Fatalf("%d: %d answers for %d pairs", status, len(answers.Data), len(pairs))
	}
	if first := answers.Data[0]; !first.NeedsApproval() {
		t.Errorf("a perk that needs approval: %+v", first)
	}
	for i, pair := range pairs {
		var single api.Eligibility
		path := "/perks/" + pair.PerkID + "/eligibility?user_id=" + pair.UserID
		s.Do(s.Request(token, "GET", s.LiveURL()+path, ""), &single)
		if diff := cmp.Diff(single, answers.Data[i]); diff != "" {
			t.Errorf("%+v: %s", pair, diff)
		}
	}
	answers, _ = ask([]api.Pair{{PerkID: "no perk", UserID: "alice"}, {PerkID: "nothing", UserID: "bob"}})
	for _, answer := range answers.Data {
		if answer.Eligible || *answer.Code != api.CodeNotFound || !strings.Contains(*answer.Reason, answer.PerkID) {
			t.Errorf("an unknown perk: %+v", answer)
		}
	}
	for name, test := range map[string]struct {
		pairs any
		field string
	}{
		"none":            {[]api.Pair{}, "pairs"},
		"too many":        {make([]api.Pair, api.MaxPairs+1), "pairs"},
		"not objects":     {[]int{1}, "pairs[0]"},
		"an invalid user": {[]api.Pair{pairs[0], {PerkID: "tea", UserID: "a b"}}, "pairs[1].user_id"},
		"no perk":         {[]any{map[string]any{"user_id": "alice"}}, "pairs[0].perk_id"},
		"another field":   {[]any{map[string]any{"user_id": "alice", "perk_id": "tea", "n": 1}}, "pairs[0].n"},
	} {
		body, _ := api.EncodeJSON(map[string]any{"pairs": test.pairs})
		response, text := s.Send(s.Request(token, "POST", s.LiveURL()+"/eligibility", string(body)))
		if response.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(text), test.field+`"`) {
			t.Errorf("%s: %d %s", name, response.StatusCode, text)
		}
	}
}

func decode(t *testing.T, body []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
}

func (d *desks) report(token, query string) api.Report {
	d.t.Helper()
	report, _ := servertest.Read[api.Report](d.Server, token, d.LiveURL()+"/reports/redemptions"+query)
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
	all := api.RedemptionCounts{Total: 4, Pending: 2, Approved: 1, Voided: 1}
	for _, test := range []struct {
		what, token, query string
		by                 api.ReportBy
		want               api.RedemptionCounts
	}{
		{"one desk", d.tokens[0], "", api.ReportByDay, api.RedemptionCounts{Total: 2, Pending: 1, Approved: 1}},
		{"the other", d.tokens[1], "?by=perk", api.ReportByPerk, api.RedemptionCounts{Total: 2, Pending: 1, Voided: 1}},
		{"the lead", lead, "?by=status", api.ReportByStatus, all},
		{"the lead's own", lead, "?own=true", api.ReportByDay, api.RedemptionCounts{}},
		{"before a time", lead, "?until=" + d.made[0]["spa"].RedeemedAt.Format(time.RFC3339), api.ReportByDay,
			api.RedemptionCounts{Total: 1, Approved: 1}},
		{"92 days", lead, "?since=2026-01-01&until=2026-04-03", api.ReportByDay, all},
	} {
		report := d.report(test.token, test.query)
		sum := api.RedemptionCounts{}
		for _, row := range report.Data {
			sum.Add(row.RedemptionCounts)
		}
		if report.Meta.Totals != test.want || sum != test.want || report.Meta.By != test.by || report.Meta.IsMore {
			t.Errorf("%s: %+v with rows of %+v, want %+v", test.what, report.Meta, sum, test.want)
		}
	}
}

func TestAReportIsOfTheLastThirtyDaysUnlessAskedOtherwise(t *testing.T) {
	d := newDesks(t)
	now := d.clock.Now().UTC()
	for query, want := range map[string][2]time.Time{
		"":                  {now.AddDate(0, 0, -30), now},
		"?until=2026-02-01": {day(2), day(32)},
		"?since=2026-01-08": {day(8), now},
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
	sandbox, _ := servertest.Read[api.Report](d.Server, d.tokens[0], d.SandboxURL()+"/reports/redemptions?by=perk")
	if len(sandbox.Data) != 0 {
		t.Errorf("in the sandbox: %+v", sandbox)
	}
}

func TestUsersAreListedByTheBeginningsOfTheirIDs(t *testing.T) {
	s := servertest.Start(t)
	users := make([]string, store.MaxCounted+1)
	for i := range users {
		users[i] = userNumber(i)
	}
	s.ImportUsers(append(users, "zoe", "zoë")...)
	token := s.Token(api.ScopeRedemptionsReadAll)
	var found []string
	for page, response := range walk[api.User](s, token, s.LiveURL()+"/users?prefix=zo&per_page=1") {
		if found = append(found, page.Data[0].ID); page.Meta.Total != 2 || page.Meta.Page != int64(len(found)) ||
			response.Header.Get("X-Total-Count") != "2" {
			t.Errorf("%+v with %v", page, response.Header)
		}
	}
	if !slices.Equal(found, []string{"zoe", "zoë"}) {
		t.Errorf("the prefix has %q", found)
	}
	seen := 0
	for page, response := range walk[api.User](s, token, s.LiveURL()+"/users?per_page=100") {
		if page.Meta.MoreThan != store.MaxCounted || response.Header.Get("X-Total-Count") != "" {
			t.Errorf("%s: %+v", response.Request.URL, page.Meta)
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
		page, _ := servertest.Read[api.Page[api.User]](s, token, base+"/users?prefix=only")
		if len(page.Data) != want {
			t.Errorf("%s has %+v", base, page)
		}
	}
}
