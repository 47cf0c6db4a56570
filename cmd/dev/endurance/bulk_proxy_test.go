package endurance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// gate stands before a server. It counts what comes in and does to redeems what networks, and those who end programs, do:
// at a moment that is known to the request.
type faultProxy struct {
	t       *testing.T
	to      http.Handler
	address string
	server  *http.Server

	dropEvery int // of so many redeems the answer to one is lost
	loseEvery int // of so many redeems one is lost before the server has it

	mu       sync.Mutex
	redeems  int // that came in
	requests int // of any kind
	held     int // redeems that wait until they are let through
	working  int // redeems that the server is at work on, or will be
	traps    map[int]trap
	passage  chan struct{} // closed while redeems may pass
	putOff   int           // from this one on, redeems are asked to come back in a minute; 0 is none
}

// trap is what happens to one redeem.
type trap struct {
	moment moment
	spring func()
}

// moment says when a trap springs, and what the server does of the request then.
type moment int

const (
	beforeWork  moment = iota // the request has left, and comes to nothing
	lateWork                  // the request has left, and the server begins with it when nobody waits for it any more
	afterWork                 // the work is done, and nobody is told
	afterAnswer               // the answer is on its way
	killMoments               // the ones above
	broken                    // the connection breaks, and the server begins with the request later
)

// late is how long after its connection's end a server may begin with a request: it is less than perksctl allows for.
const late = 2 * time.Second

// newFaultProxy opens a gate before the server until the test ends.
func newFaultProxy(t *testing.T, to http.Handler) *faultProxy {
	p := &faultProxy{t: t, to: to, address: "127.0.0.1:0", traps: map[int]trap{}, passage: make(chan struct{})}
	close(p.passage)
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.server.Close() })
	return p
}

func (p *faultProxy) open() error {
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		return err
	}
	p.address = listener.Addr().String()
	server := &http.Server{Handler: p}
	p.server = server
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.t.Error(err)
		}
	}()
	return nil
}

// URL is {api_url}.
func (p *faultProxy) URL() string { return "http://" + p.address + "/v2" }

// set sets a trap for a redeem that is still to come, 1 for the next.
func (p *faultProxy) set(ahead int, m moment, spring func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traps[p.redeems+ahead] = trap{m, spring}
}

// shut lets no redeem through until the function that it returns is called.
func (p *faultProxy) block() (open func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	passage := make(chan struct{})
	p.passage = passage
	return func() { close(passage) }
}

// throttleFrom answers every redeem from that one on that it should come back in a minute; 0 ends that.
func (p *faultProxy) throttleFrom(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.putOff = number
}

func (p *faultProxy) counts() (redeems, requests, held int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.redeems, p.requests, p.held
}

// fate is what becomes of one redeem.
type fate struct {
	number  int
	trap    trap
	passage chan struct{}
	putOff  bool
}

func (p *faultProxy) next() fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redeems++
	return fate{p.redeems, p.traps[p.redeems], p.passage, p.putOff > 0 && p.redeems >= p.putOff}
}

func (p *faultProxy) add(to *int, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*to += n
}

// settle returns when the server has done what it will ever do of what came in.
func (p *faultProxy) awaitIdle() {
	eventually(p.t, atLast, "the server has nothing to do any more", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.working == 0
	})
}

func (p *faultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.add(&p.requests, 1)
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/redeem") {
		p.read(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the program died while it sent this
	}
	f := p.next()
	p.add(&p.held, 1)
	<-f.passage
	p.add(&p.held, -1)
	if f.putOff {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	p.redeem(w, r, body, f)
}

// read sees through what is no redeem; an answer in so many is lost, as those to redeems are.
func (p *faultProxy) read(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	lost := every(p.requests-p.redeems, p.dropEvery)
	p.mu.Unlock()
	if lost {
		panic(http.ErrAbortHandler)
	}
	p.to.ServeHTTP(w, r)
}

// redeem sees a redeem through, or not.
func (p *faultProxy) redeem(w http.ResponseWriter, r *http.Request, body []byte, f fate) {
	// A server does not stop its work because nobody waits for it any more.
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	p.add(&p.working, 1)
	if f.meets(broken) {
		time.AfterFunc(late, func() {
			defer p.add(&p.working, -1)
			p.to.ServeHTTP(answer, r)
		})
		panic(http.ErrAbortHandler)
	}
	defer p.add(&p.working, -1)
	switch {
	case f.meets(beforeWork), f.trap.spring == nil && every(f.number, p.loseEvery):
		panic(http.ErrAbortHandler)
	case f.meets(lateWork):
		<-time.After(late)
	}
	p.to.ServeHTTP(answer, r)
	switch {
	case f.meets(afterWork):
		panic(http.ErrAbortHandler)
	case f.trap.spring == nil && every(f.number, p.dropEvery):
		drop(w, answer, f.number/p.dropEvery)
		return
	}
	pass(w, answer, answer.Body.Len())
	f.meets(afterAnswer)
}

// drop loses an answer in one of three ways, each in its turn.
func drop(w http.ResponseWriter, answer *httptest.ResponseRecorder, turn int) {
	switch turn % 3 {
	case 0:
		panic(http.ErrAbortHandler)
	case 1:
		pass(w, answer, answer.Body.Len()/2)
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader(http.StatusBadGateway)
	}
}

// pass gives an answer's head and so much of its body to whoever asked; nobody may be there any more.
func pass(w http.ResponseWriter, answer *httptest.ResponseRecorder, size int) {
	maps.Copy(w.Header(), answer.Header())
	w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:size])
	_ = http.NewResponseController(w).Flush()
}

// meets springs the trap if this is its moment, and tells whether it was.
func (f fate) meets(m moment) bool {
	if f.trap.spring == nil || f.trap.moment != m {
		return false
	}
	f.trap.spring()
	return true
}

func every(number, n int) bool { return n > 0 && number%n == 0 }
