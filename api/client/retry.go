package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 10 * time.Second
)

// retry sends a request again when that can help and cannot do harm.
type retry struct {
	Config // with defaults
	next   http.RoundTripper

	notBefore atomic.Pointer[time.Time] // no request may be sent earlier: the server has asked for that
}

func (r *retry) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	e := stateOf(ctx)
	for {
		if err := r.waitForThrottle(ctx, e); err != nil {
			return nil, &networkError{err: err}
		}
		res, err := r.attempt(req, e)
		pause, ok := r.nextWait(req, e, res, err)
		if !ok {
			return res, err
		}
		if err := r.wait(ctx, e, pause); err != nil {
			return nil, &networkError{err: err}
		}
		req = e.rewound(req)
	}
}

func (r *retry) attempt(req *http.Request, e *requestState) (*http.Response, error) {
	// before the time limit begins: a request that reaches the limit must not seem shorter
	began := r.Clock.Now()
	ctx, cancel := context.WithTimeout(req.Context(), r.Timeout-e.spent)
	defer cancel() // the body is read by then
	res, err := r.next.RoundTrip(req.WithContext(ctx))
	received := r.Clock.Now()
	e.spent += received.Sub(began)
	if err != nil {
		e.failed(err)
		return nil, err
	}
	if !r.HonoursKeys.Load() && (repeatsKey(req, res) || res.Header.Get(replayed) == "true") {
		r.HonoursKeys.Store(true)
	}
	e.seen = exchange{began, received, res.Header}
	e.received(req, res)
	return res, nil
}

// shouldRetry tells whether another attempt can help and cannot do harm. What was never sent, or was refused with 429,
// may always be repeated. After any other failure only a request that may be carried out twice is.
func (r *retry) shouldRetry(req *http.Request, e *requestState, res *http.Response, err error) bool {
	repeatable := safe(req.Method) || e.repeatable ||
		req.Method == http.MethodPost && req.Header.Get(idempotencyKey) != "" && r.HonoursKeys.Load() &&
			req.Context().Value(onceKey{}) == nil
	if err != nil {
		if wire, ok := errors.AsType[*networkError](err); ok && !wire.sent {
			return isTransient(wire.err)
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

type onceKey struct{}

// Once returns a context in which a change whose reply is lost is not sent again under its key: who asks comes back.
func Once(ctx context.Context) context.Context { return context.WithValue(ctx, onceKey{}, true) }

// nextWait decides about another attempt. It waits exactly as long as the server asks. Otherwise it backs off: the wait
// is a random part of a limit that doubles, so that clients do not come back together.
func (r *retry) nextWait(req *http.Request, e *requestState, res *http.Response, err error) (Wait, bool) {
	var asked time.Duration
	if err == nil {
		asked = retryAfter(res.Header, r.Clock.Now())
		if asked > 0 && res.StatusCode == http.StatusTooManyRequests {
			r.throttle(asked)
		}
	}
	if r.WaitBudget == 0 || req.Context().Err() != nil || e.spent >= r.Timeout || !r.shouldRetry(req, e, res, err) {
		return Wait{}, false
	}
	w := Wait{For: asked, Requested: asked > 0}
	switch {
	case err != nil:
		w.Why = reason(err)
	case e.broken != nil:
		w.Why = reason(&cutOff{e.broken})
	default:
		w.Why = statusText(res.StatusCode)
	}
	if !w.Requested {
		left := min(r.WaitBudget-e.waited, r.BackoffBudget-e.backedOff)
		if left <= 0 {
			return Wait{}, false
		}
		longest := min(firstBackoff<<min(e.backoffs, 16), maxBackoff)
		w.For = min(r.Clock.Jitter(longest), left)
	}
	return w, r.canWait(req.Context(), e, w.For)
}

func (r *retry) canWait(ctx context.Context, e *requestState, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return d <= r.WaitBudget-e.waited && (!ok || r.Clock.Now().Add(d).Before(deadline))
}

func (r *retry) wait(ctx context.Context, e *requestState, w Wait) error {
	e.waited += w.For
	if !w.Requested {
		e.backedOff += w.For
		e.backoffs++
	}
	if r.OnWait != nil {
		r.OnWait(w)
	}
	waiting, stop := WaitContext(ctx)
	defer stop()
	return r.Clock.Wait(waiting, w.For)
}

// throttle makes all requests of this client wait until the server wants requests again.
func (r *retry) throttle(d time.Duration) {
	until := r.Clock.Now().Add(d)
	for {
		known := r.notBefore.Load()
		if known != nil && !until.After(*known) || r.notBefore.CompareAndSwap(known, &until) {
			return
		}
	}
}

// waitForThrottle waits until the throttle has passed. If that is longer than the request can wait, it is sent at once.
func (r *retry) waitForThrottle(ctx context.Context, e *requestState) error {
	for r.WaitBudget > 0 {
		until := r.notBefore.Load()
		if until == nil {
			return nil
		}
		d := until.Sub(r.Clock.Now())
		if d <= 0 {
			r.notBefore.CompareAndSwap(until, nil)
			return nil
		}
		if !r.canWait(ctx, e, d) {
			return nil
		}
		if err := r.wait(ctx, e, Wait{For: d, Requested: true,
			Why: statusText(http.StatusTooManyRequests)}); err != nil {
			return err
		}
	}
	return nil
}

func statusText(status int) string { return fmt.Sprintf("%d %s", status, http.StatusText(status)) }

// isTransient tells whether a failed connection may succeed later. A wrong name, an untrusted certificate or an invalid
// request will not.
func isTransient(err error) bool {
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound || isAlert(err) {
		return false
	}
	return errors.As(err, new(net.Error)) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// forever is longer than anyone waits, but does not overflow when something is added.
const forever = 100 * 365 * 24 * time.Hour

// retryAfter reads Retry-After (RFC 9110, section 10.2.3); 0 if there is none. A date is compared with the response's
// own Date, because the two clocks may differ.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(forever/time.Second) {
			return forever
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

// noResend makes sure that a change is sent at most once, and that a failure says whether it may have been sent. It
// reads the response into memory.
//
// net/http resends a request by itself when a reused connection breaks, if it believes that this is safe. A header
// named Idempotency-Key makes it believe so of a POST, whether or not the server honours keys.
type noResend struct{ next http.RoundTripper }

func (s *noResend) RoundTrip(req *http.Request) (*http.Response, error) {
	e := stateOf(req.Context())
	e.connected.Store(false)
	if !safe(req.Method) {
		// net/http cannot send again what it cannot rewind; retry made the request for this attempt alone
		req.GetBody = nil
	}
	res, err := s.next.RoundTrip(req)
	if err != nil {
		return nil, &networkError{err: err, sent: e.connected.Load()}
	}
	e.reply, e.broken = readBody(res)
	res.Body = io.NopCloser(bytes.NewReader(e.reply))
	return res, nil
}

// readBody reads at most one byte more than maxResponse. broken is why the body is incomplete.
func readBody(res *http.Response) (text []byte, broken error) {
	defer res.Body.Close()
	var body bytes.Buffer
	if res.Body != http.NoBody && res.ContentLength > 0 && res.ContentLength <= maxResponse {
		body.Grow(int(res.ContentLength) + bytes.MinRead) // so that ReadFrom sees the end without growing
	}
	_, broken = body.ReadFrom(io.LimitReader(res.Body, maxResponse+1))
	return body.Bytes(), broken
}

// networkError is a failure of the network. With sent, bytes of the request may have reached the server.
type networkError struct {
	err  error
	sent bool
}

func (w *networkError) Error() string { return w.err.Error() }
func (w *networkError) Unwrap() error { return w.err }

// requestState is the state of one request over all its attempts. It is in the request's context, because redirects and
// a second token pass through the RoundTrippers more than once.
type requestState struct {
	repeatable bool   // the request may be carried out twice, whatever its method
	body       []byte // of the request

	spent     time.Duration // in attempts
	waited    time.Duration // between them
	backedOff time.Duration // the part of waited that no server asked for
	backoffs  int

	connected atomic.Bool // the attempt under way has a connection

	seen   exchange // the last one
	reply  []byte   // the body of its response
	broken error    // why that body is incomplete; nil if it is complete

	sent       bool // a part of the request may have left this computer
	lost       bool // the outcome of an attempt was unknown at some time
	unresolved bool // an attempt may have been carried out, and no later response tells
	// conflicted: the last response was a 409 under the request's idempotency key. Its code tells whether an earlier
	// attempt changed something; see refusal.
	conflicted bool
}

type stateKey struct{}

func withState(ctx context.Context, e *requestState) context.Context {
	connected := func(httptrace.GotConnInfo) { e.connected.Store(true) }
	return httptrace.WithClientTrace(context.WithValue(ctx, stateKey{}, e), &httptrace.ClientTrace{GotConn: connected})
}

func stateOf(ctx context.Context) *requestState {
	if e, ok := ctx.Value(stateKey{}).(*requestState); ok {
		return e
	}
	return &requestState{}
}

// rewound returns a copy of the request with an unread body.
func (e *requestState) rewound(req *http.Request) *http.Request {
	req = req.WithContext(req.Context())
	if req.Body = http.NoBody; len(e.body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(e.body))
	}
	return req
}

func (e *requestState) failed(err error) {
	if wire, ok := errors.AsType[*networkError](err); !ok || wire.sent {
		e.sent, e.lost, e.unresolved = true, true, true
	}
}

// notLooked are the statuses of refusals that come before the idempotency key is looked up, even if a middleware
// repeats the key.
var notLooked = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooEarly,
	http.StatusTooManyRequests}

// received records a response. Only one that looked at the idempotency key resolves an earlier lost attempt.
func (e *requestState) received(req *http.Request, res *http.Response) {
	e.sent = true
	hasLooked := !slices.Contains(notLooked, res.StatusCode)
	switch {
	case res.StatusCode >= 500 || res.StatusCode == http.StatusSeeOther || e.broken != nil:
		e.lost, e.unresolved = true, true
	case repeatsKey(req, res) && res.StatusCode == http.StatusConflict:
		e.conflicted = true
	case res.StatusCode < 300, res.StatusCode >= 400 && hasLooked && repeatsKey(req, res):
		e.unresolved = false
	}
}
