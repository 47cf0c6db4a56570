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

// faultProxy forwards requests to a server, counts them, and injects faults into redeems, and likewise into changes and
// deletions of listings: lost replies, broken connections, and kills of the program that sent them.
type faultProxy struct {
	t       *testing.T
	to      http.Handler
	address string
	server  *http.Server

	dropEvery int // the reply to one of that many redeems is lost
	loseEvery int // one of that many redeems is lost before the server has it

	mu        sync.Mutex
	redeems   int           // received so far
	requests  int           // of any kind
	blocked   int           // redeems that wait for unblocked
	working   int           // redeems that the server handles, or will
	faults    map[int]fault // by the number of the redeem
	unblocked chan struct{} // closed while redeems are forwarded
	throttled int           // from this one on, redeems must retry in a minute; 0 is none
}

// fault is injected into one redeem.
type fault struct {
	point  faultPoint
	inject func()
}

// faultPoint says when a fault is injected, and what the server does with the request then.
type faultPoint int

const (
	beforeWork faultPoint = iota // the request was sent, and is lost
	lateWork                     // the request was sent, and the server starts on it after the client is gone
	afterWork                    // the work is done, and the reply is lost
	afterReply                   // the reply was sent
	killPoints                   // the ones above
	broken                       // the connection breaks, and the server starts on the request later
)

// late is how long after its connection broke a server may start on a request: less than perksctl allows for.
const late = 2 * time.Second

// newFaultProxy listens until the test ends.
func newFaultProxy(t *testing.T, to http.Handler) *faultProxy {
	p := &faultProxy{t: t, to: to, address: "127.0.0.1:0", faults: map[int]fault{}, unblocked: make(chan struct{})}
	close(p.unblocked)
	if err := p.listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.server.Close() })
	return p
}

func (p *faultProxy) listen() error {
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

// injectAt injects a fault into a future redeem, 1 for the next.
func (p *faultProxy) injectAt(ahead int, m faultPoint, inject func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[p.redeems+ahead] = fault{m, inject}
}

// block holds every redeem until unblock is called.
func (p *faultProxy) block() (unblock func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unblocked := make(chan struct{})
	p.unblocked = unblocked
	return func() { close(unblocked) }
}

// throttleFrom makes every redeem from that one on retry in a minute; 0 stops that.
func (p *faultProxy) throttleFrom(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.throttled = number
}

func (p *faultProxy) counts() (redeems, requests, blocked int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.redeems, p.requests, p.blocked
}

// treatment is what the proxy does with one redeem.
type treatment struct {
	number    int
	fault     fault
	unblocked chan struct{}
	throttled bool
}

func (p *faultProxy) next() treatment {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redeems++
	return treatment{p.redeems, p.faults[p.redeems], p.unblocked, p.throttled > 0 && p.redeems >= p.throttled}
}

func (p *faultProxy) add(to *int, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*to += n
}

// awaitIdle returns when the server has handled every request.
func (p *faultProxy) awaitIdle() {
	eventually(p.t, atLast, "the server has nothing to do any more", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.working == 0
	})
}

func (p *faultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.add(&p.requests, 1)
	isRedeem := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/redeem")
	if !isRedeem && r.Method != http.MethodPatch && r.Method != http.MethodDelete {
		p.read(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the program was killed while it sent this
	}
	t := p.next()
	p.add(&p.blocked, 1)
	<-t.unblocked
	p.add(&p.blocked, -1)
	if t.throttled {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	p.redeem(w, r, body, t)
}

// read forwards other requests than redeems; as many replies are lost.
func (p *faultProxy) read(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	lost := every(p.requests-p.redeems, p.dropEvery)
	p.mu.Unlock()
	if lost {
		panic(http.ErrAbortHandler)
	}
	p.to.ServeHTTP(w, r)
}

// redeem forwards a redeem, unless a fault prevents it.
func (p *faultProxy) redeem(w http.ResponseWriter, r *http.Request, body []byte, t treatment) {
	// A server does not stop its work when the client is gone.
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	reply := httptest.NewRecorder()
	p.add(&p.working, 1)
	if t.injects(broken) {
		time.AfterFunc(late, func() {
			defer p.add(&p.working, -1)
			p.to.ServeHTTP(reply, r)
		})
		panic(http.ErrAbortHandler)
	}
	defer p.add(&p.working, -1)
	switch {
	case t.injects(beforeWork), t.fault.inject == nil && every(t.number, p.loseEvery):
		panic(http.ErrAbortHandler)
	case t.injects(lateWork):
		<-time.After(late)
	}
	p.to.ServeHTTP(reply, r)
	switch {
	case t.injects(afterWork):
		panic(http.ErrAbortHandler)
	case t.fault.inject == nil && every(t.number, p.dropEvery):
		drop(w, reply, t.number/p.dropEvery)
		return
	}
	pass(w, reply, reply.Body.Len())
	t.injects(afterReply)
}

// drop loses a reply, alternating between three kinds of loss.
func drop(w http.ResponseWriter, reply *httptest.ResponseRecorder, n int) {
	switch n % 3 {
	case 0:
		panic(http.ErrAbortHandler)
	case 1:
		pass(w, reply, reply.Body.Len()/2)
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader(http.StatusBadGateway)
	}
}

// pass sends a reply's header and part of its body; the client may be gone.
func pass(w http.ResponseWriter, reply *httptest.ResponseRecorder, size int) {
	maps.Copy(w.Header(), reply.Header())
	w.Header().Set("Content-Length", strconv.Itoa(reply.Body.Len()))
	w.WriteHeader(reply.Code)
	_, _ = w.Write(reply.Body.Bytes()[:size])
	_ = http.NewResponseController(w).Flush()
}

// injects injects the fault if this is its point, and reports whether it was.
func (t treatment) injects(m faultPoint) bool {
	if t.fault.inject == nil || t.fault.point != m {
		return false
	}
	t.fault.inject()
	return true
}

func every(number, n int) bool { return n > 0 && number%n == 0 }
