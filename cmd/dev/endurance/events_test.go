package endurance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
)

// eventReaders follow the events of one client while servers and databases die: by pages, by a stream and by perksctl.
// Each goes on behind the last event that it has seen, at the next server.
type eventReaders struct {
	*testing.T
	token   string
	servers atomic.Pointer[placed]
	stop    context.CancelFunc
	reading sync.WaitGroup
	all     []*eventReader
}

// placed is servers until others replace them.
type placed struct {
	servers  []*programs.Server
	replaced context.Context
	replace  context.CancelFunc
}

// eventReader is one of them.
type eventReader struct {
	*eventReaders
	name string
	read func(r *eventReader, ctx context.Context, url string) error // until it fails

	mu      sync.Mutex
	cursor  string
	seen    map[string]int // events of redemptions by id
	failure error          // the last
}

// breakAfter is how many events a stream or a process may deliver before it is cut off.
const breakAfter = 40

// followEvents follows from now on until check.
func followEvents(t *testing.T, token string, servers []*programs.Server) *eventReaders {
	t.Helper()
	if _, err := perksctl(); err != nil { // building it takes longer than the readers may be silent
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &eventReaders{T: t, token: token, stop: stop}
	e.move(servers)
	page, err := e.page(t.Context(), servers[0].URL, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); e.reading.Wait() })
	for name, read := range map[string]func(*eventReader, context.Context, string) error{
		"pages": (*eventReader).readPages, "a stream": (*eventReader).readStream,
		"perksctl": (*eventReader).readProcess,
	} {
		r := &eventReader{eventReaders: e, name: name, read: read, cursor: page.Next, seen: map[string]int{}}
		e.all = append(e.all, r)
		e.reading.Go(func() { r.run(ctx) })
	}
	return e
}

// move cuts the readers off from servers that were replaced, by others at other addresses.
func (e *eventReaders) move(servers []*programs.Server) {
	next := placed{servers: slices.Clone(servers)}
	next.replaced, next.replace = context.WithCancel(context.Background())
	if last := e.servers.Swap(&next); last != nil {
		last.replace()
	}
}

func (r *eventReader) run(ctx context.Context) {
	pace := time.NewTicker(retryPace)
	defer pace.Stop()
	for try := 0; ctx.Err() == nil; try++ {
		now := r.servers.Load()
		reading, stop := context.WithCancel(ctx)
		forget := context.AfterFunc(now.replaced, stop)
		err := r.read(r, reading, now.servers[try%len(now.servers)].URL)
		r.mu.Lock()
		r.failure = err
		r.mu.Unlock()
		forget()
		stop()
		<-pace.C
	}
}

func (r *eventReader) add(e api.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cursor = e.Cursor
	if e.Type == api.EventRedemptionMade {
		r.seen[e.ID]++
	}
}

func (r *eventReader) position() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cursor
}

func (e *eventReaders) get(ctx context.Context, url, accept, after string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+e.token)
	request.Header.Set("Accept", accept)
	if after != "" {
		request.Header.Set("Last-Event-ID", after)
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		err = fmt.Errorf("%d %s", response.StatusCode, body)
		if response.StatusCode == http.StatusUnprocessableEntity {
			e.Errorf("the position %s was refused: %s", after, body)
		}
	}
	return response, err
}

func (e *eventReaders) page(ctx context.Context, base, after string, wait int) (page api.EventPage, err error) {
	query := url.Values{"per_page": {"7"}, "wait": {fmt.Sprint(wait)}}
	if after != "" {
		query.Set("after", after)
	}
	response, err := e.get(ctx, base+"/v2/partners/events?"+query.Encode(), "application/json", "")
	if err != nil {
		return page, err
	}
	defer response.Body.Close()
	return page, json.NewDecoder(response.Body).Decode(&page)
}

func (r *eventReader) readPages(ctx context.Context, base string) error {
	for {
		page, err := r.page(ctx, base, r.position(), 2)
		if err != nil {
			return err
		}
		for _, event := range page.Data {
			r.add(event)
		}
		r.mu.Lock()
		r.cursor = page.Next
		r.mu.Unlock()
	}
}

func (r *eventReader) readStream(ctx context.Context, base string) error {
	response, err := r.get(ctx, base+"/v2/partners/events", "text/event-stream", r.position())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return r.readLines(response.Body, "data: ")
}

// readProcess kills perksctl at the end.
func (r *eventReader) readProcess(ctx context.Context, base string) error {
	program, err := perksctl()
	if err != nil {
		return err
	}
	ctx, kill := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, "tail", "--after", r.position(), "--output", "jsonl")
	cmd.Env = append(os.Environ(), "PERKSCTL_API_URL="+base+"/v2", "PERKSCTL_TOKEN="+r.token,
		"PERKSCTL_CONFIG_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		err = r.readLines(out, "")
		kill()
		_ = cmd.Wait()
	}
	kill()
	return err
}

// readLines reads events until there are enough. A line that is not complete was not read.
func (r *eventReader) readLines(from io.Reader, prefix string) error {
	lines := bufio.NewReader(from)
	for read := 0; read < breakAfter; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		data, isEvent := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix)
		if !isEvent || data == "" {
			continue
		}
		var event api.Event
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return err
		}
		r.add(event)
		read++
	}
	return nil
}

// sawAll waits until the reader has seen as many events as there are redemptions, while it sees more of them. On a busy
// machine, small pages come more slowly than redemptions are made.
func (r *eventReader) sawAll(stored []api.RedemptionRecord) bool {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	before, progress := 0, time.Now()
	for {
		r.mu.Lock()
		seen := len(r.seen)
		r.mu.Unlock()
		switch {
		case seen >= len(stored):
			return true
		case seen > before:
			before, progress = seen, time.Now()
		case time.Since(progress) > atLast:
			return false
		}
		<-poll.C
	}
}

// explain says how far each reader came, and what each server has behind that.
func (e *eventReaders) explain(stored int) {
	for _, r := range e.all {
		r.mu.Lock()
		seen, failure := len(r.seen), r.failure
		r.mu.Unlock()
		e.Logf("%s delivered %d of %d events; its last failure: %v", r.name, seen, stored, failure)
		for _, server := range e.servers.Load().servers {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			page, err := e.page(ctx, server.URL, r.position(), 0)
			cancel()
			e.Logf("behind its position, %s has %d events, next %q, error %v", server.URL, len(page.Data),
				page.Next, err)
		}
	}
}

// check waits until every reader has seen each of the redemptions, once.
func (e *eventReaders) check(stored []api.RedemptionRecord) {
	e.Helper()
	for _, r := range e.all {
		if !r.sawAll(stored) {
			e.explain(len(stored))
			e.Fatalf("%s delivered no further event within %s", r.name, atLast)
		}
	}
	e.stop()
	e.reading.Wait()
	for _, r := range e.all {
		for _, redemption := range stored {
			if n := r.seen["redemption/"+redemption.ID]; n != 1 {
				e.Errorf("%s delivered redemption %s %d times", r.name, redemption.ID, n)
			}
		}
		if len(r.seen) != len(stored) {
			e.Errorf("%s delivered %d events of %d redemptions", r.name, len(r.seen), len(stored))
		}
	}
	e.Logf("%d events were delivered once each by pages, a stream and perksctl", len(stored))
}

const memoryOfListener = 60 // KiB, with its connection

// TestThousandsOfListenersAreCheap opens many streams that get nothing but one event, and says what they cost. Beside
// other tests they are fewer.
func TestThousandsOfListenersAreCheap(t *testing.T) {
	idleListeners := 500
	if isLong() {
		idleListeners = 5_000
		allowManyFiles(t)
	}
	i := programs.Install(t)
	i.ImportCSV("users", "id\nalice\n")
	i.ImportCSV("perks", perkCSV("rush", 10))
	server := i.Start("--max-connections", fmt.Sprint(3*idleListeners)) // of which listeners may take half
	var readers []*eventReaders
	for range idleListeners/clientStreams + 1 {
		id, secret := i.Client("Listener", "--scope", "perks:redeem,redemptions:read,redemptions:read-all")
		token := programs.TokenOf(t, http.DefaultClient, server.URL, id, secret).AccessToken
		readers = append(readers, &eventReaders{T: t, token: token})
	}
	before := memory(t, server)
	through := http.DefaultClient.Transport
	http.DefaultClient.Transport = &http.Transport{}
	defer func() { http.DefaultClient.Transport = through }()
	var opened, heard sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	slots := make(chan struct{}, 100)
	begun := time.Now()
	var last atomic.Int64
	for n := range idleListeners {
		opened.Add(1)
		heard.Go(func() {
			slots <- struct{}{}
			response, err := readers[n/clientStreams].get(ctx, server.URL+"/v2/partners/events", "text/event-stream",
				"")
			<-slots
			opened.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			for lines := bufio.NewScanner(response.Body); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "event: redemption.made") {
					last.Store(int64(time.Since(begun)))
					return
				}
			}
			t.Error("a stream ended without the event")
		})
	}
	opened.Wait()
	took := time.Since(begun)
	peak := memory(t, server)
	r := newRedeemer(t, readers[0].token, 1)
	begun = time.Now()
	if _, err := r.redeem(server.URL, attempt{perk: "rush", user: "alice"}); err != nil {
		t.Fatal(err)
	}
	replied := time.Since(begun)
	heard.Wait()
	t.Logf("%d listeners came within %s and take %d MiB, %d before; a redemption took %s beside them, and the last "+
		"heard of it after %s",
		idleListeners, took.Round(time.Millisecond), peak>>10, before>>10, replied.Round(time.Millisecond),
		time.Duration(last.Load()).Round(time.Millisecond))
	open, err := readers[0].get(ctx, server.URL+"/v2/partners/events", "text/event-stream", "")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Body.Close()
	server.Terminate() // does not wait for the stream
	if each := (peak - before) / idleListeners; each > memoryOfListener {
		t.Errorf("a listener takes %d KiB, want at most %d", each, memoryOfListener)
	}
}
