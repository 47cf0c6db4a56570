package server_test

import (
	"bufio"
	"context"
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
	page, _ := servertest.Read[api.EventPage](d.Server, token, d.LiveURL()+"/events"+query)
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
	d.Status(writer, "PATCH", d.URL+"/update-property/1", `{"title":"Attic"}`)
	d.Status(writer, "DELETE", d.URL+"/delete-property/2", "")
	if _, err := d.Live.RestoreProperty(t.Context(), store.PropertyRestoration{
		ID: 2, By: store.Operator, At: time.Now(),
	}); err != nil {
		t.Fatal(err)
	}
	d.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}, Stock: new(int64(7))})

	first := []string{"redemption.approved spa of user0", "redemption.voided spa of user0"}
	second := []string{"redemption.rejected spa of user1"}
	perks := []string{"perk.changed perk/tea", "perks.imported perks"}
	properties := []string{"property.changed property/1", "property.deleted property/2",
		"property.restored property/2"}
	for _, test := range []struct {
		what, token string
		want        []string
	}{
		{"the first desk", d.tokens[0], slices.Concat(first, perks)},
		{"the second desk", d.tokens[1], slices.Concat(second, perks)},
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
		got := []string{}
		for one := d.events(test.token, after(start)+"&per_page=1"); len(one.Data) > 0; one = d.events(test.token,
			after(one.Next)+"&per_page=1") {
			got = append(got, d.described(one.Data)...)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s, one at a time: want (-), got (+):\n%s", test.what, diff)
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
	sandbox, _ := servertest.Read[api.EventPage](d.Server, d.tokens[0], d.SandboxURL()+"/events")
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

// slowStore needs more time for two looks at the audit log than the shortest wait.
type slowStore struct{ store.Store }

func (s slowStore) NextAudit(
	ctx context.Context, after store.AuditPlace, upTo store.AuditPosition, most store.AuditBound,
) (store.AuditBatch, error) {
	select {
	case <-time.After(600 * time.Millisecond):
		return s.Store.NextAudit(ctx, after, upTo, most)
	case <-ctx.Done():
		return store.AuditBatch{}, ctx.Err()
	}
}

func TestAShortWaitReturnsWhatASlowDatabaseHas(t *testing.T) {
	d := newDesks(t)
	slow := servertest.Start(t, servertest.WithClock(d.clock), func(c *server.Config) { c.Live = slowStore{d.Live} })
	start := d.events(d.tokens[0], "").Next
	d.decide(d.tokens[0], d.made[0]["spa"].ID, "approve", "", "")
	page := (&desks{Server: slow, t: t}).events(d.tokens[0], after(start)+"&wait=1")
	if len(page.Data) != 1 {
		t.Errorf("got %+v", page)
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
	begin := time.Now() // the server looks at the caller meanwhile
	waited := d.events(d.tokens[0], after(page.Next)+"&wait=3")
	if len(waited.Data) != 0 || time.Since(begin) < 3*time.Second {
		t.Errorf("after %q and %s of waiting: %+v", page.Next, time.Since(begin), waited)
	}
	d.decide(d.tokens[0], d.made[0]["tea"].ID, "void", `{"reason":"a mistake"}`, "")
	for _, position := range []string{page.Next, waited.Next} { // a wait may end behind what others did
		if later := d.events(d.tokens[0], after(position)); len(later.Data) != 1 {
			t.Errorf("after %q: %+v", position, later)
		}
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
	return &stream{t: d.t, body: bufio.NewScanner(response.Body), close: func() { response.Body.Close() }}
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

// TestAStreamEndsWhenItsCallerLosesAccess has something to send, or nothing that would make the server look at the
// caller.
func TestAStreamEndsWhenItsCallerLosesAccess(t *testing.T) {
	const promised = 5 * time.Second
	for _, isSilent := range []bool{false, true} {
		d := newDesks(t)
		s := d.listen(d.tokens[0], "")
		d.decide(d.tokens[0], d.made[0]["spa"].ID, "approve", "", "")
		if e, more := s.next(); !more || e.Type != api.EventRedemptionApproved { // a stream begins now
			t.Fatalf("the first event is %+v", e)
		}
		d.clock.Advance(time.Minute)
		lead := d.Token(api.ScopeRedemptionsRead, api.ScopeRedemptionsReadAll, api.ScopeRedemptionsVoid)
		if err := d.Live.SetClientDisabled(t.Context(), d.id[0], true, store.Operator, d.clock.Now()); err != nil {
			t.Fatal(err)
		}
		if !isSilent {
			d.decide(lead, d.made[0]["spa"].ID, "void", `{"reason":"left"}`, "")
		}
		begun := time.Now()
		if e, more := s.next(); more {
			t.Errorf("a disabled client was sent %+v", e)
		}
		if took := time.Since(begun); took > promised {
			t.Errorf("the stream ended after %s, want at most %s", took, promised)
		}
	}
}
