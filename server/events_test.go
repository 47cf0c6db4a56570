package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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

// events returns a page of events.
func (d *desks) events(token, query string) api.EventPage {
	d.t.Helper()
	var page api.EventPage
	if status := d.Do(d.Request(token, "GET", d.LiveURL()+"/events"+query, ""), &page); status != http.StatusOK {
		d.t.Fatalf("GET /events%s is %d", query, status)
	}
	return page
}

func after(position string) string { return "?after=" + url.QueryEscape(position) }

// described are the type and the subject of each event, with the names of perks for the redemptions of them.
func (d *desks) described(events []api.Event) []string {
	names := map[string]string{}
	for i := range d.made {
		for perk, redemption := range d.made[i] {
			names["redemption/"+redemption.ID] = fmt.Sprintf("%s of user%d", perk, i)
		}
	}
	list := []string{}
	for _, e := range events {
		subject := e.Subject
		if name := names[subject]; name != "" {
			subject = name
		}
		list = append(list, string(e.Type)+" "+subject)
	}
	return list
}

func TestAClientSeesTheEventsOfWhatItMayRead(t *testing.T) {
	d := newDesks(t)
	start := d.events(d.tokens[0], "").Next
	lead := d.Token(api.ScopeRedemptionsRead, api.ScopeRedemptionsReadAll)
	owner, writer := d.Caller(api.ScopePropertiesWrite)
	d.ImportProperties(owner, api.Property{ID: 1, Title: "Flat"}, api.Property{ID: 2, Title: "House"})
	d.decide(d.tokens[0], d.made[0]["spa"].ID, "approve", "", "")
	d.decide(d.tokens[0], d.made[0]["spa"].ID, "void", `{"reason":"a mistake"}`, "")
	d.decide(d.tokens[1], d.made[1]["spa"].ID, "reject", `{"reason":"too late"}`, "")
	d.Send(d.Request(writer, "PATCH", d.Root()+"/v2/update-property/1", `{"title":"Attic"}`))
	d.Send(d.Request(writer, "DELETE", d.Root()+"/v2/delete-property/2", ""))
	stock := int64(7)
	d.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}, Stock: &stock})

	first := []string{"redemption.approved spa of user0", "redemption.voided spa of user0"}
	second := []string{"redemption.rejected spa of user1"}
	properties := []string{"property.changed property/1", "property.deleted property/2"}
	for _, test := range []struct {
		what, token string
		want        []string
	}{
		{"the first desk", d.tokens[0], append(slices.Clone(first), "perk.changed perk/tea", "perks.imported perks")},
		{"the second desk", d.tokens[1], append(slices.Clone(second), "perk.changed perk/tea", "perks.imported perks")},
		{"the lead", lead, slices.Concat(first, second)},
		{"who may read all, but no redemptions", d.Token(api.ScopeRedemptionsReadAll), []string{}},
		{"the owner", writer, properties},
		{"another owner", d.Token(api.ScopePropertiesWrite), []string{}},
		{"a reader of properties", d.Token(api.ScopePropertiesRead),
			append([]string{"properties.imported properties"}, properties...)},
		{"who may only redeem", d.Token(api.ScopePerksRedeem), []string{}},
	} {
		page := d.events(test.token, after(start))
		if diff := cmp.Diff(test.want, d.described(page.Data)); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", test.what, diff)
		}
		if diff := cmp.Diff([]api.Event{}, d.events(test.token, after(page.Next)).Data); diff != "" {
			t.Errorf("%s, again: want (-), got (+):\n%s", test.what, diff)
		}
		for query, position := start, ""; query != ""; query = position { // one at a time
			one := d.events(test.token, after(query)+"&per_page=1")
			position = ""
			if len(one.Data) == 1 {
				if position = one.Next; d.described(one.Data)[0] != test.want[0] {
					t.Errorf("%s: want %s, got %s", test.what, test.want[0], d.described(one.Data))
				}
				test.want = test.want[1:]
			}
		}
		if len(test.want) > 0 {
			t.Errorf("%s: one at a time there are no %q", test.what, test.want)
		}
	}

	for _, query := range []string{after(start) + "&", "?", "?per_page=1&"} {
		page := d.events(lead, query+"type=redemption.voided,perk.changed")
		if diff := cmp.Diff([]string{"redemption.voided spa of user0"}, d.described(page.Data)); diff != "" {
			t.Errorf("of a type, %s: want (-), got (+):\n%s", query, diff)
		}
	}

	record, _ := d.read(d.tokens[0], d.made[0]["spa"].ID)
	recent := d.events(lead, "?per_page=2").Data
	if diff := cmp.Diff(&record, recent[0].Redemption,
		cmp.Transformer("text", func(m json.RawMessage) string { return string(m) })); diff != "" ||
		recent[0].Type != api.EventRedemptionVoided {
		t.Errorf("the newest but one: %s, want the record (-), got (+):\n%s", recent[0].Type, diff)
	}
	if changed := d.events(writer, after(start)).Data; changed[0].Property.Title != "Attic" ||
		changed[1].Property.Title != "House" {
		t.Errorf("the properties are %+v and %+v", changed[0].Property, changed[1].Property)
	}
}

func TestAnUnknownPositionIsRefused(t *testing.T) {
	d := newDesks(t)
	now := d.events(d.tokens[0], "").Next
	var sandbox api.EventPage
	if status := d.Do(d.Request(d.tokens[0], "GET", d.SandboxURL()+"/events", ""), &sandbox); status != http.StatusOK {
		t.Fatalf("the events of the sandbox are %d", status)
	}
	for _, position := range []string{
		"", "x", "1.1", "999999.999999", now[1:], now[:len(now)-1], now + "A", now + now, sandbox.Next,
	} {
		for _, stream := range []bool{false, true} {
			request := d.Request(d.tokens[0], "GET", d.LiveURL()+"/events"+after(position), "")
			if stream {
				request.Header.Set("Accept", "text/event-stream")
			}
			response, body := d.Send(request)
			if response.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(body), `"after"`) {
				t.Errorf("%q: %d %s", position, response.StatusCode, body)
			}
		}
	}
}

func TestWaitingEndsWithTheFirstEventThatTheCallerMaySee(t *testing.T) {
	d := newDesks(t)
	other := servertest.Start(t, servertest.WithClock(d.clock), func(c *server.Config) { c.Live = d.Live })
	start := d.events(d.tokens[0], "").Next
	pages := make(chan api.EventPage)
	go func() { pages <- d.events(d.tokens[0], after(start)+"&wait=10") }()
	d.decide(d.tokens[1], d.made[1]["spa"].ID, "approve", "", "")
	(&desks{Server: other, t: t}).decide(d.tokens[0], d.made[0]["spa"].ID, "approve", "", "") // through another server
	page := <-pages
	if diff := cmp.Diff([]string{"redemption.approved spa of user0"}, d.described(page.Data)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	begin := time.Now()
	if page := d.events(d.tokens[0], after(page.Next)+"&wait=1"); len(page.Data) != 0 ||
		time.Since(begin) < time.Second {
		t.Errorf("after %s of waiting there are the events %q", time.Since(begin), d.described(page.Data))
	}
}

// stream reads Server-Sent Events.
type stream struct {
	t     *testing.T
	body  *bufio.Scanner
	last  string // position
	close func()
}

// listen opens a stream that begins after a position, or now if it is "", of all types or those given.
func (d *desks) listen(token, after string, types ...string) *stream {
	d.t.Helper()
	request := d.Request(token, "GET", d.LiveURL()+"/events", "")
	if len(types) > 0 {
		request.URL.RawQuery = "type=" + strings.Join(types, ",")
	}
	request.Header.Set("Accept", "text/event-stream")
	if after != "" {
		request.Header.Set("Last-Event-ID", after)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		d.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		d.t.Fatalf("the stream begins with %d and %s", response.StatusCode, response.Header)
	}
	d.t.Cleanup(func() { response.Body.Close() })
	s := &stream{t: d.t, body: bufio.NewScanner(response.Body), close: func() { response.Body.Close() }}
	return s
}

// next returns the next event, or false at the end of the stream.
func (s *stream) next() (e api.Event, more bool) {
	s.t.Helper()
	var data, kind string
	for s.body.Scan() {
		name, value, _ := strings.Cut(s.body.Text(), ": ")
		switch {
		case name == "id":
			s.last = value
		case name == "event":
			kind = value
		case name == "data":
			data = value
		case data != "":
			if err := json.Unmarshal([]byte(data), &e); err != nil || string(e.Type) != kind || e.Cursor != s.last {
				s.t.Fatalf("the event %s is of type %q at %q: %v", data, kind, s.last, err)
			}
			return e, true
		}
	}
	return e, false
}

func TestAnInterruptedStreamContinues(t *testing.T) {
	d := newDesks(t)
	s := d.listen(d.tokens[0], d.events(d.tokens[0], "").Next)
	want := []string{}
	users := []string{"ann", "bob", "cid", "dan", "eve"}
	for _, user := range users {
		var made api.Redemption
		d.Do(redeemRequest(d.Server, d.tokens[0], "spa", `{"user_id":"`+user+`"}`, ""), &made)
		d.decide(d.tokens[0], made.ID, "approve", "", "")
		want = append(want, "redemption.made redemption/"+made.ID, "redemption.approved redemption/"+made.ID)
	}
	var got []string
	var cursors []string
	for range want {
		e, _ := s.next()
		got, cursors = append(got, d.described([]api.Event{e})...), append(cursors, e.Cursor)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("want (-), got (+):\n%s", diff)
	}
	s.close()
	for i, cursor := range cursors {
		rest := []string{}
		// a page may end early
		for page := d.events(d.tokens[0], after(cursor)); len(page.Data) > 0; page = d.events(d.tokens[0],
			after(page.Next)) {
			rest = append(rest, d.described(page.Data)...)
		}
		if diff := cmp.Diff(append([]string{}, want[i+1:]...), rest); diff != "" {
			t.Errorf("after %d events: want (-), got (+):\n%s", i+1, diff)
		}
		if i+1 < len(want) {
			again := d.listen(d.tokens[0], cursor)
			if e, _ := again.next(); d.described([]api.Event{e})[0] != want[i+1] {
				t.Errorf("after %d events the stream continues with %s", i+1, e.Subject)
			}
			again.close()
		}
	}
}

func TestAStreamOfOneType(t *testing.T) {
	d := newDesks(t)
	s := d.listen(d.tokens[0], d.events(d.tokens[0], "").Next, "redemption.voided")
	d.decide(d.tokens[0], d.made[0]["spa"].ID, "approve", "", "")
	d.decide(d.tokens[0], d.made[0]["spa"].ID, "void", `{"reason":"a mistake"}`, "")
	if e, _ := s.next(); e.Type != api.EventRedemptionVoided {
		t.Errorf("the first event is %+v", e)
	}
}

func TestAStreamEndsWhenItsCallerLosesAccess(t *testing.T) {
	d := newDesks(t)
	s := d.listen(d.tokens[0], "")
	d.decide(d.tokens[0], d.made[0]["spa"].ID, "approve", "", "")
	if e, more := s.next(); !more || e.Type != api.EventRedemptionApproved {
		t.Fatalf("the first event is %+v", e)
	}
	d.clock.Advance(time.Minute)
	lead := d.Token(api.ScopeRedemptionsRead, api.ScopeRedemptionsReadAll, api.ScopeRedemptionsVoid)
	if err := d.Live.SetClientDisabled(t.Context(), d.id[0], true, store.Operator, d.clock.Now()); err != nil {
		t.Fatal(err)
	}
	d.decide(lead, d.made[0]["spa"].ID, "void", `{"reason":"left"}`, "")
	if e, more := s.next(); more {
		t.Errorf("a disabled client was sent %+v", e)
	}
}

// TestASilentStreamEndsSoonAfterItsCallerIsDisabled has nothing to send, which would make the server look at it.
func TestASilentStreamEndsSoonAfterItsCallerIsDisabled(t *testing.T) {
	const promised = 5 * time.Second
	d := newDesks(t)
	s := d.listen(d.tokens[0], "")
	d.clock.Advance(time.Minute)
	if err := d.Live.SetClientDisabled(t.Context(), d.id[0], true, store.Operator, d.clock.Now()); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if e, more := s.next(); more {
		t.Errorf("a disabled client was sent %+v", e)
	}
	if took := time.Since(begun); took > promised {
		t.Errorf("the stream ended after %s, want at most %s", took, promised)
	}
}

// TestAWaitInWhichNothingHappensKeepsItsPosition waits for longer than the server does between two looks at the caller.
func TestAWaitInWhichNothingHappensKeepsItsPosition(t *testing.T) {
	d := newDesks(t)
	start := d.events(d.tokens[0], "").Next
	if page := d.events(d.tokens[0], after(start)+"&wait=3"); page.Next != start || len(page.Data) != 0 {
		t.Errorf("after %q: %+v", start, page)
	}
	d.decide(d.tokens[0], d.made[0]["spa"].ID, "approve", "", "")
	if page := d.events(d.tokens[0], after(start)); len(page.Data) != 1 {
		t.Errorf("later: %+v", page)
	}
}

func TestAStreamBeginsNowWithoutAPosition(t *testing.T) {
	d := newDesks(t)
	s := d.listen(d.tokens[0], "")
	d.decide(d.tokens[0], d.made[0]["spa"].ID, "reject", `{"reason":"no"}`, "")
	if e, _ := s.next(); e.Type != api.EventRedemptionRejected {
		t.Errorf("the first event is %+v", e)
	}
}

func TestARestoredPropertyHasAnEventOfItsOwn(t *testing.T) {
	d := newDesks(t)
	owner, token := d.Caller(api.ScopePropertiesWrite)
	d.ImportProperties(owner, api.Property{ID: 1, Title: "Flat"})
	start := d.events(token, "").Next
	if status := d.Do(d.Request(token, "DELETE", d.URL+"/delete-property/1", ""), nil); status != http.StatusOK {
		t.Fatalf("deleting is %d", status)
	}
	if _, err := d.Live.RestoreProperty(t.Context(), 1, store.Operator, time.Now()); err != nil {
		t.Fatal(err)
	}
	want := []string{"property.deleted property/1", "property.restored property/1"}
	if diff := cmp.Diff(want, d.described(d.events(token, after(start)).Data)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
