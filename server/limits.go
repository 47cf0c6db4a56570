package server

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"example.com/perks/api"
)

// limitedCallers bounds the memory for token buckets; who was not seen for the longest time is forgotten first.
const limitedCallers = 10_000

func newLRU[K comparable, V any]() *lru.Cache[K, V] {
	cache, err := lru.New[K, V](limitedCallers)
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return cache
}

// buckets holds one token bucket for each name.
type buckets[K comparable] struct {
	mu    sync.Mutex
	cache *lru.Cache[K, *rate.Limiter]
	rate  rate.Limit
	burst int
	clock steady
}

func newBuckets[K comparable](perSecond float64, burst int) *buckets[K] {
	return &buckets[K]{cache: newLRU[K, *rate.Limiter](), rate: rate.Limit(perSecond), burst: burst}
}

func (b *buckets[K]) get(name K) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if limiter, ok := b.cache.Get(name); ok {
		return limiter
	}
	limiter := rate.NewLimiter(b.rate, b.burst)
	b.cache.Add(name, limiter)
	return limiter
}

// take takes a token, if there is one.
func (b *buckets[K]) take(name K, now time.Time) bool { return b.get(name).AllowN(b.clock.at(now), 1) }

// wait returns how long it takes until the bucket holds a whole token again, and zero when it does now. Asking about a new
// name makes no bucket, so that names which are only asked about push out none.
func (b *buckets[K]) wait(name K, now time.Time) time.Duration {
	limiter, ok := b.cache.Get(name)
	if !ok {
		return 0
	}
	missing := 1 - limiter.TokensAt(b.clock.at(now))
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / float64(b.rate) * float64(time.Second))
}

// clientLimits is how often each client may ask, counted apart for the sandbox: trials must not slow the tills. Only
// clients that exist come here.
type clientLimits struct{ buckets *buckets[clientIn] }

type clientIn struct {
	clientID string
	sandbox  bool
}

// newClientLimits takes a burst of zero for as many as come in a second.
func newClientLimits(perSecond float64, burst int) *clientLimits {
	if perSecond == 0 {
		return &clientLimits{}
	}
	if burst == 0 {
		burst = max(1, int(math.Ceil(perSecond)))
	}
	return &clientLimits{newBuckets[clientIn](perSecond, burst)}
}

func (l *clientLimits) take(client clientIn, now time.Time) error {
	if l.buckets == nil || l.buckets.take(client, now) {
		return nil
	}
	return tooMany(l.buckets.wait(client, now), "The client %q asks too often.", client.clientID)
}

// tooMany says after which whole number of seconds the next attempt is let through.
func tooMany(wait time.Duration, format string, args ...any) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	err := api.Errorf(api.CodeRateLimited, format, args...)
	err.Message += fmt.Sprintf(api.TryAgain, seconds)
	return &answer{err: err, header: http.Header{"Retry-After": {fmt.Sprint(seconds)}}}
}
