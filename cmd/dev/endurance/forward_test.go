package endurance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/perks/api"
	"example.com/perks/api/webhook"
)

// forwards is perksctl tail that delivers changes of a few properties, is killed, and resumes from its state.
type forwards struct {
	*listings
	changes, kills int

	mu        sync.Mutex
	delivered []api.Event // as they came
}

// killAt returns after how many deliveries the next kill is.
func (f *forwards) killAt(kill int) int { return (kill + 1) * f.changes / (f.kills + 1) }

func newForwards(t *testing.T, target ...string) *forwards {
	t.Helper()
	f := &forwards{listings: newListings(t, 5), changes: 60, kills: 2}
	if isLong() {
		f.changes, f.kills = 2_000, 10
	}
	_, body := f.server.Get(f.token, f.server.LiveURL()+"/events?per_page=1")
	var page api.EventPage
	if err := json.Unmarshal(body, &page); err != nil {
		t.Fatal(err)
	}
	f.words = append([]string{"tail", "--type", "property.changed", "--state", filepath.Join(f.dir, "state")}, target...)
	f.args = []string{"--after", page.Next} // of the first run
	return f
}

// change changes one property after the other. Each deposit is the number of the change.
func (f *forwards) change() {
	for n := range f.changes {
		address := fmt.Sprintf("%s/update-property/%d", f.server.URL, n%f.rows.rows+1)
		if status := f.server.Status(f.token, "PATCH", address, fmt.Sprintf(`{"deposit":%d}`, n+1)); status != 200 {
			f.Errorf("change %d: %d", n, status)
		}
	}
}

// next starts the next run, which resumes if it is not the first.
func (f *forwards) next() *process {
	f.Helper()
	if f.runs > 0 {
		f.args = nil
	}
	return f.start()
}

// distinct returns how many changes were delivered.
func (f *forwards) distinct() int {
	seen := map[string]bool{}
	for _, e := range f.delivered {
		seen[e.ID] = true
	}
	return len(seen)
}

// check expects each change at least once, in the order of its property, and at most one repetition for each kill and
// slot.
func (f *forwards) check(slots int) {
	f.Helper()
	times, last := map[string]int{}, map[string]float64{}
	for _, e := range f.delivered {
		times[e.ID]++
		if e.Property.Deposit < last[e.Subject] {
			f.Errorf("%s: change %v came after %v", e.Subject, e.Property.Deposit, last[e.Subject])
		}
		last[e.Subject] = e.Property.Deposit
	}
	repeated := len(f.delivered) - len(times)
	if len(times) != f.changes || repeated > f.kills*slots {
		f.Errorf("%d of %d changes came, and %d came again after %d kills", len(times), f.changes, repeated, f.kills)
	}
	f.Logf("%d changes were delivered; %d came again after %d kills", len(times), repeated, f.kills)
}

// TestForwardedEventsOutliveKills kills perksctl before and after a receiver has answered, while another answer is a
// failure, which waits for its retry.
func TestForwardedEventsOutliveKills(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 4} {
		t.Run(fmt.Sprint(slots, " at once"), func(t *testing.T) {
			t.Parallel()
			secret := webhook.NewSecret()
			hook, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			var f *forwards
			var running *process
			kill, hasFailed := 0, false
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return // it was killed before
				}
				f.mu.Lock()
				defer f.mu.Unlock()
				var posted struct{ Data api.Event }
				if err = hook.Verify(body, r.Header); err == nil {
					err = json.Unmarshal(body, &posted)
				}
				switch {
				case err != nil:
					t.Errorf("%v: %s", err, body)
				case len(f.delivered) == f.changes/4 && !hasFailed:
					hasFailed = true
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				f.delivered = append(f.delivered, posted.Data)
				if isKill := kill < f.kills && len(f.delivered) >= f.killAt(kill); isKill {
					if kill++; kill%2 == 0 {
						w.WriteHeader(http.StatusNoContent)
						_ = http.NewResponseController(w).Flush() // the process may be faster or slower than the kill
					}
					running.kill()
				}
			}))
			t.Cleanup(receiver.Close)
			f = newForwards(t, "--forward-to", receiver.URL, "--secret-stdin", "--concurrency", fmt.Sprint(slots))
			f.input, f.text = "-", secret
			var changing sync.WaitGroup
			changing.Go(f.change)
			for range f.kills {
				f.mu.Lock()
				running = f.next()
				f.mu.Unlock()
				running.must(-1)
			}
			running = f.next()
			changing.Wait()
			eventually(t, atLast, "all changes are delivered", func() bool {
				f.mu.Lock()
				defer f.mu.Unlock()
				return f.distinct() == f.changes
			})
			running.interrupt()
			running.must(130)
			f.check(slots)
		})
	}
}

// handler is a program that has started another one. It hangs where a file says so.
const handler = `PATH=/usr/bin:/bin
cd "${0%/*}"
hang() { [ ! -e "$1" ] || { mv "$1" reached; sleep 1000; }; }
sleep 1000 & echo "$$ $!" >ids
hang before
cat >>log
hang after
kill $!`

// TestProgramsEndWithTheirKilledParent kills perksctl while a program hangs before or after its work. Neither it nor
// what it has started is left, and the events outlive it.
func TestProgramsEndWithTheirKilledParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, log, reached := filepath.Join(dir, "handle"), filepath.Join(dir, "log"), filepath.Join(dir, "reached")
	if err := os.WriteFile(script, []byte(handler), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newForwards(t, "--exec", "/bin/sh "+script)
	read := func() {
		f.delivered = nil
		text, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var e api.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			f.delivered = append(f.delivered, e)
		}
	}
	var changing sync.WaitGroup
	changing.Go(f.change)
	for kill := range f.kills {
		p := f.next()
		eventually(t, atLast, "it is time to kill", func() bool { read(); return len(f.delivered) >= f.killAt(kill) })
		where := filepath.Join(dir, []string{"before", "after"}[kill%2])
		if err := os.WriteFile(where, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		eventually(t, atLast, "a program hangs", func() bool { return os.Remove(reached) == nil })
		p.kill()
		numbers, err := os.ReadFile(filepath.Join(dir, "ids"))
		if err != nil {
			t.Fatal(err)
		}
		for id := range strings.FieldsSeq(string(numbers)) {
			eventually(t, atLast, "the process "+id+" is gone", func() bool { return !isAlive(id) })
		}
	}
	p := f.next()
	changing.Wait()
	eventually(t, atLast, "all changes are delivered", func() bool {
		read()
		return f.distinct() == f.changes
	})
	p.interrupt()
	for line := range strings.Lines(p.must(130).stdout.String()) {
		if strings.Contains(line, "; attempt ") {
			t.Logf("a program failed, and was retried: %s", line)
		}
	}
	read()
	f.check(1)
}

// isAlive tells whether there is a process of that id, except one that only waits for its parent to ask for its end.
func isAlive(id string) bool {
	status, err := os.ReadFile("/proc/" + id + "/stat")
	return err == nil && !strings.Contains(string(status), ") Z ")
}
