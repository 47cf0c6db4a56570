package endurance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

// webhookTakeover is how long nothing may arrive after the server that delivers was killed, on a quiet machine.
const webhookTakeover = 10 * time.Second

// webhookFlags let perksd send to receivers of the tests.
var webhookFlags = []string{"--webhook-allow", "127.0.0.1/32"}

// hookReceiver notes what arrives at a webhook, and refuses some at first.
type hookReceiver struct {
	*httptest.Server
	reference *standardwebhooks.Webhook // after it was made

	mu       sync.Mutex
	got      map[string]int      // by the ids of events
	order    map[string][]string // the ids of each subject, as they came first
	faults   []string
	refuses  int // one in so many is refused, once
	refused  map[string]bool
	arrivals int
}

func newHookReceiver(t *testing.T, refuses int) *hookReceiver {
	t.Helper()
	r := &hookReceiver{got: map[string]int{}, order: map[string][]string{}, refuses: refuses,
		refused: map[string]bool{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *hookReceiver) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return // the sender was killed
	}
	var sent struct{ Data api.Event }
	if err = json.Unmarshal(body, &sent); err == nil {
		err = r.reference.Verify(body, in.Header)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.faults = append(r.faults, err.Error())
		return
	}
	id := sent.Data.ID
	if r.arrivals++; r.refuses > 0 && r.arrivals%r.refuses == 0 && r.got[id] == 0 && !r.refused[id] {
		r.refused[id] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if r.got[id]++; r.got[id] == 1 {
		r.order[sent.Data.Subject] = append(r.order[sent.Data.Subject], id)
	}
}

// onTheWay is how many requests to a webhook can be on their way when their sender is killed.
const onTheWay = 8

// count returns how many requests have arrived.
func (r *hookReceiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrivals
}

// hasAll tells whether all of the events have arrived.
func (r *hookReceiver) hasAll(events []api.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(events, func(e api.Event) bool { return r.got[e.ID] == 0 })
}

// makeHook makes a webhook at a receiver.
func (r *hookReceiver) makeHook(t *testing.T, url, token string, types ...string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"url": r.URL, "types": types})
	if err != nil {
		t.Fatal(err)
	}
	response, answer, err := programs.Send(http.DefaultClient, http.MethodPost, url+"/v2/partners/webhooks", token,
		string(body), nil)
	var made api.WebhookSecret
	if err == nil {
		err = json.Unmarshal(answer, &made)
	}
	if err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("making a webhook: %s, %v", answer, err)
	}
	if r.reference, err = standardwebhooks.NewWebhook(made.Secret); err != nil {
		t.Fatal(err)
	}
}

// TestKillsLoseNoWebhookEvent kills the server that delivers while perks are redeemed and changed. On PostgreSQL the
// other one goes on; on SQLite the server is started again.
func TestKillsLoseNoWebhookEvent(t *testing.T) {
	kills := 1
	if isLong() {
		kills = 10
	}
	t.Run("SQLite", func(t *testing.T) {
		parallel(t)
		address := "sqlite:" + filepath.Join(t.TempDir(), "perks.db")
		killDelivering(t, programs.InstallOver(t, address), 1, kills)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		parallel(t)
		killDelivering(t, programs.InstallOver(t, storetest.PostgresDatabase(t)), 2, kills)
	})
}

func killDelivering(t *testing.T, i *programs.Installation, count, kills int) {
	servers := i.StartTogether(count, webhookFlags...)
	l := startLoad(t, i, servers...)
	id, secret := i.Client("Till", "--scope", strings.ReplaceAll(api.AllScopes().String(), " ", ","))
	token := programs.TokenOf(t, http.DefaultClient, servers[0].URL, id, secret).AccessToken
	hook, flaky := newHookReceiver(t, 0), newHookReceiver(t, 50)
	for _, r := range []*hookReceiver{hook, flaky} {
		r.makeHook(t, servers[0].URL, token, string(api.EventRedemptionMade), string(api.EventPerkChanged))
	}
	start := eventsNow(t, servers[0].URL, token)       // they may get some that happened before
	l.start(1, 250*time.Millisecond, func(int) error { // changes of one subject, which must come in order
		changed := fmt.Sprintf(`{"title":"%d"}`, time.Now().UnixNano())
		untilReply(l, 0, func(url string) (int, error) {
			response, _, err := programs.Send(http.DefaultClient, http.MethodPatch, url+"/v2/partners/perks/rush",
				token, changed, nil)
			if err != nil {
				return 0, err
			}
			return response.StatusCode, nil
		})
		return nil
	})
	grewBy := func(seen [2]int, more int) bool {
		return hook.count() >= seen[0]+more && flaky.count() >= seen[1]+more
	}
	for n := range kills { // on PostgreSQL each server has one of the webhooks, or will soon
		seen := [2]int{hook.count(), flaky.count()}
		eventually(t, atLast, "some events have arrived", func() bool { return grewBy(seen, 50) })
		victim := n % count
		servers[victim].Kill()
		seen = [2]int{hook.count(), flaky.count()}
		if count == 1 {
			servers[0] = i.Start(webhookFlags...)
			l.move(servers)
		} else {
			l.move([]*programs.Server{servers[1-victim]})
		}
		took := eventually(t, atLast, "events arrive again", func() bool { return grewBy(seen, onTheWay+1) })
		t.Logf("kill %d: the events go on after %s", n+1, took.Round(time.Millisecond))
		if took > webhookTakeover && isLong() {
			t.Errorf("after kill %d it took %s", n+1, took)
		}
		if count > 1 {
			servers[victim] = i.Start(webhookFlags...)
			l.move(servers)
		}
	}
	l.finish()
	want := eventsAfter(t, servers[0].URL, token, start)
	for name, r := range map[string]*hookReceiver{"healthy": hook, "flaky": flaky} {
		eventually(t, atLast, name+": all events have arrived", func() bool { return r.hasAll(want) })
		r.check(t, name, want, kills)
	}
}

// eventsAfter returns the events after a position that the webhooks get, in order.
func eventsAfter(t *testing.T, url, token, after string) (events []api.Event) {
	t.Helper()
	for more := true; more; {
		page, err := (&eventReaders{T: t, token: token}).page(t.Context(), url, after, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Data {
			if e.Type == api.EventRedemptionMade || e.Type == api.EventPerkChanged {
				events = append(events, e)
			}
		}
		after, more = page.Next, page.More
	}
	return events
}

// check compares what arrived with what happened.
func (r *hookReceiver) check(t *testing.T, name string, want []api.Event, kills int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fault := range r.faults {
		t.Errorf("%s: %s", name, fault)
	}
	order, repeated := map[string][]string{}, 0
	for _, e := range want {
		order[e.Subject] = append(order[e.Subject], e.ID)
		if n := r.got[e.ID]; n < 1 || n > 1+kills {
			t.Errorf("%s: %s came %d times", name, e.ID, n)
		}
		repeated += r.got[e.ID] - 1
	}
	for subject, ids := range order {
		got := slices.DeleteFunc(slices.Clone(r.order[subject]), func(id string) bool { return !slices.Contains(ids, id) })
		if !slices.Equal(got, ids) {
			t.Errorf("%s: of %s came %d events in another order than the %d that happened", name, subject, len(got),
				len(ids))
		}
	}
	t.Logf("%s: %d events of %d subjects, of which %d came again after %d kills", name, len(want), len(order), repeated,
		kills)
}
