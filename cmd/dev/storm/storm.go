// Command storm sends a million generated requests to a running perksd, valid ones and randomly changed ones. It fails if a
// response is a server error or does not match the API description, if the server panics or exits, if its memory grows, or
// if anything was redeemed twice.
//
// It sees the server from outside: bytes over a connection, the process's memory, its log and its database. A request
// follows from the seed and its number alone, so that a failed one can be repeated with -only.
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
	flag.IntVar(&o.only, "only", -1, "send the request of this `number` alone, and show it with its response")
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
	s := &storm{target: target, options: o, generator: newGenerator(o.seed, target.fixtures), begun: time.Now(), statuses: map[int]int{}}
	if o.only >= 0 {
		return target.show(s.generator.request(o.only))
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	s.print(os.Stdout, target.finish())
	if s.count > 0 {
		return fmt.Errorf("things that are wrong: %d", s.count)
	}
	return nil
}

// storm is all requests at a target, and what has come of them.
type storm struct {
	target    *target
	options   options
	generator *generator
	begun     time.Time
	next      atomic.Int64

	mu       sync.Mutex
	findings []string    // the first things that are
	count    int         // of all of them
	statuses map[int]int // 0 is a connection closed without a response
	memory   []usage     // in the order of time
}

const (
	samples     = 50 // how often memory is measured and progress reported
	maxFindings = 20 // printed one by one
)

// run sends every request and verifies every response. The error says why it had to stop early.
func (s *storm) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for range s.options.workers {
		workers.Go(func() {
			if err := s.work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	workers.Wait()
	if grown := growth(s.memory); grown != "" {
		s.report(grown)
	}
	return context.Cause(ctx)
}

// work sends one request after the other on a connection of its own.
func (s *storm) work(ctx context.Context) error {
	w := &wire{address: s.target.address()}
	defer w.close()
	every := max(1, s.options.requests/samples)
	for ctx.Err() == nil {
		number := int(s.next.Add(1)) - 1
		if number >= s.options.requests {
			return nil
		}
		if number%every == 0 {
			if err := s.sampleMemory(number); err != nil {
				return err
			}
		}
		if what := s.send(w, s.generator.request(number)); what != "" {
			s.report(fmt.Sprintf("request %d (show it with -seed %[2]d -only %[1]d): %[3]s", number, s.options.seed, what))
		}
		select {
		case <-s.target.server.Exited():
			return errors.New("the server exited; its log says why")
		default:
		}
	}
	return nil
}

// send sends one request and returns what is wrong with the response.
func (s *storm) send(w *wire, r *request) string {
	sent, a, err := w.send(r)
	if err != nil {
		return fmt.Sprintf("no response: %v", err)
	}
	status := 0
	if a.Response != nil {
		status = a.StatusCode
	}
	s.mu.Lock()
	s.statuses[status]++
	s.mu.Unlock()
	return verify(r, sent, a, w.address)
}

// look takes the server's memory.
func (s *storm) sampleMemory(number int) error {
	memory, err := s.target.memoryUsage()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory = append(s.memory, memory)
	fmt.Fprintf(os.Stderr, "storm: %d of %d requests, %d MiB, %d of them on the heap\n", number, s.options.requests, memory.resident>>10, memory.heap>>10)
	return nil
}

// add notes things that are wrong.
func (s *storm) report(things ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count += len(things)
	s.findings = append(s.findings, things[:min(len(things), maxFindings-len(s.findings))]...)
}

// print writes the results, and the problems found in the database afterwards.
func (s *storm) print(out io.Writer, left []string) {
	s.report(left...)
	fmt.Fprintf(out, "%d requests in %s, seed %d\n", s.options.requests, time.Since(s.begun).Round(time.Second), s.options.seed)
	for _, status := range slices.Sorted(maps.Keys(s.statuses)) {
		fmt.Fprintf(out, "  %3d  %8d\n", status, s.statuses[status])
	}
	fmt.Fprint(out, "memory in MiB, in all and on the heap, over time:")
	for _, memory := range s.memory {
		fmt.Fprintf(out, " %d/%d", memory.resident>>10, memory.heap>>10)
	}
	fmt.Fprintln(out)
	for _, what := range s.findings {
		fmt.Fprintln(out, what)
	}
}

// show sends one request and prints it with its response.
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
	if err := a.Header.Write(os.Stdout); err != nil {
		return err
	}
	fmt.Printf("\n%s\n", a.body)
	if what := verify(r, sent, a, w.address); what != "" {
		return errors.New(what)
	}
	return nil
}

// ownWords are the statuses with which Go's HTTP server itself refuses what is no request, before perksd sees it. The last
// two are what RFC 9110 wants for a transfer coding, and a version of HTTP, that a server does not speak.
var serverStatuses = []int{400, 408, 413, 414, 417, 431, 501, 505}

// verify returns what is wrong with a response, and "" when nothing is.
func verify(r *request, sent []byte, a reply, host string) string {
	if a.Response == nil {
		return "" // only what is not a request gets no response
	}
	if a.Header.Get("X-Request-Id") == "" {
		if slices.Contains(serverStatuses, a.StatusCode) {
			return ""
		}
		return fmt.Sprintf("status %d without an X-Request-Id", a.StatusCode)
	}
	if a.StatusCode >= http.StatusInternalServerError {
		return fmt.Sprintf("status %d: %.300s", a.StatusCode, a.body)
	}
	asked, body, err := parseRequest(sent)
	switch {
	case err != nil && r.corrupt != nil:
		return ""
	case err != nil:
		return fmt.Sprintf("status %d to what Go does not read as a request: %v", a.StatusCode, err)
	case strings.HasPrefix(asked.URL.Path, "/docs"):
		return "" // the page for people is not part of the description
	case asked.Method == http.MethodOptions && a.StatusCode == http.StatusNoContent && a.Header.Get("Allow") != "":
		return "" // which methods an address has follows from the description
	case strings.Count(asked.URL.Path, "/") != strings.Count(asked.URL.EscapedPath(), "/"), strings.HasSuffix(asked.URL.Path, "/perks/users/redeem"),
		strings.HasSuffix(asked.URL.Path, "/perks/users/eligibility"):
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
func parseRequest(sent []byte) (*http.Request, []byte, error) {
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

// use looks at the server's memory, which its metrics tell in bytes.
func (t *target) memoryUsage() (usage, error) {
	response, err := http.Get(t.metrics)
	if err != nil {
		return usage{}, err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		return usage{}, err
	}
	var u usage
	for name, kib := range map[string]*int{"process_resident_memory_bytes": &u.resident, "go_memstats_heap_inuse_bytes": &u.heap} {
		found := regexp.MustCompile("(?m)^" + name + ` (\S+)$`).FindSubmatch(page)
		if found == nil {
			return u, fmt.Errorf("the server's metrics do not have %s", name)
		}
		bytes, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return u, err
		}
		*kib = int(bytes) >> 10
	}
	return u, nil
}
