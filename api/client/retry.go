package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	firstGuess   = 100 * time.Millisecond
	longestGuess = 10 * time.Second
)

// retry sends a request again when that can help and cannot do harm. See again for what is sent again, and pause for how
// long it waits before.
type retry struct {
	Config // with defaults
	next   http.RoundTripper
	clock  Clock

	honoursKeys atomic.Bool               // the server has shown that keys count
	notBefore   atomic.Pointer[time.Time] // until then the server wants no requests
}

func newRetry(config Config) *retry {
	r := &retry{Config: config, clock: realClock}
	r.Timeout, r.Unasked = cmp.Or(r.Timeout, defaultTimeout), cmp.Or(r.Unasked, r.Patience)
	if r.Clock != nil {
		r.clock = *r.Clock
	}
	return r
}

func (r *retry) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	e := effortOf(ctx)
	for {
		if err := r.heedOthers(ctx, e); err != nil {
			return nil, &wireError{err: err}
		}
		res, err := r.attempt(req, e)
		pause, ok := r.pause(req, e, res, err)
		if !ok {
			return res, err
		}
		if err := r.rest(ctx, e, pause); err != nil {
			return nil, &wireError{err: err}
		}
		req = e.rewound(req)
	}
}

func (r *retry) attempt(req *http.Request, e *effort) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), r.Timeout-e.spent)
	defer cancel() // the answer's body is read by then
	began := r.clock.Now()
	res, err := r.next.RoundTrip(req.WithContext(ctx))
	ended := r.clock.Now()
	e.spent += ended.Sub(began)
	if err != nil {
		e.failed(err)
		return nil, err
	}
	if !r.honoursKeys.Load() && (repeatsKey(req, res) || res.Header.Get(replayed) == "true") {
		r.honoursKeys.Store(true)
	}
	e.seen = exchange{began, ended, res.Header}
	e.answered(req, res)
	return res, nil
}

// again tells whether sending the request again can help and cannot do harm. Everything may be sent again that was not
// sent at all, or that the server put off with 429; only what may be carried out twice, as far as is known by now, after
// anything else.
func (r *retry) again(req *http.Request, e *effort, res *http.Response, err error) bool {
	repeatable := safe(req.Method) || e.harmless ||
		req.Method == http.MethodPost && req.Header.Get(idempotencyKey) != "" && r.honoursKeys.Load()
	if err != nil {
		if wire, ok := errors.AsType[*wireError](err); ok && !wire.sent {
			return mayPass(wire.err)
		}
		return repeatable
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return repeatable
	}
	return e.broken != nil && repeatable
}

// pause decides about another attempt. It waits exactly as long as the server asks, or gives up at once; where the server
// asks for nothing, the wait is a random part of a limit that doubles, so that many clients do not come back together.
func (r *retry) pause(req *http.Request, e *effort, res *http.Response, err error) (Wait, bool) {
	var asked time.Duration
	if err == nil {
		asked = retryAfter(res.Header, r.clock.Now())
		if asked > 0 && res.StatusCode == http.StatusTooManyRequests {
			r.putOff(asked)
		}
	}
	if r.Patience == 0 || req.Context().Err() != nil || e.spent >= r.Timeout || !r.again(req, e, res, err) {
		return Wait{}, false
	}
	w := Wait{For: asked, Asked: asked > 0}
	switch {
	case err != nil:
		w.Why = reason(err)
	case e.broken != nil:
		w.Why = reason(&brokenOff{e.broken})
	default:
		w.Why = statusText(res.StatusCode)
	}
	if !w.Asked {
		left := min(r.Patience-e.waited, r.Unasked-e.guessed)
		if left <= 0 {
			return Wait{}, false
		}
		longest := min(firstGuess<<min(e.guesses, 16), longestGuess)
		w.For = min(r.clock.Jitter(longest), left)
	}
	return w, r.affords(req.Context(), e, w.For)
}

func (r *retry) affords(ctx context.Context, e *effort, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return d <= r.Patience-e.waited && (!ok || r.clock.Now().Add(d).Before(deadline))
}

func (r *retry) rest(ctx context.Context, e *effort, w Wait) error {
	e.waited += w.For
	if !w.Asked {
		e.guessed += w.For
		e.guesses++
	}
	if r.Waiting != nil {
		r.Waiting(w)
	}
	waiting, stop := Waits(ctx)
	defer stop()
	return r.clock.Wait(waiting, w.For)
}

// putOff makes all requests of this client heed that the server wants none for a while.
func (r *retry) putOff(d time.Duration) {
	until := r.clock.Now().Add(d)
	for {
		known := r.notBefore.Load()
		if known != nil && !until.After(*known) || r.notBefore.CompareAndSwap(known, &until) {
			return
		}
	}
}

// heedOthers waits as long as an answer to another request asked for. A wait that is too long is not begun: the server may
// say so itself.
func (r *retry) heedOthers(ctx context.Context, e *effort) error {
	for r.Patience > 0 {
		until := r.notBefore.Load()
		if until == nil {
			return nil
		}
		d := until.Sub(r.clock.Now())
		if d <= 0 {
			r.notBefore.CompareAndSwap(until, nil)
			return nil
		}
		if !r.affords(ctx, e, d) {
			return nil
		}
		if err := r.rest(ctx, e, Wait{For: d, Asked: true, Why: statusText(http.StatusTooManyRequests)}); err != nil {
			return err
		}
	}
	return nil
}

func statusText(status int) string { return fmt.Sprintf("%d %s", status, http.StatusText(status)) }

// mayPass tells whether a connection that could not be made may come about later: a refusal or silence may end, but a wrong
// name, a certificate that nobody vouches for and a fault in the request stay as they are.
func mayPass(err error) bool {
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound || isAlert(err) {
		return false
	}
	return errors.As(err, new(net.Error)) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// forEver is more than anyone waits, and can still be added to.
const forEver = 100 * 365 * 24 * time.Hour

// retryAfter reads how long the server asks to wait (RFC 9110, section 10.2.3), 0 if it asks for nothing. A date is read
// against the answer's own Date, because the server's clock may not be this computer's.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(forEver/time.Second) {
			return forEver
		}
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return max(0, until.Sub(now))
}

// sendOnce makes sure that a change goes out at most once, and that a failure says whether it may have gone out. It reads the
// answer into memory.
//
// net/http sends a request again by itself when a kept connection breaks, if it believes that this is harmless; a header
// named Idempotency-Key makes it believe so of a POST. Whether that is true depends on the server, so it must not decide.
type sendOnce struct{ next http.RoundTripper }

func (s *sendOnce) RoundTrip(req *http.Request) (*http.Response, error) {
	e := effortOf(req.Context())
	e.connected.Store(false)
	if !safe(req.Method) {
		req.GetBody = nil // net/http cannot send again what it cannot rewind; retry made the request for this attempt alone
	}
	res, err := s.next.RoundTrip(req)
	if err != nil {
		return nil, &wireError{err: err, sent: e.connected.Load()}
	}
	e.reply, e.broken = readBody(res)
	res.Body = io.NopCloser(bytes.NewReader(e.reply))
	return res, nil
}

// readBody returns no more than one byte more than an answer may have, and why the body ended early, if it did.
func readBody(res *http.Response) (text []byte, broken error) {
	defer res.Body.Close()
	var body bytes.Buffer
	if res.Body != http.NoBody && res.ContentLength > 0 && res.ContentLength <= maxAnswer {
		body.Grow(int(res.ContentLength) + bytes.MinRead) // so that ReadFrom sees the end without growing
	}
	_, broken = body.ReadFrom(io.LimitReader(res.Body, maxAnswer+1))
	return body.Bytes(), broken
}

// wireError is a failure of the network. With sent, bytes of the request may have reached the server.
type wireError struct {
	err  error
	sent bool
}

func (w *wireError) Error() string { return w.err.Error() }
func (w *wireError) Unwrap() error { return w.err }

// effort is what one request has come to so far, over all its attempts. It travels with the request's context, because
// redirects and a second token lead through the trippers more than once.
type effort struct {
	harmless bool   // carrying the request out twice is no worse than once, whatever its method
	body     []byte // of the request

	spent   time.Duration // in attempts
	waited  time.Duration // between them
	guessed time.Duration // the part of waited that no server asked for
	guesses int

	connected atomic.Bool // the attempt under way has a connection

	seen   exchange // the last answer
	reply  []byte   // its body
	broken error    // why the body ended early; nil if it came whole

	left bool // something of the request may have left this computer
	lost bool // what became of an attempt was not known for a while
	open bool // an attempt may have been carried out, and no later answer tells
	// disputed says that the last answer was a conflict under the request's key, whose code tells whether the attempt before
	// it changed something; see refusal.
	disputed bool
}

type effortKey struct{}

func withEffort(ctx context.Context, e *effort) context.Context {
	connected := func(httptrace.GotConnInfo) { e.connected.Store(true) }
	return httptrace.WithClientTrace(context.WithValue(ctx, effortKey{}, e), &httptrace.ClientTrace{GotConn: connected})
}

func effortOf(ctx context.Context) *effort {
	if e, ok := ctx.Value(effortKey{}).(*effort); ok {
		return e
	}
	return &effort{}
}

// rewound returns a copy of the request whose body is still to be read.
func (e *effort) rewound(req *http.Request) *http.Request {
	req = req.WithContext(req.Context())
	if req.Body = http.NoBody; len(e.body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(e.body))
	}
	return req
}

func (e *effort) failed(err error) {
	if wire, ok := errors.AsType[*wireError](err); !ok || wire.sent {
		e.left, e.lost, e.open = true, true, true
	}
}

// answered takes note of an answer. A refusal that does not come from where keys are looked at, such as 401, says nothing
// about an earlier attempt that was lost.
func (e *effort) answered(req *http.Request, res *http.Response) {
	e.left = true
	switch {
	case res.StatusCode >= 500 || res.StatusCode == http.StatusSeeOther || e.broken != nil:
		e.lost, e.open = true, true
	case repeatsKey(req, res) && res.StatusCode == http.StatusConflict:
		e.disputed = true
	case res.StatusCode < 300 || repeatsKey(req, res):
		e.open = false
	}
}
