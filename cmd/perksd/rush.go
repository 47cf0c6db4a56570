package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// rush bounds how many requests are under way at once. Over HTTP/1 there are never more than connections; a connection of
// HTTP/2 can have a hundred, each of which takes as much memory as a connection. Every connection may always have one, so
// that nobody keeps others out; what it has beyond that takes a place, of which there are as many as connections.
type rush struct {
	next   http.Handler
	log    *slog.Logger
	places chan struct{}
	said   atomic.Int64 // when the log was last told of a refusal, in Unix seconds
}

func boundRush(next http.Handler, places int, log *slog.Logger) *rush {
	return &rush{next: next, log: log, places: make(chan struct{}, places)}
}

// underWay is the key of a connection's number of requests that are under way.
type underWay struct{}

// count has the requests of a connection counted: it is an http.Server's ConnContext.
func (*rush) count(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, underWay{}, new(atomic.Int64))
}

func (r *rush) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	ofConnection := request.Context().Value(underWay{}).(*atomic.Int64)
	isOnly := ofConnection.Add(1) == 1
	defer ofConnection.Add(-1)
	if !isOnly {
		select {
		case r.places <- struct{}{}:
			defer func() { <-r.places }()
		default:
			r.refuse(w)
			return
		}
	}
	r.next.ServeHTTP(w, request)
}

// The log tells of refusals so often, and a refusal waits so long for who does not read.
const (
	rushReported = time.Minute
	refusalTime  = time.Second
)

// refuse answers without a body, because a caller can hold a body up, and with it all that a request takes.
func (r *rush) refuse(w http.ResponseWriter) {
	now := time.Now()
	if said := r.said.Load(); now.Unix()-said >= int64(rushReported/time.Second) && r.said.CompareAndSwap(said, now.Unix()) {
		r.log.Warn("requests are refused with 503, because too many are under way at once over HTTP/2; --max-connections says how many there may be beyond one of each connection",
			"most", cap(r.places))
	}
	_ = http.NewResponseController(w).SetWriteDeadline(now.Add(refusalTime)) // without it the server's own holds
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusServiceUnavailable)
}
