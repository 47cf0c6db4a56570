package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// effort is what one request has come to so far, over all its attempts. It travels with the request's context, because
// redirects and a second token lead through the trippers more than once.
type effort struct {
	harmless bool // carrying the request out twice is no worse than once, whatever its method

	spent   time.Duration // in attempts
	waited  time.Duration // between them
	guessed time.Duration // the part of waited that no server asked for
	guesses int

	connected atomic.Bool // the attempt under way has a connection

	left bool // something of the request may have left this computer
	lost bool // what became of an attempt was not known for a while
	open bool // an attempt may have been carried out, and no later answer tells
	// disputed says that the last answer was a conflict under the request's key, whose code tells whether the attempt before
	// it changed something; see refusal.
	disputed bool
}

type effortKey struct{}

func withEffort(ctx context.Context, e *effort) context.Context {
	return httptrace.WithClientTrace(context.WithValue(ctx, effortKey{}, e), &httptrace.ClientTrace{GotConn: e.gotConn})
}

func (e *effort) gotConn(httptrace.GotConnInfo) { e.connected.Store(true) }

func effortOf(ctx context.Context) *effort {
	if e, ok := ctx.Value(effortKey{}).(*effort); ok {
		return e
	}
	return &effort{}
}

// failed takes note of an attempt that got no answer.
func (e *effort) failed(err error) {
	var wire *wireError
	if !errors.As(err, &wire) || wire.sent {
		e.left, e.lost, e.open = true, true, true
	}
}

// answered takes note of an answer. A refusal that does not come from where keys are looked at, such as 401, says nothing
// about an earlier attempt that was lost.
func (e *effort) answered(req *http.Request, res *http.Response, broken error) {
	e.left = true
	switch {
	case res.StatusCode >= 500 || res.StatusCode == http.StatusSeeOther || broken != nil:
		e.lost, e.open = true, true
	case repeatsKey(req, res) && res.StatusCode == http.StatusConflict:
		e.disputed = true
	case res.StatusCode < 300 || repeatsKey(req, res):
		e.open = false
	}
}
