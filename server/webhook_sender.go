package server

import (
	"context"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"example.com/perks/api"
	"example.com/perks/store"
)

const (
	webhookBeat     = time.Second     // between two syncs
	webhookLook     = 2 * time.Second // between two looks for webhooks while there are none
	webhookLease    = 4 * time.Second // that a server delivers after the start of its last sync
	webhookDead     = 5 * time.Second // that others wait until they take the webhooks of one that is silent
	webhookSyncTime = 3 * time.Second // for a sync
	webhookEnd      = 5 * time.Second // for the requests that run when the server ends
	webhookLogged   = 200             // deliveries that one sync keeps at most
	webhookLoading  = 8               // webhooks that are read at once
	webhookBusyRate = 50              // requests a second for each processor while redeeming keeps the server busy
	webhookBusy     = 100             // requests to redeem in a second for each processor that keep it busy
)

// Why a request to a webhook is counted.
const (
	outcomeNameDelivered = "delivered"
	outcomeNameFailed    = "failed"
)

// webhookSender delivers the webhooks of a database that this server holds. All servers share them, by what each tells
// the database once a second.
type webhookSender struct {
	service *service
	store   store.Store
	sandbox bool
	feed    *eventFeed
	poster  *webhookPoster
	keys    webhookKeys
	loading slots
	slow    *rate.Limiter // of requests while redeeming keeps the server busy
	wake    chan struct{} // a webhook was made or changed here
	server  string        // its name among the others
	peers   webhookPeers

	requests *prometheus.CounterVec
	disabled prometheus.Counter

	endpoints map[string]*webhookEndpoint // of the goroutine that runs

	mu        sync.Mutex
	leased    time.Time // until then
	lease     context.Context
	endLease  context.CancelFunc
	expiry    *time.Timer
	hasFailed bool
	warned    time.Time
	state     store.WebhookState // of the last sync
	delivers  []*webhookEndpoint // what endpoints has, for metrics
}

func newWebhookSender(s *service, db store.Store, sandbox bool, feed *eventFeed) *webhookSender {
	return &webhookSender{
		service: s, store: db, sandbox: sandbox, feed: feed, poster: s.poster,
		keys:    webhookKeys{db, s.config.WebhookKeys},
		loading: make(slots, webhookLoading), slow: rate.NewLimiter(rate.Limit(webhookBusyRate*runtime.GOMAXPROCS(0)), 1),
		wake: make(chan struct{}, 1), server: uuid.NewString(), peers: webhookPeers{},
		requests: s.metrics.webhookRequests, disabled: s.metrics.webhooksDisabled.WithLabelValues(databaseLabel(sandbox)),
		endpoints: map[string]*webhookEndpoint{},
	}
}

// webhookPeers is when the beats of the other servers were last seen to rise, by this server's clock.
type webhookPeers map[string]seenBeats

type seenBeats struct {
	beats int64
	at    time.Time
}

// observe notes the beats of all servers at a time.
func (p webhookPeers) observe(servers []store.WebhookServer, at time.Time) {
	known := map[string]bool{}
	for _, s := range servers {
		known[s.Server] = true
		if seen, isKnown := p[s.Server]; !isKnown || seen.beats != s.Beats {
			p[s.Server] = seenBeats{s.Beats, at}
		}
	}
	maps.DeleteFunc(p, func(name string, _ seenBeats) bool { return !known[name] })
}

// dead returns the servers but one that were silent for long.
func (p webhookPeers) dead(self string, at time.Time) (dead []store.WebhookServer) {
	for name, seen := range p {
		if name != self && at.Sub(seen.at) >= webhookDead {
			dead = append(dead, store.WebhookServer{Server: name, Beats: seen.beats})
		}
	}
	return dead
}

// share is how many of the webhooks a server delivers while these are alive: the first servers have one more.
func (p webhookPeers) share(self string, webhooks int, at time.Time) int {
	dead := p.dead(self, at)
	names := []string{self}
	for name := range p {
		if name != self && !slices.ContainsFunc(dead, func(d store.WebhookServer) bool { return d.Server == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	share := webhooks / len(names)
	if slices.Index(names, self) < webhooks%len(names) {
		share++
	}
	return share
}

// poke makes the sender look for a change of a webhook at once.
func (s *webhookSender) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run delivers until ctx or the feed ends.
func (s *webhookSender) run(ctx context.Context) {
	defer s.finish(context.WithoutCancel(ctx))
	for isBusy := false; ; {
		pause := webhookBeat
		if !isBusy {
			has, err := s.store.HasWebhooks(ctx)
			if isBusy = has && err == nil; !isBusy {
				pause = webhookLook
			}
		}
		if isBusy {
			isBusy = s.sync(ctx)
		}
		if s.isShort() {
			pause = 0
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-s.feed.ended:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// isShort tells whether this server is alone and does not hold all webhooks yet.
func (s *webhookSender) isShort() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.hasFailed && len(s.state.Servers) == 1 && len(s.state.Held) < s.state.Enabled
}

// sync tells the database how far this server has come, and begins and ends what follows from the answer. It returns
// false if there are no webhooks any more.
func (s *webhookSender) sync(ctx context.Context) bool {
	begun := time.Now()
	dead := s.peers.dead(s.server, begun)
	share := s.peers.share(s.server, s.state.Enabled, begun)
	ask := store.WebhookSync{Server: s.server, At: s.service.now(), Dead: dead, Take: max(0, share-len(s.state.Held))}
	s.release(len(s.state.Held) - share)
	snapshots := s.snapshots(&ask)
	state, err := s.exchange(ctx, ask)
	for _, snapshot := range snapshots {
		snapshot.endpoint.keep(snapshot, err == nil)
	}
	if err != nil {
		return true
	}
	s.renew(begun)
	s.peers.observe(state.Servers, begun)
	s.mu.Lock()
	s.state = state
	s.mu.Unlock()
	s.settle(snapshots)
	return state.Enabled > 0 || len(s.endpoints) > 0
}

func (s *webhookSender) exchange(ctx context.Context, ask store.WebhookSync) (store.WebhookState, error) {
	ctx, cancel := context.WithTimeout(ctx, webhookSyncTime)
	defer cancel()
	state, err := s.store.SyncWebhooks(ctx, ask)
	if err != nil && !s.hasFailed && ctx.Err() != context.Canceled {
		s.service.config.Logger.Error("webhooks wait, because the database cannot be written; this is tried again",
			"database", databaseLabel(s.sandbox), "error", sanitize(err.Error()))
	}
	s.hasFailed = err != nil
	return state, err
}

// release stops some webhooks, so that other servers take them.
func (s *webhookSender) release(surplus int) {
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(s.endpoints))) {
		if surplus <= 0 {
			return
		}
		e := s.endpoints[id]
		e.isReleased = true
		e.stop()
		surplus--
	}
}

// snapshots adds to a sync what all webhooks have come to.
func (s *webhookSender) snapshots(ask *store.WebhookSync) (snapshots []webhookSnapshot) {
	for id, e := range s.endpoints { // in another order each time, so that each gets its share of the log
		snapshot, isDirty := e.snapshot(webhookLogged - len(ask.Deliveries))
		if snapshot.isDone && e.isReleased {
			ask.Release = append(ask.Release, id)
		}
		if isDirty || snapshot.isDone {
			snapshots = append(snapshots, snapshot)
		}
		if isDirty {
			ask.Progress = append(ask.Progress, snapshot.WebhookProgress)
			ask.Deliveries = append(ask.Deliveries, snapshot.log...)
		}
	}
	return snapshots
}

// settle forgets the webhooks that have ended, begins those that this server holds, and ends others.
func (s *webhookSender) settle(snapshots []webhookSnapshot) {
	changed := map[string]bool{}
	for _, snapshot := range snapshots {
		e := snapshot.endpoint
		if snapshot.Disabled != "" {
			s.disabled.Inc()
			s.service.config.Logger.Warn("a webhook was disabled", "webhook", e.id, "client", e.hook.ClientID,
				"database", databaseLabel(s.sandbox), "reason", sanitize(snapshot.Disabled))
		}
		if snapshot.isDone && s.endpoints[e.id] == e {
			delete(s.endpoints, e.id)
			changed[e.id] = e.isChanged
		}
	}
	for id, e := range s.endpoints {
		version, isHeld := s.state.Held[id]
		switch {
		case !isHeld:
			e.stop()
		case e.isOlder(version):
			e.isChanged = true
			e.stop()
		}
	}
	lease := s.currentLease()
	for id := range s.state.Held {
		if s.endpoints[id] == nil {
			e := newWebhookEndpoint(s, id, changed[id])
			s.endpoints[id] = e
			go e.run(lease)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivers = slices.Collect(maps.Values(s.endpoints))
}

// isOlder tells whether the webhook was changed since it was read.
func (e *webhookEndpoint) isOlder(version int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.loaded && e.version < version
}

// renew lets the server deliver for a while after the start of a sync.
func (s *webhookSender) renew(begun time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leased = begun.Add(webhookLease)
	if s.lease == nil || s.lease.Err() != nil {
		s.lease, s.endLease = context.WithCancel(context.Background())
	}
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.expiry = time.AfterFunc(time.Until(s.leased), s.endLease)
}

func (s *webhookSender) currentLease() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease
}

// isLeased tells whether no other server delivers what this one holds.
func (s *webhookSender) isLeased() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.leased)
}

// finish lets the requests that run end, keeps what they have come to, and gives all to other servers.
func (s *webhookSender) finish(ctx context.Context) {
	if s.currentLease() == nil {
		return
	}
	deadline := time.NewTimer(webhookEnd)
	defer deadline.Stop()
	for _, e := range s.endpoints {
		e.isReleased = true
		e.stop()
	}
	for _, e := range s.endpoints {
		select {
		case <-e.done:
		case <-deadline.C:
			s.endLease()
			<-e.done
		}
	}
	ask := store.WebhookSync{Server: s.server, At: s.service.now(), Leaves: true}
	s.snapshots(&ask)
	_, _ = s.exchange(ctx, ask) // otherwise others notice after webhookDead
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLease()
	s.expiry.Stop()
	s.delivers = nil
}

// subscriber returns the client of a webhook as it is now. isActive is false while nothing may be sent to it.
func (s *webhookSender) subscriber(ctx context.Context, clientID string) (caller Caller, isActive bool, err error) {
	client, err := s.service.authority.client(ctx, clientID)
	if api.CodeOf(err) == api.CodeNotFound {
		return caller, false, nil
	}
	isActive = client.Refusal(s.service.config.Now()) == "" && client.Scopes.Has(api.ScopeWebhooksWrite) &&
		(s.sandbox || !client.SandboxOnly)
	return Caller{ClientID: client.ID, Scopes: client.Scopes}, isActive, err
}

// redeemLoad tells whether redeeming keeps the server busy. How many requests run at a moment does not tell: a fast
// server is busy with few.
type redeemLoad struct {
	usual *rate.Limiter // what does not keep it busy
	busy  *atomic.Int64 // Unix time in nanoseconds when there was more
}

func newRedeemLoad() redeemLoad {
	usual := float64(webhookBusy * runtime.GOMAXPROCS(0))
	return redeemLoad{rate.NewLimiter(rate.Limit(usual), int(usual/10)), new(atomic.Int64)}
}

// note counts a request to redeem.
func (l redeemLoad) note() {
	if now := time.Now(); !l.usual.AllowN(now, 1) {
		l.busy.Store(now.UnixNano())
	}
}

// isBusy tells whether there was more than usual in the last second.
func (l redeemLoad) isBusy() bool { return time.Since(time.Unix(0, l.busy.Load())) < time.Second }

// warn logs what may fail again and again, at most every minute.
func (s *webhookSender) warn(message string, args ...any) {
	s.mu.Lock()
	isNew := time.Since(s.warned) >= time.Minute
	if isNew {
		s.warned = time.Now()
	}
	s.mu.Unlock()
	if isNew {
		s.service.config.Logger.Warn(message, append(args, slog.String("database", databaseLabel(s.sandbox)))...)
	}
}

func (s *webhookSender) count(outcome string) {
	s.requests.WithLabelValues(databaseLabel(s.sandbox), outcome).Inc()
}
