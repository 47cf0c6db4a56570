package server

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/perks/api"
)

// clientListeners is how many streams and waits each client may have open. One more ends the oldest.
const clientListeners = 16

// defaultListeners is Config.MaxListeners if that is zero.
const defaultListeners = 5000

// maxUnsent is the bytes of events that were sent in part, for all callers that take no more now. One more is cut off.
const maxUnsent = 32 << 20

// errReplaced is why a stream or a wait ends when its client has begun too many others.
var errReplaced = errors.New("the client follows events too often at once")

// Why a stream or a wait ends before its caller leaves, as the metric's label.
const (
	listenerReplaced = "replaced"
	listenerSlow     = "slow"
	listenerRevoked  = "revoked"
)

// listeners are the streams and waits that are open. Each keeps a connection busy for as long as its caller likes.
type listeners struct {
	most  int
	ended *prometheus.CounterVec // by why

	mu       sync.Mutex
	open     int
	unsent   int                     // see maxUnsent
	byClient map[string][]*listening // the oldest first
}

// listening is one of them.
type listening struct{ end context.CancelCauseFunc }

func newListeners(most int) *listeners {
	l := &listeners{most: most, byClient: map[string][]*listening{},
		ended: counters("event_listeners_ended_total", "Streams and waits for events that the server ended.", "reason")}
	for _, reason := range []string{listenerReplaced, listenerSlow, listenerRevoked} {
		l.ended.WithLabelValues(reason)
	}
	return l
}

func (l *listeners) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		l.ended,
		gauge("event_listeners", "Streams and waits for events that are open.", nil, func() int {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.open
		}),
		gauge("event_listeners_max", "Streams and waits for events that may be open.", nil,
			func() int { return l.most }),
	}
}

// begin returns a context that ends when the listener is replaced. end must be called when it has ended.
func (l *listeners) begin(ctx context.Context, clientID string) (_ context.Context, end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.byClient[clientID]
	isReplacing := len(own) >= clientListeners
	if l.open >= l.most && !isReplacing {
		return nil, nil, api.Errorf(api.CodeUnavailable,
			"Too many callers follow events here. Try again later, or read pages without wait.")
	}
	if isReplacing {
		l.remove(clientID, own[0])
		l.ended.WithLabelValues(listenerReplaced).Inc()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	entry := &listening{cancel}
	l.byClient[clientID] = append(l.byClient[clientID], entry)
	l.open++
	return ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.remove(clientID, entry)
	}, nil
}

// remove ends a listener, unless that has been done.
func (l *listeners) remove(clientID string, removed *listening) {
	own := l.byClient[clientID]
	i := slices.Index(own, removed)
	if i < 0 {
		return
	}
	removed.end(errReplaced)
	l.open--
	if own = slices.Delete(own, i, i+1); len(own) > 0 {
		l.byClient[clientID] = own
	} else {
		delete(l.byClient, clientID)
	}
}

// hold counts the unsent bytes of an event that was sent in part, unless they are too many, until done is called.
func (l *listeners) hold(bytes int) (done func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes > 0 && l.unsent+bytes > maxUnsent {
		return nil, false
	}
	l.unsent += bytes
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.unsent -= bytes
	}, true
}
