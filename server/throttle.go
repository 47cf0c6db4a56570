package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"example.com/perks/api"
	"example.com/perks/store"
)

// cacheSize bounds the memory for token buckets, clients, their positions and verified tokens; the least recently used
// goes first.
const cacheSize = 10_000

func newLRU[K comparable, V any](size int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](size)
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return cache
}

// buckets holds one token bucket for each name.
type buckets[K comparable] struct {
	mu    sync.Mutex // also keeps the times that limiters see in order
	cache *lru.Cache[K, *rate.Limiter]
	rate  rate.Limit
	burst int
	now   func() time.Time
}

func newBuckets[K comparable](perSecond float64, burst int, now func() time.Time) *buckets[K] {
	return &buckets[K]{cache: newLRU[K, *rate.Limiter](cacheSize), rate: rate.Limit(perSecond), burst: burst, now: now}
}

// take takes a token, if there is one.
func (b *buckets[K]) take(name K) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limiter(name).AllowN(b.now(), 1)
}

func (b *buckets[K]) limiter(name K) *rate.Limiter {
	limiter, ok := b.cache.Get(name)
	if !ok {
		limiter = rate.NewLimiter(b.rate, b.burst)
		b.cache.Add(name, limiter)
	}
	return limiter
}

// charge takes tokens, even if there are fewer: the next ones come when the debt is paid.
func (b *buckets[K]) charge(name K, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	limiter, now := b.limiter(name), b.now()
	for ; tokens > 0; tokens -= b.burst {
		limiter.ReserveN(now, min(tokens, b.burst))
	}
}

// wait returns how long it takes until the bucket holds a whole token again, or zero if it does now. It makes no bucket
// for a new name, so that looking up names evicts none.
func (b *buckets[K]) wait(name K) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	limiter, ok := b.cache.Get(name)
	if !ok {
		return 0
	}
	// A reservation moves the limiter to the current time even if the clock was set back. Otherwise the bucket would
	// stay empty until the clock catches up.
	now := b.now()
	reservation := limiter.ReserveN(now, 1)
	defer reservation.CancelAt(now)
	return reservation.DelayFrom(now)
}

// rateKey limits a client's live and sandbox requests separately: tests in the sandbox must not slow down production.
type rateKey struct {
	clientID string
	sandbox  bool
}

func (s *service) limitClient(client rateKey) error {
	if s.config.RateLimit == 0 || s.clientRate.take(client) {
		return nil
	}
	s.metrics.limited.WithLabelValues(limitOfClient).Inc()
	return tooMany(s.clientRate.wait(client), "The client %q sends too many requests.", client.clientID)
}

// auditBurst is how long an idle client saves up what it may add to the audit log.
const auditBurst = time.Minute

// limitAudit refuses a change while the client's earlier ones have added more to the audit log than its rate allows. A
// change is counted when it is made: only then its size is known, and one that is larger than the burst is possible.
// The requests that are in flight when the limit is reached exceed it.
func (s *service) limitAudit(sandbox bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		if s.config.AuditRate == 0 {
			return next
		}
		return func(c echo.Context) error {
			client := rateKey{callerOf(c).ClientID, sandbox}
			if wait := s.auditRate.wait(client); wait > 0 {
				s.metrics.limited.WithLabelValues(limitOfAudit).Inc()
				return tooMany(wait, "The changes of the client %q add too much to the audit log.", client.clientID)
			}
			count := func(bytes int) { s.auditRate.charge(client, bytes) }
			c.SetRequest(c.Request().WithContext(store.OnAudited(c.Request().Context(), count)))
			return next(c)
		}
	}
}

// countRedemption counts what a new redemption adds to the audit log. If the caller has gone, it may have been made.
func (s *service) countRedemption(c echo.Context, sandbox bool, attempt store.RedeemAttempt, made bool) {
	if s.config.AuditRate > 0 && (made || c.Request().Context().Err() != nil) {
		size := len(attempt.ID) + len(attempt.PerkID) + len(attempt.UserID) + len(attempt.ClientID) +
			len(attempt.Metadata)
		s.auditRate.charge(rateKey{attempt.ClientID, sandbox}, size)
	}
}

// tooMany tells the caller to retry after a whole number of seconds.
func tooMany(wait time.Duration, format string, args ...any) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	err := api.Errorf(api.CodeRateLimited, format, args...)
	err.Message += fmt.Sprintf(api.TryAgain, seconds)
	return &errorResponse{err: err, header: http.Header{"Retry-After": {fmt.Sprint(seconds)}}}
}

// The failures that the token endpoint accepts at once, and then per second.
const (
	failuresPerClient, failuresPerClientRate   = 10, 0.2 // for one client id, from one network
	failuresPerNetwork, failuresPerNetworkRate = 100, 2  // from one network, for all client ids
)

// refusalLogInterval is how often the log mentions that requests from one network are refused.
const refusalLogInterval = time.Minute

// tokenThrottle rate-limits failed token requests per network and client id, and with a larger budget per network, so
// that made-up client ids don't help. A client that has had a token from a network before has only the first limit
// there, because an attacker may share the address with a whole office. Failures from one network don't lock the client
// out at another: a secret is 256 random bits, so trying secrets from many networks is hopeless too.
type tokenThrottle struct {
	byClient     *buckets[[sha256.Size]byte] // hashed, because a made-up client id can be very long
	byNetwork    *buckets[string]
	knownClients *lru.Cache[[sha256.Size]byte, struct{}] // that had a token, with the network
	refusals     *lru.Cache[string, refusals]

	locks [256]slots // by the network's hash
	seed  maphash.Seed
}

// refusals counts the refused requests of a network that are not in the log yet.
type refusals struct {
	count  int
	logged time.Time
}

func newTokenThrottle(now func() time.Time) *tokenThrottle {
	t := &tokenThrottle{
		byClient:     newBuckets[[sha256.Size]byte](failuresPerClientRate, failuresPerClient, now),
		byNetwork:    newBuckets[string](failuresPerNetworkRate, failuresPerNetwork, now),
		knownClients: newLRU[[sha256.Size]byte, struct{}](cacheSize),
		refusals:     newLRU[string, refusals](cacheSize),
		seed:         maphash.MakeSeed(),
	}
	for i := range t.locks {
		t.locks[i] = make(slots, 1)
	}
	return t
}

// lock lets one attempt per network through at a time; otherwise many would be checked before the first has failed.
func (t *tokenThrottle) lock(ctx context.Context, network string) (unlock func(), err error) {
	return t.locks[maphash.String(t.seed, network)%uint64(len(t.locks))].take(ctx)
}

// check comes before the credentials are looked at: beyond the limit, even the right secret is refused.
func (t *tokenThrottle) check(network string, pairs []Credentials) error {
	var wait time.Duration
	for _, pair := range pairs {
		key := throttleKey(network, pair.ID)
		wait = max(wait, t.byClient.wait(key))
		if _, known := t.knownClients.Get(key); !known {
			wait = max(wait, t.byNetwork.wait(network))
		}
	}
	if wait == 0 {
		return nil
	}
	return tooMany(wait, api.TooManyAttempts)
}

// countFailure counts a failure for every client id that the credentials can be read as, URL-encoded or not.
func (t *tokenThrottle) countFailure(network string, pairs []Credentials) {
	t.byNetwork.take(network)
	for i, pair := range pairs {
		if i == 0 || pair.ID != pairs[0].ID { // there are two at most
			t.byClient.take(throttleKey(network, pair.ID))
		}
	}
}

func (t *tokenThrottle) countSuccess(network, clientID string) {
	t.knownClients.Add(throttleKey(network, clientID), struct{}{})
}

// countRefusal returns how many refusals to log now, including this one; usually none.
func (t *tokenThrottle) countRefusal(network string, now time.Time) int {
	r, _ := t.refusals.Get(network)
	r.count++
	if since := now.Sub(r.logged); since < 0 || since >= refusalLogInterval {
		t.refusals.Add(network, refusals{logged: now})
		return r.count
	}
	t.refusals.Add(network, r)
	return 0
}

func throttleKey(network, clientID string) [sha256.Size]byte {
	return sha256.Sum256([]byte(network + " " + clientID))
}
