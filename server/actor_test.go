package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// till is a service with a client that may say who sits at it.
type till struct {
	*servertest.Server
	t     *testing.T
	id    string
	token string
	log   bytes.Buffer
}

func startTill(t *testing.T, adjust ...func(*server.Config)) *till {
	t.Helper()
	n := &till{t: t}
	n.Server = fixture(t, append(adjust, func(c *server.Config) {
		c.CreateUsers, c.Logger = true, slog.New(slog.NewTextHandler(&n.log, nil))
	})...)
	id, secret := n.ClientWith(func(c *store.Client) { c.NamesActors = true })
	n.id, n.token = id, n.TokenFor(id, secret)
	return n
}

// as sends a request of a person, under an idempotency key unless that is "", and returns the response and its body.
func (n *till) as(person, token, method, path, body, key string) (*http.Response, []byte) {
	n.t.Helper()
	request := n.Request(token, method, n.LiveURL()+path, body)
	if person != "" {
		request.Header.Set(api.HeaderActor, person)
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	return n.Send(request)
}

func (n *till) redeem(person, perk, user string) (made api.Redemption) {
	n.t.Helper()
	response, body := n.as(person, n.token, "POST", "/perks/"+perk+"/redeem", fmt.Sprintf(`{"user_id":%q}`, user), "")
	if response.StatusCode != http.StatusCreated {
		n.t.Fatalf("redeeming as %q: %d %s", person, response.StatusCode, body)
	}
	decode(n.t, body, &made)
	return made
}

func (n *till) record(id string) (record api.RedemptionRecord) {
	n.t.Helper()
	_, body := n.as("", n.token, "GET", "/redemptions/"+id, "", "")
	decode(n.t, body, &record)
	return record
}

func TestOnlyAnAllowedClientNamesActorsAndOnlyPrintableOnes(t *testing.T) {
	n := startTill(t)
	_, other := n.Caller()
	for _, test := range []struct {
		name, token string
		status      int
		want        string // in the body
	}{
		{"alice", n.token, 200, ""}, {"Ünal Ö. / till 2", n.token, 200, ""},
		{strings.Repeat("宽", 100), n.token, 200, ""},
		{strings.Repeat("x", 101), n.token, 400, "at most 100 characters"},
		{"a\u202eb", n.token, 400, "control characters"}, {"\xff", n.token, 400, "valid UTF-8"},
		{"a\u200bb", n.token, 400, "control characters"}, {"\u00a0a", n.token, 400, "blank"},
		{"alice", other, 403, "perksd client update "},
	} {
		for _, path := range []string{"/perks", "/redemptions", "/events", "/reports/redemptions"} {
			response, body := n.as(test.name, test.token, "GET", path, "", "")
			if response.StatusCode != test.status || !strings.Contains(string(body), test.want) {
				t.Errorf("%q at %s: %d %s", test.name, path, response.StatusCode, body)
			}
			if got := response.Header.Get(api.HeaderActor); (got == test.name) != (test.status == 200) {
				t.Errorf("%q at %s: the response repeats %q", test.name, path, got)
			}
		}
	}
	for what, values := range map[string][]string{"twice": {"a", "b"}, "empty": {""}} {
		request := n.Request(n.token, "GET", n.LiveURL()+"/perks", "")
		request.Header[api.HeaderActor] = values
		if response, body := n.Send(request); response.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", what, response.StatusCode, body)
		}
	}
	if log := n.log.String(); !strings.Contains(log, `actor="Ünal Ö. / till 2"`) || strings.Contains(log, "\u202e") {
		t.Errorf("the log of requests:\n%s", log)
	}
}

func TestANameIsKeptWithWhatWasDone(t *testing.T) {
	n := startTill(t)
	made := n.redeem("alice", "spa", "user1")
	n.redeem("bob", "tea", "user1")
	n.redeem("", "tea", "user2")
	response, body := n.as("bob", n.token, "POST", "/redemptions/"+made.ID+"/approve", "", "")
	if response.StatusCode != http.StatusOK {
		t.Fatalf("approving: %s", body)
	}
	record := n.record(made.ID)
	who := fmt.Sprint(*record.Actor, " ", *record.DecidedBy, " ", *record.DecidedActor)
	if who != "alice "+n.id+" bob" {
		t.Errorf("the record says %s", who)
	}
	page, _ := servertest.Read[api.Page[api.RedemptionRecord]](n.Server, n.token,
		n.LiveURL()+"/redemptions?actor=alice")
	if len(page.Data) != 1 || page.Data[0].ID != made.ID {
		t.Errorf("those of alice: %+v", page.Data)
	}
	report, _ := servertest.Read[api.Report](n.Server, n.token, n.LiveURL()+"/reports/redemptions?by=actor&until="+
		day(11).Format(time.DateOnly))
	var rows []string
	for _, row := range report.Data {
		rows = append(rows, fmt.Sprint(row.Key, "=", row.Total))
	}
	if got := strings.Join(rows, " "); got != "=1 alice=1 bob=1" {
		t.Errorf("the report: %s", got)
	}
	var events api.EventPage
	_, body = n.as("", n.token, "GET", "/events?per_page=10&type=redemption.made,redemption.approved", "", "")
	decode(t, body, &events)
	var actors []string
	for _, e := range events.Data {
		name := "-"
		if e.Actor != nil {
			name = *e.Actor
		}
		redeemed := e.Redemption.Actor
		actors = append(actors, fmt.Sprint(e.Type, " ", name, " ", redeemed != nil))
	}
	if got, want := strings.Join(actors, ", "), "redemption.made alice true, redemption.made bob true, "+
		"redemption.made - false, redemption.approved bob true"; got != want {
		t.Errorf("the events: %s, want %s", got, want)
	}
}

func TestAReplayToAnotherActorIsTheFirstReply(t *testing.T) {
	n := startTill(t)
	var replies []string
	for _, person := range []string{"alice", "bob", ""} {
		response, body := n.as(person, n.token, "POST", "/perks/tea/redeem", `{"user_id":"user1"}`, "key-1")
		if replayed := response.Header.Get("Idempotent-Replayed") != ""; replayed != (person != "alice") {
			t.Errorf("as %q it is a replay: %t", person, replayed)
		}
		replies = append(replies, fmt.Sprint(response.StatusCode, string(body)))
	}
	var made api.Redemption
	decode(t, []byte(strings.TrimPrefix(replies[0], "201")), &made)
	if replies[1] != replies[0] || replies[2] != replies[0] || *n.record(made.ID).Actor != "alice" {
		t.Errorf("the replies differ: %q", replies)
	}
}

func TestFourEyes(t *testing.T) {
	for _, on := range []bool{true, false} {
		n := startTill(t, func(c *server.Config) { c.FourEyes = on })
		_, other := n.Caller()
		for i, test := range []struct {
			redeems, decides, verb string
			byOther, isRefused     bool
		}{
			{"alice", "alice", "approve", false, true}, {"alice", "", "approve", false, true},
			{"", "alice", "approve", false, true}, {"", "", "approve", false, true},
			{"alice", "bob", "approve", false, false}, {"alice", "alice", "reject", false, false},
			{"", "", "approve", true, false},
		} {
			made := n.redeem(test.redeems, "spa", fmt.Sprint("user", i))
			token := n.token
			if test.byOther {
				token = other
			}
			response, body := n.as(test.decides, token, "POST", "/redemptions/"+made.ID+"/"+test.verb,
				`{"reason":"so"}`, "")
			isRefused := response.StatusCode == http.StatusForbidden && strings.Contains(string(body), `"four_eyes"`)
			if isRefused != (test.isRefused && on) || !isRefused && response.StatusCode != http.StatusOK {
				t.Errorf("four eyes %t, %+v: %d %s", on, test, response.StatusCode, body)
			}
			if said := response.Header.Get(api.HeaderFourEyes) == "on"; said != on {
				t.Errorf("the response says that four eyes hold: %t, want %t", said, on)
			}
		}
		auto := n.redeem("alice", "tea", "user1")
		response, body := n.as("alice", n.token, "POST", "/redemptions/"+auto.ID+"/void", `{"reason":"so"}`, "")
		if isRefused := response.StatusCode == http.StatusForbidden; isRefused != on {
			t.Errorf("voiding, four eyes %t: %d %s", on, response.StatusCode, body)
		}
	}
}
