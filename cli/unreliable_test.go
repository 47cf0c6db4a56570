//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// unreliableCommands are the commands of TestUnreliableServer. The server of the second redeem honours idempotency keys.
var unreliableCommands = map[string][]string{
	"read":   {"perk", "get", "p"},
	"redeem": {"perk", "redeem", "p", "--user", "u"},
	"keyed":  {"perk", "redeem", "p", "--user", "u"},
	"update": {"property", "update", "1", "--title", "T"},
	"delete": {"property", "delete", "1", "--yes"},
}

// outcome is the expected outcome of a command on an unreliable server.
type outcome struct {
	requests int    // received; negative: a minimum
	lookups  int    // of the user's redemptions or the property
	code     int    // exit code
	json     string // error code, or ""
	likely   bool   // names a redemption that may be the right one
}

func TestUnreliableServer(t *testing.T) {
	var (
		good      = outcome{requests: 1}
		twice     = outcome{requests: 2}
		searched  = outcome{requests: 1, lookups: 1, code: 8, json: "outcome_unknown"}
		found     = outcome{requests: 1, lookups: 1}
		likely    = outcome{requests: 1, lookups: 1, code: 8, json: "outcome_unknown", likely: true}
		down      = outcome{requests: 1, code: 8, json: "http_503"}
		downSeen  = outcome{requests: 1, lookups: 1, code: 8, json: "http_503"}
		throttled = outcome{requests: 1, code: 1, json: "http_429"}
	)
	var runs []func()
	checks := map[string]func(*testing.T){}
	for name, test := range map[string]struct {
		failure func(*unreliable) http.HandlerFunc
		times   int // number of failures; 0: always
		flags   []string
		want    map[string]outcome
	}{
		"429 for a while, in seconds": {
			respondWith(429, "Retry-After: 1"), 1, nil,
			map[string]outcome{"read": twice, "redeem": twice, "keyed": twice, "update": twice, "delete": twice},
		},
		"429 for a while, as a date of the server's clock": {
			respondWith(429, "Date: Mon, 02 Mar 2026 10:00:00 GMT", "Retry-After: Mon, 02 Mar 2026 10:00:01 GMT"), 1, nil,
			map[string]outcome{"read": twice, "redeem": twice, "keyed": twice, "update": twice, "delete": twice},
		},
		"429 beyond the wait budget": {
			respondWith(429, "Retry-After: 3600"), 0, nil,
			map[string]outcome{"read": throttled, "redeem": throttled, "keyed": throttled, "update": throttled, "delete": throttled},
		},
		"503 for a while": {
			respondWith(503), 2, nil,
			map[string]outcome{"read": {requests: 3}, "redeem": downSeen, "keyed": {requests: 3}, "update": downSeen, "delete": downSeen},
		},
		"503 always": {
			respondWith(503), 0, []string{"--timeout", "2s"},
			map[string]outcome{
				"read": {requests: -2, code: 8, json: "http_503"}, "redeem": downSeen,
				"keyed": {requests: -2, lookups: 1, code: 8, json: "http_503"}, "update": downSeen, "delete": downSeen,
			},
		},
		"503 beyond the timeout": {
			respondWith(503, "Retry-After: 1"), 0, []string{"--timeout", "500ms"},
			map[string]outcome{"read": down, "redeem": downSeen, "keyed": downSeen, "update": downSeen, "delete": downSeen},
		},
		"closed before the work": {
			func(*unreliable) http.HandlerFunc { return hangUp }, 1, nil,
			map[string]outcome{
				"read": twice, "redeem": searched, "keyed": twice, "update": searched, "delete": searched,
			},
		},
		"closed after the work": {
			func(u *unreliable) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) { u.work(httptest.NewRecorder(), r); hangUp(w, r) }
			}, 1, nil,
			map[string]outcome{"read": twice, "redeem": likely, "keyed": twice, "update": found, "delete": found},
		},
		"closed after the work, with a gateway's 404": {
			func(u *unreliable) http.HandlerFunc {
				u.gateway = true
				return func(w http.ResponseWriter, r *http.Request) { u.work(httptest.NewRecorder(), r); hangUp(w, r) }
			}, 1, nil,
			map[string]outcome{"read": twice, "redeem": likely, "keyed": twice, "update": found, "delete": searched},
		},
		"partial body": {
			func(u *unreliable) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Length", "9999")
					u.work(w, r)
				}
			}, 1, nil,
			map[string]outcome{"read": twice, "redeem": likely, "keyed": twice, "update": found, "delete": found},
		},
		"no reply": {
			func(u *unreliable) http.HandlerFunc { return func(http.ResponseWriter, *http.Request) { <-u.closed } }, 0, []string{"--timeout", "400ms"},
			map[string]outcome{
				"read": {requests: 1, code: 8, json: "unreachable"}, "redeem": searched, "keyed": searched, "update": searched, "delete": searched,
			},
		},
		"no connection at first": {
			nil, 0, nil,
			map[string]outcome{"read": good, "redeem": good, "keyed": good, "update": good, "delete": good},
		},
	} {
		for kind, want := range test.want {
			u := newUnreliable(t, kind == "keyed", test.times)
			if test.failure != nil {
				u.failure = test.failure(u)
			}
			args := slices.Concat(unreliableCommands[kind], test.flags, []string{"-o", "json"})
			run := func() { u.result = u.run(args, test.failure == nil) }
			runs = append(runs, run)
			checks[name+"/"+kind] = func(t *testing.T) { u.check(t, want) }
		}
	}
	runConcurrently(16, runs) // most of the time is spent waiting
	for name, check := range checks {
		t.Run(name, check)
	}
}

func runConcurrently(n int, runs []func()) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, n)
	for _, run := range runs {
		slots <- struct{}{}
		wait.Go(func() { run(); <-slots })
	}
	wait.Wait()
}

// unreliable is a service over TCP that fails the first requests, or all of them, except lookups.
type unreliable struct {
	t       *testing.T
	port    *os.File
	address string
	failure http.HandlerFunc
	times   int
	keys    bool // honours and echoes idempotency keys
	closed  chan struct{}
	result  result

	mu                sync.Mutex
	requests, lookups int
	done              int // changes made
	deletes           bool
	gateway           bool // replies 404 without an error body
}

func newUnreliable(t *testing.T, keys bool, times int) *unreliable {
	t.Helper()
	u := &unreliable{t: t, keys: keys, times: times, closed: make(chan struct{})}
	u.port, u.address = bindPort(t)
	return u
}

// bindPort returns a socket with its own port. It refuses connections until listen is called.
func bindPort(t *testing.T) (socket *os.File, address string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket = os.NewFile(uintptr(fd), "port")
	t.Cleanup(func() { socket.Close() })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return socket, fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

func (u *unreliable) start() {
	if err := syscall.Listen(int(u.port.Fd()), 16); err != nil {
		u.t.Error(err)
		return
	}
	listener, err := net.FileListener(u.port)
	if err != nil {
		u.t.Error(err)
		return
	}
	u.port.Close() // the listener has a copy
	server := httptest.NewUnstartedServer(u)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	u.t.Cleanup(func() { close(u.closed); server.Close() })
}

// run runs a command. It starts the server before, or, if late, after a refused connection.
func (u *unreliable) run(args []string, late bool) result {
	env := map[string]string{
		session.EnvAPIURL: "http://" + u.address + "/v2", session.EnvToken: "t", session.EnvConfigDir: u.t.TempDir(),
	}
	s, out, stderr := command.BufferedStreams("")
	if late {
		s.Err = &triggerWriter{to: stderr, text: "connection refused", then: sync.OnceFunc(u.start)}
		args = append(args, "--debug")
	} else {
		u.start()
	}
	code := cli.Main(args, s, func(name string) string { return env[name] })
	return result{code, out.String(), stderr.String()}
}

// triggerWriter calls then when a text is written.
type triggerWriter struct {
	to   io.Writer
	text string
	then func()
}

func (s *triggerWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.text) {
		s.then()
	}
	return s.to.Write(p)
}

func (u *unreliable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // so that closing the connection does not reset it
	if strings.HasPrefix(r.URL.Path, "/v2/partners/perks/users/") {
		if u.keys {
			w.Header().Set("Idempotency-Key", r.Header.Get("Idempotency-Key"))
		}
		u.list(w)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/v2/get-property/") {
		u.property(w)
		return
	}
	u.mu.Lock()
	u.requests++
	fails := u.failure != nil && (u.times == 0 || u.requests <= u.times)
	u.mu.Unlock()
	if key := r.Header.Get("Idempotency-Key"); u.keys && key != "" {
		w.Header().Set("Idempotency-Key", key)
	}
	if fails {
		u.failure(w, r)
		return
	}
	u.work(w, r)
}

// work performs the request. All redeems have the same key here.
func (u *unreliable) work(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, `{"id":"p","title":"A perk"}`)
	case r.Method != http.MethodPost:
		u.done++
		u.deletes = r.Method == http.MethodDelete
		_, _ = io.WriteString(w, `{"message":"done"}`)
	case u.done == 0 || !u.keys:
		u.done++
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, u.redemption())
	default:
		w.Header().Set("Idempotent-Replayed", "true")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, u.redemption())
	}
}

func (u *unreliable) redemption() string {
	return `{"id":"r1","perk_id":"p","redeemed_at":"` + time.Now().Format(time.RFC3339) + `","status":"approved","metadata":{}}`
}

func (u *unreliable) list(w http.ResponseWriter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.requests > 0 { // the list before that is no look-up
		u.lookups++
	}
	items := ""
	if u.done > 0 {
		items = u.redemption()
	}
	_, _ = io.WriteString(w, `{"data":[`+items+`],"meta":{"page":1,"per_page":100,"total":0,"total_pages":1}}`)
}

// property returns the property after a change, or 404 after a deletion.
func (u *unreliable) property(w http.ResponseWriter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lookups++
	switch {
	case u.done > 0 && u.deletes:
		w.WriteHeader(http.StatusNotFound)
		if !u.gateway {
			_, _ = io.WriteString(w, `{"response":"There is no property 1.","code":"not_found"}`)
		}
	case u.done > 0:
		_, _ = io.WriteString(w, `{"propertyId":1,"title":"T"}`)
	default:
		_, _ = io.WriteString(w, `{"propertyId":1,"title":"Before"}`)
	}
}

func (u *unreliable) check(t *testing.T, want outcome) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.result
	if u.requests != want.requests && (want.requests > 0 || u.requests < -want.requests) || u.lookups != want.lookups {
		t.Errorf("%d requests and %d lookups, want %d and %d", u.requests, u.lookups, want.requests, want.lookups)
	}
	if u.done > 1 {
		t.Errorf("the change was made %d times", u.done)
	}
	var report struct {
		Error struct{ Code string } `json:"error"`
	}
	for line := range strings.Lines(r.err) {
		_ = json.Unmarshal([]byte(line), &report)
	}
	if r.code != want.code || report.Error.Code != want.json || (r.out == "") != (want.code != 0) {
		t.Errorf("%+v, want %+v", r, want)
	}
	if want.lookups > 0 && want.code == 0 && !strings.Contains(r.err, "The reply was lost, but the change to property") && !strings.Contains(r.err, "The reply was lost; the service confirmed") {
		t.Errorf("no explanation of the confirmed outcome: %+v", r)
	}
	if strings.Contains(r.err, "u has redemption r1, made ") != want.likely {
		t.Errorf("%+v, want %+v", r, want)
	}
	if strings.Contains(r.err, "this key was used before") {
		t.Errorf("reports its own attempt as another's: %+v", r)
	}
}

// respondWith replies with a status and headers given as "Name: value".
func respondWith(status int, headers ...string) func(*unreliable) http.HandlerFunc {
	return func(*unreliable) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for _, header := range headers {
				name, value, _ := strings.Cut(header, ": ")
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
		}
	}
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	connection, _, _ := w.(http.Hijacker).Hijack()
	connection.Close()
}

// An interrupted command exits at once, without checking the outcome.
func TestInterruptStopsTheCommand(t *testing.T) {
	u := newUnreliable(t, false, 0)
	reached := make(chan struct{}, 1)
	u.failure = func(w http.ResponseWriter, r *http.Request) {
		u.work(httptest.NewRecorder(), r)
		reached <- struct{}{}
		<-u.closed
	}
	u.start()
	cmd := exec.Command("perksctl", "perk", "redeem", "p", "--user", "u", "--idempotency-key", "k-2")
	cmd.Env = append(os.Environ(), session.EnvAPIURL+"=http://"+u.address+"/v2", session.EnvToken+"=t", session.EnvConfigDir+"="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(stderr.String(), "--idempotency-key k-2") || u.lookups != 0 {
		t.Errorf("exit code %d, %d lookups\n%s", code, u.lookups, stderr.String())
	}
}
