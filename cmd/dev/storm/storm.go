// Command storm sends a million generated requests at a running perksd, valid ones and what becomes of them when parts are
// changed at random, and fails if one is answered with a fault of the server's, if an answer is not as the API description
// has it, if the server panics or ends, if its memory grows, or if anything was redeemed twice.
//
// It sees the server from outside: bytes over a connection, the process's memory, its log and its database. A request
// follows from the seed and its number alone, so that one that failed can be looked at again with -only.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/perks/server/servertest"
)

type options struct {
	requests int
	seed     uint64
	workers  int
	only     int // the number of the one request to send and show; negative sends them all
}

func main() {
	var o options
	flag.IntVar(&o.requests, "requests", 1_000_000, "how many requests to send")
	flag.Uint64Var(&o.seed, "seed", 1, "which requests")
	flag.IntVar(&o.workers, "workers", 16, "how many connections send at once")
	flag.IntVar(&o.only, "only", -1, "send the request of this `number` alone, and show it with its answer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.requests < 1 || o.workers < 1 {
		return fmt.Errorf("-requests and -workers must be at least 1")
	}
	target, err := openTarget(ctx)
	if err != nil {
		return err
	}
	defer target.close()
	if o.only >= 0 {
		return target.show(newGenerator(o.seed, target.world).request(o.only))
	}
	storm := &storm{target: target, options: o, findings: newFindings()}
	if err := storm.blow(ctx); err != nil {
		return err
	}
	storm.findings.add(target.finish()...)
	storm.findings.print(os.Stdout, o)
	return storm.findings.err()
}

// storm is all requests at a target.
type storm struct {
	target   *target
	options  options
	findings *findings
	next     atomic.Int64
}

// looks is how often the memory is looked at, and how often progress is told.
const looks = 50

// blow sends every request and judges every answer. The error says that it could not go on.
func (s *storm) blow(ctx context.Context) error {
	begun := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for range s.options.workers {
		workers.Go(func() { s.work(ctx, cancel) })
	}
	workers.Wait()
	s.findings.took = time.Since(begun)
	if grown := growth(s.findings.memory); grown != "" {
		s.findings.add(finding{what: grown})
	}
	return context.Cause(ctx)
}

// work sends one request after the other over a connection of its own.
func (s *storm) work(ctx context.Context, fail context.CancelCauseFunc) {
	generator := newGenerator(s.options.seed, s.target.world)
	w := &wire{address: s.target.address()}
	defer w.close()
	for ctx.Err() == nil {
		number := int(s.next.Add(1)) - 1
		if number >= s.options.requests {
			return
		}
		if err := s.look(number); err != nil {
			fail(err)
			return
		}
		if what := s.try(w, generator.request(number)); what != "" {
			s.findings.add(finding{number, true, what})
		}
		select {
		case <-s.target.server.Ended():
			fail(errors.New("the server has ended; its log has why"))
			return
		default:
		}
	}
}

// try sends one request and returns what is wrong with its answer.
func (s *storm) try(w *wire, r *request) string {
	sent, a, err := w.send(r)
	if err != nil {
		return fmt.Sprintf("no answer: %v", err)
	}
	status := 0
	if a.Response != nil {
		status = a.StatusCode
	}
	s.findings.answered(r.method, status)
	return judge(r, sent, a, w.address)
}

// look takes the server's memory at every fiftieth part of the storm.
func (s *storm) look(number int) error {
	every := max(1, s.options.requests/looks)
	if number%every != 0 {
		return nil
	}
	memory, err := s.target.use()
	if err != nil {
		return err
	}
	s.findings.mu.Lock()
	defer s.findings.mu.Unlock()
	s.findings.memory = append(s.findings.memory, memory)
	fmt.Fprintf(os.Stderr, "storm: %d of %d requests, %d MiB, %d of them on the heap\n", number, s.options.requests, memory.resident>>10, memory.heap>>10)
	return nil
}

// show sends one request and prints it with its answer.
func (t *target) show(r *request) error {
	w := &wire{address: t.address()}
	defer w.close()
	sent, a, err := w.send(r)
	fmt.Printf("%q\n\n", sent)
	if err != nil {
		return err
	}
	if a.Response == nil {
		fmt.Println("The server closed the connection.")
		return nil
	}
	fmt.Printf("%s\n", a.Status)
	if err := http.Header(a.Header).Write(os.Stdout); err != nil {
		return err
	}
	fmt.Printf("\n%s\n", a.body)
	if what := judge(r, sent, a, w.address); what != "" {
		return errors.New(what)
	}
	return nil
}

// ownWords are the statuses with which Go's HTTP server itself refuses what is no request, before perksd sees it. The last
// two are what RFC 9110 wants for a transfer coding, and a version of HTTP, that a server does not speak.
var ownWords = []int{400, 408, 413, 414, 417, 431, 501, 505}

// judge returns what is wrong with an answer, and "" when nothing is.
func judge(r *request, sent []byte, a answer, host string) string {
	if a.Response == nil {
		return "" // only what is no request gets no answer
	}
	if a.Header.Get("X-Request-Id") == "" {
		if slices.Contains(ownWords, a.StatusCode) {
			return ""
		}
		return fmt.Sprintf("status %d without an X-Request-Id", a.StatusCode)
	}
	if a.StatusCode >= http.StatusInternalServerError {
		return fmt.Sprintf("status %d: %s", a.StatusCode, short(a.body))
	}
	asked, body, err := read(sent)
	switch {
	case err != nil && r.torn != nil:
		return ""
	case err != nil:
		return fmt.Sprintf("status %d to what Go does not read as a request: %v", a.StatusCode, err)
	case strings.HasPrefix(asked.URL.Path, "/docs"):
		return "" // the page for people is not part of the description
	case asked.Method == http.MethodOptions && a.StatusCode == http.StatusNoContent && a.Header.Get("Allow") != "":
		return "" // which methods an address has follows from the description
	case hidesSlash(asked.URL), strings.HasSuffix(asked.URL.Path, "/perks/users/redeem"):
		return "" // the description's own reader cannot tell such a path from another: it takes the user "redeem" for the perk "users"
	}
	asked.URL.Scheme, asked.URL.Host, asked.URL.RawPath = "http", host, ""
	if err := servertest.Check(asked, body, a.Response, a.body); err != nil {
		return fmt.Sprintf("status %d against the API description: %v", a.StatusCode, err)
	}
	return ""
}

// read reads a request as Go's server does, and leaves out what the server takes for nothing: an empty header, and blanks
// for a body. A body of no type is JSON.
func read(sent []byte) (*http.Request, []byte, error) {
	asked, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(asked.Body)
	if err != nil {
		return nil, nil, err
	}
	for name := range asked.Header {
		if asked.Header.Get(name) == "" {
			asked.Header.Del(name)
		}
	}
	if body = bytes.TrimSpace(body); len(body) > 0 && asked.Header.Get("Content-Type") == "" {
		asked.Header.Set("Content-Type", "application/json")
	}
	return asked, body, nil
}

// hidesSlash tells whether a segment of the path has a slash of its own.
func hidesSlash(address *url.URL) bool {
	return strings.Count(address.Path, "/") != strings.Count(address.EscapedPath(), "/")
}

func short(text []byte) string {
	const most = 300
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}

// finding is one thing that is wrong: with the answer to a request, or with what the storm leaves behind.
type finding struct {
	number  int
	request bool // number is that of a request
	what    string
}

// findings is what a storm has found out. It is safe for use by many goroutines.
type findings struct {
	mu       sync.Mutex
	wrong    []finding // the first of them
	count    int
	statuses map[string]map[int]int // by the operation's name
	memory   []usage                // in the order of time
	took     time.Duration
}

// keptFindings is how many are told one by one.
const keptFindings = 20

func newFindings() *findings { return &findings{statuses: map[string]map[int]int{}} }

func (f *findings) add(found ...finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count += len(found)
	f.wrong = append(f.wrong, found[:min(len(found), keptFindings-min(keptFindings, len(f.wrong)))]...)
}

// answered counts an answer; status 0 is a connection that was closed without one.
func (f *findings) answered(method string, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.statuses[method] == nil {
		f.statuses[method] = map[int]int{}
	}
	f.statuses[method][status]++
}

func (f *findings) print(out io.Writer, o options) {
	total := map[int]int{}
	for _, counts := range f.statuses {
		for status, n := range counts {
			total[status] += n
		}
	}
	fmt.Fprintf(out, "%d requests in %s, seed %d\n", o.requests, f.took.Round(time.Second), o.seed)
	for _, status := range slices.Sorted(maps.Keys(total)) {
		fmt.Fprintf(out, "  %3d  %8d\n", status, total[status])
	}
	fmt.Fprint(out, "memory in MiB, in all and on the heap, as time went on:")
	for _, memory := range f.memory {
		fmt.Fprintf(out, " %d/%d", memory.resident>>10, memory.heap>>10)
	}
	fmt.Fprintln(out)
	for _, found := range f.wrong {
		if found.request {
			fmt.Fprintf(out, "request %d (show it with -seed %d -only %d): ", found.number, o.seed, found.number)
		}
		fmt.Fprintln(out, found.what)
	}
}

func (f *findings) err() error {
	if f.count == 0 {
		return nil
	}
	return errors.New(plural(f.count, "thing is wrong", "things are wrong"))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// resident is how much memory a process has now, in KiB.
func resident(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "VmRSS:" {
			return strconv.Atoi(fields[1])
		}
	}
	return 0, fmt.Errorf("the system does not say how much memory process %d has", pid)
}

// usage is how much memory a server has at one moment, in KiB.
type usage struct{ resident, heap int }

// What may be added to the heap between the second and the last fifth of a storm. A server's tables of callers are full by
// then. And what all of the memory may come to beyond the first look: SQLite keeps pages of two databases, in up to 128 MiB
// that are not on the heap, and they fill as long as the databases grow.
const (
	growthShare = 0.15
	growthKiB   = 16 << 10
	cachesKiB   = 128<<10 + 2*growthKiB
)

// growth says that memory has grown all along, and "" when it has not.
func growth(memory []usage) string {
	if len(memory) < 10 {
		return ""
	}
	byHeap := func(a, b usage) int { return a.heap - b.heap }
	early, late := slices.MaxFunc(memory[len(memory)/5:len(memory)*2/5], byHeap), slices.MaxFunc(memory[len(memory)*4/5:], byHeap)
	if float64(late.heap) > float64(early.heap)*(1+growthShare)+growthKiB {
		return fmt.Sprintf("the server's heap has grown from %d MiB to %d MiB", early.heap>>10, late.heap>>10)
	}
	if first, last := memory[0].resident, memory[len(memory)-1].resident; last > first+cachesKiB {
		return fmt.Sprintf("the server's memory has grown from %d MiB to %d MiB", first>>10, last>>10)
	}
	return ""
}

var (
	metricsPage = regexp.MustCompile(`msg=metrics url=(\S+)`)
	heapInUse   = regexp.MustCompile(`(?m)^go_memstats_heap_inuse_bytes (\S+)$`)
)

// findMetrics reads in the server's log where its metrics are.
func findMetrics(log string) (string, error) {
	said, err := os.ReadFile(log)
	if err != nil {
		return "", err
	}
	found := metricsPage.FindSubmatch(said)
	if found == nil {
		return "", fmt.Errorf("the server does not say where its metrics are; its log is %s", log)
	}
	return string(found[1]), nil
}

// use looks at the server's memory.
func (t *target) use() (usage, error) {
	memory, err := resident(t.server.PID())
	if err != nil {
		return usage{}, err
	}
	response, err := http.Get(t.metrics)
	if err != nil {
		return usage{}, err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		return usage{}, err
	}
	found := heapInUse.FindSubmatch(page)
	if found == nil {
		return usage{}, fmt.Errorf("the server's metrics do not have its heap")
	}
	heap, err := strconv.ParseFloat(string(found[1]), 64)
	return usage{memory, int(heap) >> 10}, err
}
