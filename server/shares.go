package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/perks/api"
	"example.com/perks/store"
)

const (
	laneInterval = time.Second // between two looks at how many lists may run

	listTime    = 5 * time.Second // for each statement of a list
	maxQueued   = 64              // lists of one client that wait in one lane
	cheapRows   = 20_000          // that a list may collect without being costly; it takes less than 30 ms
	costlyLists = 2               // lists of all clients in a process that collect many records, of each client one
)

// lane lets a limited number of lists run, of all clients and of each, so that others find connections and processors.
// The rest wait, those of one client in the order in which they came. The client that has the fewest running comes
// first.
type lane struct {
	measure func() (perClient, most int)

	mu              sync.Mutex
	perClient, most int // how many may run, of one client and of all
	measuredAt      time.Time
	running         int
	arrived         int // how many have waited, to number them
	clients         map[string]*laneClient
}

type laneClient struct {
	running int
	waiting []*laneTicket
}

type laneTicket struct {
	number int
	start  chan struct{} // closed when the list may run
}

func newLane(perClient, most int) *lane {
	return &lane{measure: func() (int, int) { return perClient, most }, clients: map[string]*laneClient{}}
}

// newListLane leaves half of the connections that read to all but lists: authentication, single records, reports,
// events. Standbys that are read add connections while they are.
func newListLane(db store.Store) *lane {
	l := newLane(0, 0)
	l.measure = func() (perClient, most int) {
		connections := db.Stats().ReadConnections()
		return max(2, connections/4), max(1, connections/2)
	}
	return l
}

// slots limits how many do something at once to its capacity.
type slots chan struct{}

// take waits for a slot. give must be called when it is free again.
func (s slots) take(ctx context.Context) (give func(), err error) {
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errLaneFull = errors.New("too many lists of the client wait")

// enter waits until a list of the client may run. leave must be called at its end.
func (l *lane) enter(ctx context.Context, client string) (leave func(), err error) {
	l.mu.Lock()
	if time.Since(l.measuredAt) >= laneInterval {
		l.perClient, l.most = l.measure()
		l.measuredAt = time.Now()
	}
	c := l.clients[client]
	if c == nil {
		c = &laneClient{}
		l.clients[client] = c
	}
	if len(c.waiting) >= maxQueued {
		l.mu.Unlock()
		return nil, errLaneFull
	}
	l.arrived++
	ticket := &laneTicket{l.arrived, make(chan struct{})}
	c.waiting = append(c.waiting, ticket)
	l.start()
	l.mu.Unlock()
	select {
	case <-ticket.start:
		return func() { l.leave(client) }, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(c.waiting, ticket); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		l.forget(client)
	} else { // it was started meanwhile
		l.end(client)
	}
	return nil, context.Cause(ctx)
}

func (l *lane) leave(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(client)
}

func (l *lane) end(client string) {
	l.running--
	l.clients[client].running--
	l.start()
	l.forget(client)
}

func (l *lane) forget(client string) {
	if c := l.clients[client]; c.running+len(c.waiting) == 0 {
		delete(l.clients, client)
	}
}

// start starts what may run. Only clients that have lists running or waiting are in the map.
func (l *lane) start() {
	for l.running < l.most {
		var next *laneClient
		for _, c := range l.clients {
			if len(c.waiting) > 0 && c.running < l.perClient && (next == nil || c.isBefore(next)) {
				next = c
			}
		}
		if next == nil {
			return
		}
		close(next.waiting[0].start)
		next.waiting = next.waiting[1:]
		next.running++
		l.running++
	}
}

func (c *laneClient) isBefore(other *laneClient) bool {
	if c.running != other.running {
		return c.running < other.running
	}
	return c.waiting[0].number < other.waiting[0].number
}

// collectors are the metrics of the lane.
func (l *lane) collectors(name string) []prometheus.Collector {
	count := func(state string, read func() int) prometheus.Collector {
		return gauge("lists", "Lists that run, or wait until others of their client have ended.",
			prometheus.Labels{"lane": name, "state": state}, read)
	}
	return []prometheus.Collector{
		count("running", func() int { running, _ := l.load(); return running }),
		count("waiting", func() int { _, waiting := l.load(); return waiting }),
	}
}

// load returns how many lists run and wait.
func (l *lane) load() (running, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.clients {
		waiting += len(c.waiting)
	}
	return l.running, waiting
}

// readList reads a list of the caller's in its lane: that of the database, or that of all lists that prove costly.
func readList[T any](
	s *service, c echo.Context, sandbox bool, sort []api.SortKey, read func(context.Context) (T, error),
) (list T, err error) {
	for _, l := range []*lane{s.lists[sandbox], s.costly} {
		list, err = readInLane(s, c, l, read)
		if !errors.Is(err, store.ErrCostly) {
			break
		}
	}
	if errors.Is(err, store.ErrTimeLimit) {
		err = tooExpensive(sort)
	}
	return list, err
}

func readInLane[T any](s *service, c echo.Context, l *lane, read func(context.Context) (T, error)) (list T, err error) {
	leave, err := s.enterLane(c, l)
	if err != nil {
		return list, err
	}
	defer leave()
	if l == s.costly {
		return read(store.LimitList(c.Request().Context(), listTime, 0))
	}
	return read(store.LimitList(c.Request().Context(), listTime, cheapRows))
}

// enterLane waits until the caller may read something in a lane. leave must be called at its end.
func (s *service) enterLane(c echo.Context, l *lane) (leave func(), err error) {
	client := callerOf(c).ClientID
	leave, err = l.enter(c.Request().Context(), client)
	if errors.Is(err, errLaneFull) {
		s.metrics.limited.WithLabelValues(limitOfLists).Inc()
		err = tooMany(time.Second, "The client %q has %d lists waiting here already.", client, maxQueued)
	}
	return leave, err
}

// tooExpensive names what would be cheaper.
func tooExpensive(sort []api.SortKey) error {
	var slow []string
	for _, key := range sort {
		if store.SortsSlowly(key.Field) {
			slow = append(slow, key.Field)
		}
	}
	advice := "Ask for fewer records: add a filter, or follow the Link header instead of asking for a late page."
	if len(slow) > 0 {
		advice = "No index has the order by " + strings.Join(slow, ", ") + ": " +
			"sort by title, city, created_at or valid_to, or add a filter."
	}
	return api.Errorf(api.CodeTooExpensive, "This list takes longer than %s. %s", listTime, advice)
}
