package storm

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cmd/perksd/sample"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

var (
	requests = flag.Int("requests", 3000, "how many requests the storm sends")
	seed     = flag.Uint64("seed", 7, "which requests")
	only     = flag.Int("only", -1, "send the request of this `number` alone, and show it with its response")
)

const (
	workers     = 16
	maxFindings = 20 // reported one by one
)

// TestAStormFindsNothing sends generated requests to a server. It fails if a response is a server error or does not
// match the API description, if the server panics or logs a secret, if memory grows, or if anything was redeemed twice.
func TestAStormFindsNothing(t *testing.T) {
	log := &watchedLog{T: t}
	metrics := prometheus.NewRegistry()
	s := servertest.Start(t, servertest.LogTo(log), func(c *server.Config) {
		c.Metrics = metrics
		// Every request has an address of its own, so that some of them meet the limit of failed logins and not all.
		c.BehindProxy, c.TokenTTL = true, server.MaxTokenTTL
		c.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	g := newGenerator(*seed, fill(t, s))
	log.watch(g.fixtures)
	address := strings.TrimPrefix(s.Root(), "http://")
	if *only >= 0 {
		show(t, address, g.request(*only))
		return
	}
	var next, findings atomic.Int64
	var sending sync.WaitGroup
	var mu sync.Mutex
	statuses, heap := map[int]int{}, []int{}
	every := max(1, *requests/50)
	for range workers {
		sending.Go(func() {
			w := &wire{address: address}
			defer w.close()
			for n := int(next.Add(1)) - 1; n < *requests && t.Context().Err() == nil; n = int(next.Add(1)) - 1 {
				r := g.request(n)
				sent, a, err := w.send(r)
				what, status := "", 0
				switch {
				case err != nil:
					what = fmt.Sprintf("no response: %v", err)
				case a.Response != nil:
					what, status = verify(r, sent, a, address), a.StatusCode
				}
				if what != "" && findings.Add(1) <= maxFindings {
					t.Errorf("request %d (show it with -seed %d -only %[1]d): %[3]s", n, *seed, what)
				}
				mu.Lock()
				statuses[status]++
				if n%every == 0 {
					heap = append(heap, heapKiB()-failedEventsKiB(t, metrics))
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	t.Logf("%d requests, seed %d; by status, where 0 is a connection closed without a response: %v", *requests, *seed,
		statuses)
	t.Logf("the heap in KiB without %d KiB for events that webhooks failed to deliver, over time: %v",
		failedEventsKiB(t, metrics), heap)
	if n := findings.Load(); n > maxFindings {
		t.Errorf("%d wrong responses in all", n)
	}
	if grown := growth(heap); grown != "" {
		t.Error(grown)
	}
	for name, db := range map[string]store.Store{"live": s.Live, "sandbox": s.Sandbox} {
		countRedemptions(t, name, db)
	}
	checkHistories(t, s, g.fixtures)
}

// fill makes clients, records and redemptions, and returns them.
func fill(t *testing.T, s *servertest.Server) fixtures {
	t.Helper()
	f := fixtures{secrets: map[string]string{}, tokens: map[string]string{}}
	scopes, err := api.ParseScopes("perks:read,perks:redeem,perks:write,properties:create,properties:write," +
		"redemptions:read,redemptions:decide,redemptions:void,webhooks:write")
	if err != nil {
		t.Fatal(err)
	}
	for id, change := range map[string]func(*store.Client){
		"owner":   func(*store.Client) {},
		"other":   func(c *store.Client) { c.Scopes = scopes },
		"reader":  func(c *store.Client) { c.Scopes = api.Scopes{api.ScopePerksRead, api.ScopePropertiesRead} },
		"sandbox": func(c *store.Client) { c.SandboxOnly = true },
	} {
		_, f.secrets[id] = s.ClientWith(func(c *store.Client) { c.ID = id; change(c) })
		f.tokens[id] = s.TokenFor(id, f.secrets[id])
	}
	now := time.Now()
	data := sample.Data{Seed: 1, Day: now}
	must := func(_ store.Imported, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n, db := range []store.Store{s.Live, s.Sandbox} {
		must(db.ImportPerks(t.Context(), data.Perks(1000), func() string { return "audit" }, store.Operator, now))
		must(db.ImportUsers(t.Context(), data.Users(500), store.Operator, now))
		if n == 0 {
			must(db.ImportProperties(t.Context(), data.Properties(4000, "owner"), store.Operator, now))
		}
	}
	for perk := range data.Perks(1000) {
		f.perks = append(f.perks, perk.ID)
	}
	for user := range data.Users(500) {
		f.users = append(f.users, user.ID)
	}
	for property := range data.Properties(4000, "owner") {
		f.properties = append(f.properties, fmt.Sprint(property.ID))
	}
	for _, property := range f.properties[:20] {
		for n := range 3 {
			response, _ := s.Send(s.Request(f.tokens["owner"], http.MethodPatch, s.URL+"/update-property/"+property,
				fmt.Sprintf(`{"bedrooms":%d}`, n+1)))
			f.versions = append(f.versions, version{property, response.Header.Get("ETag"),
				time.Now().UTC().Format(time.RFC3339Nano)})
		}
	}
	for _, url := range []string{s.LiveURL(), s.SandboxURL()} {
		for _, client := range []string{"owner", "other"} {
			var made struct{ ID string }
			s.Do(s.Request(f.tokens[client], http.MethodPost, url+"/webhooks", `{"url":"`+nowhere+`"}`), &made)
			f.webhooks = append(f.webhooks, made.ID)
		}
		for n, perk := range f.perks {
			var made struct{ ID string } // "" of a perk that cannot be redeemed
			body := fmt.Sprintf(`{"user_id":%q}`, f.users[n%len(f.users)])
			s.Do(s.Request(f.tokens["owner"], http.MethodPost, url+"/perks/"+perk+"/redeem", body), &made)
			if made.ID != "" {
				f.redemptions = append(f.redemptions, made.ID)
			}
		}
	}
	return f
}

// watchedLog fails the test if the log tells of a panic, or holds a secret or a token.
type watchedLog struct {
	*testing.T
	mu     sync.Mutex
	hidden [][]byte
}

func (l *watchedLog) watch(f fixtures) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, texts := range []map[string]string{f.secrets, f.tokens} {
		for _, text := range texts {
			l.hidden = append(l.hidden, []byte(text))
		}
	}
}

func (l *watchedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range append(l.hidden, []byte("panic")) {
		if bytes.Contains(line, text) {
			l.Errorf("the log has %q: %.400s", text, line)
		}
	}
	return len(line), nil
}

// countRedemptions looks for a user who holds one perk twice.
func countRedemptions(t *testing.T, name string, db store.Store) {
	t.Helper()
	live := map[[2]string]bool{}
	for r, err := range db.ExportRedemptions(context.Background(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if r.Status == api.StatusRejected || r.Status == api.StatusVoided {
			continue
		}
		slot := [2]string{r.PerkID, r.UserID}
		if live[slot] {
			t.Errorf("%s: user %s has redeemed perk %s twice", name, r.UserID, r.PerkID)
		}
		live[slot] = true
	}
	if len(live) == 0 {
		t.Errorf("there are no redemptions %s: the storm has hit nothing", name)
	}
}

// checkHistories compares the versions of listings with what the listings are, and were.
func checkHistories(t *testing.T, s *servertest.Server, f fixtures) {
	t.Helper()
	restored := 0
	etagOf := func(address string) (etag string) { // "" if it was deleted
		response, _ := s.Get(f.tokens["owner"], address)
		return response.Header.Get("ETag")
	}
	for i := 0; i < len(f.versions); i += 3 {
		property := f.versions[i].property
		address := s.URL + "/get-property/" + property
		history, _ := servertest.Read[api.Page[api.PropertyVersion]](s, f.tokens["owner"],
			s.LiveURL()+"/properties/"+property+"/history?per_page=100")
		leftBy := func(version api.PropertyVersion) (etag string) {
			if version.ETag != nil {
				etag = *version.ETag
			}
			return etag
		}
		if now, want := etagOf(address), leftBy(history.Data[0]); !client.SameVersion(now, want) {
			t.Errorf("property %s is %q, but its last version is %q", property, now, want)
		}
		for _, version := range history.Data {
			at := version.At
			last := slices.IndexFunc(history.Data, func(v api.PropertyVersion) bool { return !v.At.After(at) })
			want := leftBy(history.Data[last])
			if then := etagOf(address + "?as_of=" + at.Format(time.RFC3339Nano)); !client.SameVersion(then, want) {
				t.Errorf("property %s as of %s is %q, but its version was %q", property, at, then, want)
			}
			if version.Action == api.VersionRestored {
				restored++
			}
		}
	}
	if restored == 0 {
		t.Error("no listing was restored")
	}
}

// show sends one request and prints it with its response.
func show(t *testing.T, address string, r *request) {
	w := &wire{address: address}
	defer w.close()
	sent, a, err := w.send(r)
	t.Logf("%q", sent)
	switch {
	case err != nil:
		t.Error(err)
	case a.Response == nil:
		t.Log("The server closed the connection.")
	default:
		_ = a.Header.Write(os.Stdout)
		t.Logf("%s\n%s", a.Status, a.body)
		if what := verify(r, sent, a, address); what != "" {
			t.Error(what)
		}
	}
}

// What may be added to the heap between the second and the last fifth of a storm. A server's tables of callers are full
// by then.
const (
	growthShare = 0.15
	growthKiB   = 16 << 10
)

// growth says that the heap has grown all along, and "" when it has not.
func growth(kib []int) string {
	if len(kib) < 10 {
		return ""
	}
	early, late := slices.Max(kib[len(kib)/5:len(kib)*2/5]), slices.Max(kib[len(kib)*4/5:])
	if float64(late) > float64(early)*(1+growthShare)+growthKiB {
		return fmt.Sprintf("the heap has grown from %d MiB to %d MiB", early>>10, late>>10)
	}
	return ""
}

func heapKiB() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 10)
}

// failedEvent is what a server keeps of an event that could not be delivered, in bytes.
const failedEvent = 224

// failedEventsKiB returns what a server keeps for the events that its webhooks failed to deliver. Nobody listens to the
// webhooks of a storm, and each may keep a thousand events before it reads no more, so that this grows all along.
func failedEventsKiB(t *testing.T, metrics *prometheus.Registry) int {
	families, err := metrics.Gather()
	if err != nil {
		t.Error(err)
	}
	for _, family := range families {
		if family.GetName() == "perks_webhook_failures" {
			events := 0.0
			for _, database := range family.GetMetric() {
				events += database.GetGauge().GetValue()
			}
			return int(events*failedEvent) >> 10
		}
	}
	t.Error("perks_webhook_failures is no metric of the server")
	return 0
}

// someFixtures returns the records that a generator chooses from.
func someFixtures() fixtures {
	names := map[string]string{"owner": "one.two.three", "other": "four.five.six", "reader": "7.8.9",
		"sandbox": "a.b.c"}
	return fixtures{perks: []string{"tea", "spa"}, users: []string{"alice", "bob"}, properties: []string{"1", "2"},
		redemptions: []string{"r1", "r2"}, webhooks: []string{"w1"},
		versions: []version{{"1", `"a"`, "2026-01-01T00:00:00Z"}}, secrets: names, tokens: names}
}

func TestRequestsDependOnlyOnSeedAndNumber(t *testing.T) {
	first, second := newGenerator(3, someFixtures()), newGenerator(3, someFixtures())
	other := newGenerator(4, someFixtures())
	same := 0
	for number := range 2000 {
		wire := first.request(number).bytes("perks.example")
		if !bytes.Equal(wire, second.request(number).bytes("perks.example")) {
			t.Fatalf("request %d differs for the same seed", number)
		}
		if bytes.Equal(wire, other.request(number).bytes("perks.example")) {
			same++
		}
	}
	if same > 20 {
		t.Errorf("%d of 2000 requests of another seed are the same", same)
	}
}

func TestWrongResponsesAreReported(t *testing.T) {
	const id = "X-Request-Id: 1\r\n"
	health := `{"status":"ok","version":"dev"}`
	for name, c := range map[string]struct {
		method, target, response, want string
	}{
		"as described": {"GET", "/v2/health", "200 OK\r\n" + id +
			"Cache-Control: no-store\r\nContent-Type: application/json\r\n\r\n" + health, ""},
		"a missing member": {"GET", "/v2/health", "200 OK\r\n" + id +
			"Cache-Control: no-store\r\nContent-Type: application/json\r\n\r\n{}", "against the API description"},
		"a server error": {"GET", "/v2/health", "500 Oops\r\n" + id + "Content-Type: application/json\r\n\r\n{}",
			"status 500"},
		"no id": {"GET", "/v2/health", "200 OK\r\nContent-Type: application/json\r\n\r\n" + health,
			"without an X-Request-Id"},
		"an unknown route": {"GET", "/v2/nothing", "200 OK\r\n" + id + "Content-Type: application/json\r\n\r\n{}",
			"must be 404"},
		"Go's own refusal": {"GET", "/v2/health", "400 Bad Request\r\nContent-Type: text/plain\r\n\r\nno", ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := &request{method: c.method, target: c.target}
			head, body, _ := strings.Cut(c.response, "\r\n\r\n")
			response := parsed(t, head, c.method)
			got := verify(asked, asked.bytes("perks.example"), reply{response, []byte(body)}, "perks.example")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestBytesAfterARequestNeedNoResponse(t *testing.T) {
	for sent, want := range map[string]bool{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n":                                 true,
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n[[":                               false,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n[]":         true,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n[":          false,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n[]":         false,
		"GET / HTTP/1.1\r\nX: " + strings.Repeat("a", maxHead) + "\r\n\r\n": false,
	} {
		if got := isRequest([]byte(sent)); got != want {
			t.Errorf("%.80q is one request: %t, want %t", sent, got, want)
		}
	}
}

func parsed(t *testing.T, head, method string) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader("HTTP/1.1 "+head+"\r\n\r\n")),
		&http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func TestAGrowingHeapIsReported(t *testing.T) {
	flat, growing := make([]int, 50), make([]int, 50)
	for i := range flat {
		flat[i], growing[i] = 20<<10+i<<5, 20<<10+i<<10
	}
	if what := growth(flat); what != "" {
		t.Error(what)
	}
	if growth(growing) == "" {
		t.Error("growing is not reported")
	}
}
