package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// story is the listing 1, to which something happens every minute.
type story struct {
	*servertest.Server
	t         *testing.T
	clock     *servertest.Clock
	id, token string
	moments   []moment // after each change
}

// moment is a listing at a time; the zero one except for the time, while it was deleted.
type moment struct {
	at         time.Time
	body, etag string
}

func newStory(t *testing.T) *story {
	t.Helper()
	s, clock, id, token := landlord(t)
	st := &story{s, t, clock, id, token, nil}
	response, body := create(s, token, jsonType, `{"title":"Loft","price_pw":"100"}`, "")
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", response.StatusCode, body)
	}
	st.look()
	return st
}

// look notes the listing, and lets a minute pass.
func (st *story) look() {
	now := moment{at: st.clock.Now()}
	if response, body := st.Get(st.token, st.URL+"/get-property/1"); response.StatusCode == http.StatusOK {
		now.body, now.etag = strings.TrimSpace(string(body)), response.Header.Get("ETag")
	}
	st.moments = append(st.moments, now)
	st.clock.Advance(time.Minute)
}

func (st *story) patch(body string) {
	st.t.Helper()
	response, raw := st.Send(patchRequest(st.Server, st.token, jsonType, body))
	st.replaced(response)
	st.look()
	last := st.moments[len(st.moments)-1]
	if left := response.Header.Get("ETag"); response.StatusCode != http.StatusOK || left != last.etag {
		st.t.Fatalf("%s: %d %s with the ETag %s, want %s", body, response.StatusCode, raw, left, last.etag)
	}
}

// replaced checks that a response names the version that was there before.
func (st *story) replaced(response *http.Response) {
	st.t.Helper()
	want := st.moments[len(st.moments)-1].etag
	if got := response.Header.Get(api.HeaderPreviousETag); got != want {
		st.t.Errorf("%s says that it has replaced %q, want %q", response.Request.Method, got, want)
	}
}

func (st *story) delete() {
	st.t.Helper()
	response, _ := st.Send(st.Request(st.token, "DELETE", st.URL+"/delete-property/1", ""))
	if response.StatusCode != http.StatusOK {
		st.t.Fatalf("deleting: %d", response.StatusCode)
	}
	st.replaced(response)
	st.look()
}

func (st *story) restore(token, body string, header ...string) (*http.Response, string) {
	request := st.Request(token, "POST", st.LiveURL()+"/properties/1/restore", body)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, raw := st.Send(request)
	return response, strings.TrimSpace(string(raw))
}

// restored restores a version, and checks that the listing is as it was at that moment.
func (st *story) restored(body string, as moment) {
	st.t.Helper()
	response, got := st.restore(st.token, body)
	st.look()
	now := st.moments[len(st.moments)-1]
	if response.StatusCode != http.StatusOK || got != as.body || response.Header.Get("ETag") != as.etag ||
		now.body != as.body || now.etag != as.etag {
		st.t.Errorf("%s: %d %s %s\nit is    %s %s\nit was   %s %s", body, response.StatusCode,
			response.Header.Get("ETag"), got, now.etag, now.body, as.etag, as.body)
	}
}

func (st *story) history(query string) []api.PropertyVersion {
	st.t.Helper()
	page, _ := servertest.Read[api.Page[api.PropertyVersion]](st.Server, st.token,
		st.LiveURL()+"/properties/1/history"+query)
	return page.Data
}

func TestAListingsVersionsAreReadAndRestored(t *testing.T) {
	st := newStory(t)
	st.patch(`{"price_pw":"110","title":"Loft <1>"}`)
	st.patch(`{"price_pw":"110"}`) // changes nothing
	record, err := st.Live.Property(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	record.City = "Bath"
	if _, err := st.Live.ImportProperties(t.Context(), servertest.Rows([]store.PropertyRecord{record}), store.Operator,
		st.clock.Now()); err != nil {
		t.Fatal(err)
	}
	st.look()
	st.patch(`{"price_pw":"110.00","lat":51.5}`)
	st.delete()
	whole := st.moments[4].body
	want := []api.PropertyVersion{
		{At: st.moments[5].at, ClientID: &st.id, Action: "deleted", Changed: []string{},
			Before: json.RawMessage(whole), After: json.RawMessage(`null`)},
		{ETag: &st.moments[4].etag, At: st.moments[4].at, ClientID: &st.id, Action: "updated",
			Changed: []string{"price_pw", "lat"}, Before: json.RawMessage(`{"price_pw":"110","lat":null}`),
			After: json.RawMessage(`{"price_pw":"110.00","lat":51.5}`)},
		{ETag: &st.moments[3].etag, At: st.moments[3].at, Action: "imported",
			Changed: []string{"city"}, Before: json.RawMessage(`{"city":""}`),
			After: json.RawMessage(`{"city":"Bath"}`)},
		{ETag: &st.moments[1].etag, At: st.moments[1].at, ClientID: &st.id, Action: "updated",
			Changed: []string{"title", "price_pw"}, Before: json.RawMessage(`{"title":"Loft","price_pw":"100"}`),
			After: json.RawMessage(`{"title":"Loft <1>","price_pw":"110"}`)},
		{ETag: &st.moments[0].etag, At: st.moments[0].at, ClientID: &st.id, Action: "created", Changed: []string{},
			Before: json.RawMessage(`null`), After: json.RawMessage(st.moments[0].body)},
	}
	if diff := cmp.Diff(want, st.history("")); diff != "" {
		t.Errorf("the history: want (-), got (+):\n%s", diff)
	}

	st.restored(``, st.moments[4])
	st.restored(fmt.Sprintf(`{"etag":%q}`, st.moments[1].etag), st.moments[1])
	st.restored(fmt.Sprintf(`{"as_of":%q}`, st.moments[0].at.Format(time.RFC3339)), st.moments[0])
	st.restored(fmt.Sprintf(`{"etag":%q}`, "W/"+st.moments[0].etag), st.moments[0]) // which it is already
	st.delete()
	st.restored(fmt.Sprintf(`{"etag":%q}`, st.moments[3].etag), st.moments[3])
	var events []string
	page, _ := servertest.Read[api.EventPage](st.Server, st.token, st.LiveURL()+"/events?type=property.restored")
	for _, e := range page.Data {
		events = append(events, e.Subject)
	}
	if got := strings.Join(events, " "); got != strings.TrimSpace(strings.Repeat("property/1 ", 4)) {
		t.Errorf("the events of restores are %q", got)
	}
	if n := len(st.history("")); n != 10 {
		t.Errorf("the history has %d entries", n)
	}
	again := st.history("?per_page=3")[:3]
	if again[0].Action != "restored" || string(again[0].Before) != "null" || again[1].Action != "deleted" ||
		again[2].Action != "restored" || string(again[2].Before) != `{"title":"Loft <1>","price_pw":"110"}` {
		t.Errorf("the newest entries are %+v", again)
	}

	for i, then := range st.moments {
		elsewhere := then.at.In(time.FixedZone("", 3600)).Format(time.RFC3339)
		address := st.URL + "/get-property/1?as_of=" + url.QueryEscape(elsewhere)
		response, body := st.Get(st.token, address)
		if then.body == "" {
			if response.StatusCode != http.StatusNotFound || response.Header.Get("X-As-Of") == "" {
				t.Errorf("as of moment %d: %d %s", i, response.StatusCode, body)
			}
			continue
		}
		if strings.TrimSpace(string(body)) != then.body || response.Header.Get("ETag") != then.etag ||
			response.Header.Get("X-As-Of") != then.at.Format(time.RFC3339) {
			t.Errorf("as of moment %d: %s %v, want %s %s", i, body, response.Header, then.body, then.etag)
		}
		request := st.Request(st.token, "GET", address, "")
		request.Header.Set("If-None-Match", then.etag)
		if got := st.Do(request, nil); got != http.StatusNotModified {
			t.Errorf("as of moment %d with its ETag: %d", i, got)
		}
	}
	before := st.moments[0].at.Add(-time.Millisecond).Format(time.RFC3339Nano)
	for _, at := range []string{before, "0001-01-01T00:00:00Z"} {
		request := st.Request(st.token, "GET", st.URL+"/get-property/1?as_of="+at, "")
		wantError(t, st.Server, request, http.StatusNotFound, jsonType, api.CodeNotFound)
		if response, body := st.restore(st.token, `{"as_of":"`+at+`"}`); response.StatusCode != http.StatusNotFound {
			t.Errorf("restored as of %s: %d %s", at, response.StatusCode, body)
		}
	}
}

// TestATimeOfAHistoryIsOfTheVersionThatWasLeft has an operator, whose clock is finer than what the history shows.
func TestATimeOfAHistoryIsOfTheVersionThatWasLeft(t *testing.T) {
	st := newStory(t)
	st.delete()
	restoration := store.PropertyRestoration{ID: 1, By: store.Operator, At: st.clock.Now().Add(456 * time.Microsecond)}
	if _, err := st.Live.RestoreProperty(t.Context(), restoration); err != nil {
		t.Fatal(err)
	}
	st.look()
	for i, want := range []int{http.StatusOK, http.StatusNotFound, http.StatusOK} {
		at := st.history("")[i].At
		for before, status := range []int{want, http.StatusOK + http.StatusNotFound - want} {
			at := at.Add(-time.Duration(before) * time.Millisecond).Format(time.RFC3339Nano)
			if got := st.Status(st.token, "GET", st.URL+"/get-property/1?as_of="+at, ""); got != status {
				t.Errorf("entry %d, %d ms before %s: %d, want %d", i, before, at, got, status)
			}
		}
	}
}

func TestARestoreIsReplayedUnderItsKey(t *testing.T) {
	st := newStory(t)
	st.patch(`{"title":"Wrong"}`)
	version := fmt.Sprintf(`{"etag":%q}`, st.moments[0].etag)
	// A refusal uses up no key.
	if response, body := st.restore(st.token, ``, "Idempotency-Key", "k"); response.StatusCode != http.StatusConflict ||
		response.Header.Get("Idempotency-Key") != "k" || !strings.Contains(body, `"code":"not_deleted"`) {
		t.Errorf("a listing that lives: %d %s", response.StatusCode, body)
	}
	first, body := st.restore(st.token, version, "Idempotency-Key", "k", "If-Match", st.moments[1].etag)
	if first.StatusCode != http.StatusOK || body != st.moments[0].body ||
		first.Header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("%d %s", first.StatusCode, body)
	}
	st.look()
	st.patch(`{"title":"Later"}`)
	entries := len(st.history(""))
	again, replayed := st.restore(st.token, version, "Idempotency-Key", "k", "If-Match", st.moments[1].etag)
	if again.StatusCode != http.StatusOK || replayed != body || again.Header.Get("Idempotent-Replayed") != "true" ||
		again.Header.Get("ETag") != first.Header.Get("ETag") || len(st.history("")) != entries {
		t.Errorf("the replay is %d %s %v", again.StatusCode, replayed, again.Header)
	}
	if response, refusal := st.restore(st.token, `{}`, "Idempotency-Key", "k"); response.StatusCode != 422 ||
		!strings.Contains(refusal, "idempotency_key_reused") {
		t.Errorf("another version under the key: %d %s", response.StatusCode, refusal)
	}
	if response, refusal := create(st.Server, st.token, jsonType, `{"title":"x","price_pw":"1"}`,
		"k"); response.StatusCode != 422 || !strings.Contains(refusal, "idempotency_key_reused") {
		t.Errorf("a creation under the key: %d %s", response.StatusCode, refusal)
	}
}

func TestIfMatchGuardsRestores(t *testing.T) {
	st := newStory(t)
	st.patch(`{"title":"Wrong"}`)
	first, wrong := st.moments[0].etag, st.moments[1].etag
	version := fmt.Sprintf(`{"etag":%q}`, first)
	for _, step := range []struct {
		body, ifMatch string
		want          int
	}{
		{version, first, http.StatusPreconditionFailed}, {version, wrong, http.StatusOK},
		{``, first, http.StatusConflict}, {``, wrong, http.StatusPreconditionFailed},
	} {
		response, body := st.restore(st.token, step.body, "If-Match", step.ifMatch)
		if response.StatusCode != step.want {
			t.Errorf("%s with %s: %d %s", step.body, step.ifMatch, response.StatusCode, body)
		}
	}
	st.look()
	st.delete()
	if response, body := st.restore(st.token, ``, "If-Match", wrong); response.StatusCode != 412 {
		t.Errorf("a deleted listing with another ETag: %d %s", response.StatusCode, body)
	}
	st.restored(``, st.moments[0])
}

// TestOthersLearnNothingOfAListingsPast asks as a client that may read and write every listing of its own.
func TestOthersLearnNothingOfAListingsPast(t *testing.T) {
	st := newStory(t)
	other := st.Token()
	then := "?as_of=" + st.moments[0].at.Format(time.RFC3339)
	ask := func(id string, status int, code api.Code) {
		t.Helper()
		for _, r := range []struct{ method, address, mediaType string }{
			{"GET", st.URL + "/get-property/" + id + then, jsonType},
			{"GET", st.URL + "/get-property/" + id + "?as_of=0002-01-01T00:00:00Z", jsonType},
			{"GET", st.LiveURL() + "/properties/" + id + "/history", problemType},
			{"POST", st.LiveURL() + "/properties/" + id + "/restore", problemType},
		} {
			_, refusal := wantError(t, st.Server, st.Request(other, r.method, r.address, ""), status, r.mediaType, code)
			if strings.Contains(refusal.Response, st.id) || strings.Contains(refusal.Response, "Loft") {
				t.Errorf("%s %s: %s", r.method, r.address, refusal.Response)
			}
		}
	}
	ask("1", http.StatusForbidden, api.CodeForbidden)
	st.delete()
	ask("1", http.StatusForbidden, api.CodeForbidden)
	for _, id := range []string{"2", "0", "-1", "x", "9223372036854775807", "9223372036854775808"} {
		ask(id, http.StatusNotFound, api.CodeNotFound)
	}
	for _, version := range []string{`{"etag":"\"none\""}`, `{"as_of":"0002-01-01T00:00:00Z"}`} {
		if response, _ := st.restore(other, `{"etag":7}`); response.StatusCode != http.StatusForbidden {
			t.Errorf("another client with an invalid version: %d", response.StatusCode)
		}
		if response, body := st.restore(other, version); response.StatusCode != http.StatusForbidden {
			t.Errorf("another client restores %s: %d %s", version, response.StatusCode, body)
		}
		if response, body := st.restore(st.token, version); response.StatusCode != http.StatusNotFound {
			t.Errorf("the owner restores %s: %d %s", version, response.StatusCode, body)
		}
	}
	for _, rest := range []string{"/history", "/restore"} {
		for _, method := range []string{"GET", "POST"} {
			got := st.Status(st.token, method, st.SandboxURL()+"/properties/1"+rest, "")
			if got != http.StatusNotFound {
				t.Errorf("%s %s in the sandbox: %d", method, rest, got)
			}
		}
	}
}

func TestInvalidVersionsAreRefusedByName(t *testing.T) {
	st := newStory(t)
	st.delete()
	future := st.clock.Now().Add(time.Second).Format(time.RFC3339)
	for body, want := range map[string]string{
		`{"etag":"none"}`:                                 "etag must be an ETag with its quotes",
		`{"etag":"\"a\", \"b\""}`:                         "etag must be an ETag",
		`{"etag":"*"}`:                                    "etag must be an ETag",
		`{"etag":null}`:                                   "etag must be an ETag",
		`{"as_of":null}`:                                  "as_of must be an RFC 3339 time",
		`{"as_of":1767225600}`:                            "as_of must be an RFC 3339 time",
		`{"as_of":"` + future + `"}`:                      "as_of must not be in the future",
		`{"etag":"\"a\"","as_of":"2026-01-01T00:00Z"}`:    "as_of must be an RFC 3339 time",
		`{"etag":"\"a\"","as_of":"2026-01-01T00:00:00Z"}`: "as_of must not be given together with etag",
		`{"version":1}`:                                   "version is not a field",
		`{"etag":"\"a\"","etag":"\"a\""}`:                 "etag",
	} {
		response, raw := st.restore(st.token, body)
		var refusal api.ErrorBody
		decode(t, []byte(raw), &refusal)
		if response.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(refusal.Errors.String(), want) {
			t.Errorf("%s: %d %s, want %q", body, response.StatusCode, raw, want)
		}
	}
	for _, query := range []string{"as_of=" + future, "as_of=", "as_of=yesterday", "as_of=2026-01-01T00:00:00+01:00",
		"as_of=2026-01-01T00:00:00Z&as_of=2026-01-01T00:00:00Z", "asOf=2026-01-01T00:00:00Z"} {
		request := st.Request(st.token, "GET", st.URL+"/get-property/1?"+query, "")
		_, refusal := wantError(t, st.Server, request, 422, jsonType, api.CodeValidationFailed)
		if name, _, _ := strings.Cut(query, "="); len(refusal.Errors[name]) == 0 {
			t.Errorf("%s: %v", query, refusal.Errors)
		}
	}
	if got := st.Status(st.token, "POST", st.LiveURL()+"/properties/1/restore", `[]`); got != http.StatusBadRequest {
		t.Errorf("an array: %d", got)
	}
	st.restored(`{}`, st.moments[0])
}

func TestManyVersionsAreFollowedByTheirLinks(t *testing.T) {
	st := newStory(t)
	for i := range store.MaxCounted + 20 {
		change := patchRequest(st.Server, st.token, jsonType, fmt.Sprintf(`{"bedrooms":%d}`, i+1))
		if got := st.Do(change, nil); got != http.StatusOK {
			t.Fatalf("change %d: %d", i, got)
		}
	}
	address, next, read := st.LiveURL()+"/properties/1/history?per_page=50", "", 0
	for page, response := range walk[api.PropertyVersion](st.Server, st.token, address) {
		if page.Meta.MoreThan != store.MaxCounted || response.Header.Get("X-Total-Count") != "" {
			t.Errorf("it is counted: %+v", page.Meta)
		}
		for _, version := range page.Data {
			want := fmt.Sprintf(`{"bedrooms":%d}`, store.MaxCounted+20-read)
			if string(version.After) != want && version.Action != api.VersionCreated {
				t.Fatalf("entry %d is %s, want %s", read, version.After, want)
			}
			read++
		}
		if next == "" {
			next = links(response.Header)["next"]
		}
		if read == 50 { // what is added meanwhile moves nothing
			st.look()
			st.patch(`{"bedrooms":0}`)
		}
	}
	if read != store.MaxCounted+21 {
		t.Errorf("the pages have %d versions", read)
	}
	cursor, err := url.Parse(next)
	if err != nil {
		t.Fatal(err)
	}
	place := cursor.Query().Get("after")
	raw, _ := base64.RawURLEncoding.DecodeString(place)
	var parts []string
	if decode(t, raw, &parts); len(parts) != 2 || len(parts[1]) < 20 {
		t.Errorf("the cursor tells how much all partners do: %s", raw)
	}
	create(st.Server, st.token, jsonType, `{"title":"Flat","price_pw":"100"}`, "")
	st.ImportUsers("1", "2")
	users, _ := st.Get(st.Token(), st.LiveURL()+"/users?per_page=1")
	ofUsers, _ := url.Parse(links(users.Header)["next"])
	for query, want := range map[string]string{
		"2/history?after=" + place:                                                    "after",
		"1/history?after=" + ofUsers.Query().Get("after"):                             "after",
		"1/history?after=" + base64.RawURLEncoding.EncodeToString([]byte(`["","1"]`)): "after",
		"1/history?after=x":                                                           "after",
		"1/history?page=9":                                                            "page",
		"1/history?page=1000000000&per_page=100":                                      "page",
		fmt.Sprintf("1/history?page=%d&per_page=100", int64(api.MaxPage)):             "page",
		"1/history?page=0":                                                            "page",
		"1/history?per_page=101":                                                      "per_page",
	} {
		request := st.Request(st.token, "GET", st.LiveURL()+"/properties/"+query, "")
		_, refusal := wantError(t, st.Server, request, 422, problemType, api.CodeValidationFailed)
		if len(refusal.Errors[want]) == 0 {
			t.Errorf("%s: %v", query, refusal.Errors)
		}
	}
	if far := st.history("?page=1000000000&per_page=1&after=" + place); len(far) != 1 {
		t.Errorf("a page that gives itself a high number has %d versions", len(far))
	}
}

// TestAHistorySharesWithOtherLists has a store that says what it is asked to do.
func TestAHistorySharesWithOtherLists(t *testing.T) {
	var reads []string
	s := servertest.Start(t, func(c *server.Config) { c.Live = costlyHistory{c.Live, &reads} })
	request := s.Request(s.Token(), "GET", s.LiveURL()+"/properties/1/history", "")
	wantError(t, s, request, http.StatusUnprocessableEntity, problemType, api.CodeTooExpensive)
	if got := strings.Join(reads, ", "); got != "5s of few, 5s of many" {
		t.Errorf("the store may read %s", got)
	}
}

type costlyHistory struct {
	store.Store
	reads *[]string
}

func (h costlyHistory) PropertyHistory(
	ctx context.Context, _ store.PropertyHistoryQuery,
) (list store.List[store.PropertyVersion], err error) {
	within, _ := store.ListTime(ctx)
	what := "many"
	err = store.ErrTimeLimit
	if store.CheckCost(ctx, 1<<40) != nil {
		what, err = "few", store.ErrCostly
	}
	*h.reads = append(*h.reads, fmt.Sprint(within, " of ", what))
	return list, err
}

// TestFormerVersionsAreFoundOnlyAFewAtOnce has a store that finds a version when the test lets it.
func TestFormerVersionsAreFoundOnlyAFewAtOnce(t *testing.T) {
	for name, r := range map[string]struct{ method, path, body string }{
		"as of":               {"GET", "/get-property/1?as_of=2026-01-01T00:00:00Z", ""},
		"restore by the ETag": {"POST", "/partners/properties/1/restore", `{"etag":"\"1\""}`},
		"restore by the time": {"POST", "/partners/properties/1/restore", `{"as_of":"2026-01-01T00:00:00Z"}`},
	} {
		t.Run(name, func(t *testing.T) {
			held := &heldVersions{find: make(chan struct{})}
			s := servertest.Start(t, func(c *server.Config) {
				held.Store = c.Live
				c.Live = held
			})
			const requests = 200
			token, statuses := s.Token(), make(chan int, requests)
			for range requests {
				go func() { statuses <- s.Status(token, r.method, s.URL+r.path, r.body) }()
			}
			if status := <-statuses; status != http.StatusTooManyRequests { // the others are held, or wait
				t.Errorf("status %d while others are held", status)
			}
			close(held.find)
			for range requests - 1 {
				<-statuses
			}
			if most := held.most.Load(); most < 1 || most > held.limit() {
				t.Errorf("%d are found at once, want at most %d", most, held.limit())
			}
		})
	}
}

type heldVersions struct {
	store.Store
	find          chan struct{}
	running, most atomic.Int64
}

func (h *heldVersions) limit() int64 { return int64(max(2, h.Stats().ReadConnections()/4)) }

func (h *heldVersions) wait() error {
	running := h.running.Add(1)
	defer h.running.Add(-1)
	for most := h.most.Load(); running > most && !h.most.CompareAndSwap(most, running); most = h.most.Load() {
	}
	if running <= h.limit() {
		<-h.find
	}
	return store.PropertyNotFound(1)
}

func (h *heldVersions) PropertyAsOf(
	context.Context, int64, time.Time, func(string) error,
) (record store.PropertyRecord, err error) {
	return record, h.wait()
}

func (h *heldVersions) RestoreProperty(
	context.Context, store.PropertyRestoration,
) (restored store.RestoredProperty, err error) {
	return restored, h.wait()
}
