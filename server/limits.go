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

// buckets holds one token bucket for each name.
type buckets struct {
	mu    sync.Mutex
	cache *lru.Cache[string, *rate.Limiter]
	rate  rate.Limit
	burst int
}

func newBuckets(perSecond float64, burst int) *buckets {
	cache, err := lru.New[string, *rate.Limiter](limitedCallers)
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return &buckets{cache: cache, rate: rate.Limit(perSecond), burst: burst}
}

func (b *buckets) get(name string) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if limiter, ok := b.cache.Get(name); ok {
		return limiter
	}
	limiter := rate.NewLimiter(b.rate, b.burst)
	b.cache.Add(name, limiter)
	return limiter
}

// wait returns how long it takes until the bucket holds a whole token again, and zero when it does now.
func (b *buckets) wait(name string, now time.Time) time.Duration {
	missing := 1 - b.get(name).TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / float64(b.rate) * float64(time.Second))
}

// clientLimits is how often each client may ask.
type clientLimits struct{ buckets *buckets }

func newClientLimits(perSecond float64) *clientLimits {
	if perSecond == 0 {
		return &clientLimits{}
	}
	return &clientLimits{newBuckets(perSecond, max(1, int(math.Ceil(perSecond))))}
}

func (l *clientLimits) take(clientID string, now time.Time) error {
	if l.buckets == nil || l.buckets.get(clientID).AllowN(now, 1) {
		return nil
	}
	return tooMany(l.buckets.wait(clientID, now), "The client %q asks too often.", clientID)
}

// failureLimits slows down who guesses secrets: by the address with the client id that is guessed at, and, more
// generously, by the address alone. A client that fails nowhere is never slowed, and failures from one address do not
// shut the client out at another.
type failureLimits struct{ perClient, perAddress *buckets }

func newFailureLimits() *failureLimits {
	return &failureLimits{perClient: newBuckets(0.2, 10), perAddress: newBuckets(2, 100)}
}

// check is asked before the credentials are looked at, so that a right guess is worth nothing while the limit holds.
func (l *failureLimits) check(address, clientID string, now time.Time) error {
	wait := max(l.perClient.wait(address+" "+clientID, now), l.perAddress.wait(address, now))
	if wait == 0 {
		return nil
	}
	return tooMany(wait, "There were too many failed attempts to get a token.")
}

func (l *failureLimits) failed(address, clientID string, now time.Time) {
	l.perClient.get(address+" "+clientID).AllowN(now, 1)
	l.perAddress.get(address).AllowN(now, 1)
}

func tooMany(wait time.Duration, format string, args ...any) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	err := api.Errorf(api.CodeRateLimited, format, args...)
	err.Message += fmt.Sprintf(" Try again in %d s.", seconds)
	return &answer{err: err, header: http.Header{"Retry-After": {fmt.Sprint(seconds)}}}
}
