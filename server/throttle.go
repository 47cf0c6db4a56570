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
	"golang.org/x/time/rate"

	"example.com/perks/api"
)

// cacheSize bounds the memory for token buckets, clients and verified tokens. What was not used for the longest time goes first.
const cacheSize = 10_000

func newLRU[K comparable, V any]() *lru.Cache[K, V] {
	cache, err := lru.New[K, V](cacheSize)
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return cache
}

// buckets holds one token bucket for each name.
type buckets[K comparable] struct {
	mu    sync.Mutex // so that each request is later than the one before
	cache *lru.Cache[K, *rate.Limiter]
	rate  rate.Limit
	burst int
	now   func() time.Time
}

func newBuckets[K comparable](perSecond float64, burst int, now func() time.Time) *buckets[K] {
	return &buckets[K]{cache: newLRU[K, *rate.Limiter](), rate: rate.Limit(perSecond), burst: burst, now: now}
}

// take takes a token, if there is one.
func (b *buckets[K]) take(name K) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	limiter, ok := b.cache.Get(name)
	if !ok {
		limiter = rate.NewLimiter(b.rate, b.burst)
		b.cache.Add(name, limiter)
	}
	return limiter.AllowN(b.now(), 1)
}

// wait returns how long it takes until the bucket holds a whole token again, and zero when it does now. Asking about a new
// name makes no bucket, so that names which are only asked about push out none.
func (b *buckets[K]) wait(name K) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	limiter, ok := b.cache.Get(name)
	if !ok {
		return 0
	}
	// A reservation moves the limiter to the clock's time even if the clock was set back, else the bucket would stay empty until
	// the clock is where it was.
	now := b.now()
	reservation := limiter.ReserveN(now, 1)
	defer reservation.CancelAt(now)
	return reservation.DelayFrom(now)
}

// clientIn is who is limited: trials in the sandbox must not slow the tills. Only clients that exist come here.
type clientIn struct {
	clientID string
	sandbox  bool
}

func (s *service) limitClient(client clientIn) error {
	if s.config.RateLimit == 0 || s.clientRate.take(client) {
		return nil
	}
	s.metrics.limited.WithLabelValues(limitOfClient).Inc()
	return tooMany(s.clientRate.wait(client), "The client %q asks too often.", client.clientID)
}

// tooMany says after which whole number of seconds the next attempt is let through.
func tooMany(wait time.Duration, format string, args ...any) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	err := api.Errorf(api.CodeRateLimited, format, args...)
	err.Message += fmt.Sprintf(api.TryAgain, seconds)
	return &answer{err: err, header: http.Header{"Retry-After": {fmt.Sprint(seconds)}}}
}

// How many wrong secrets are looked at: so many at once, and then so many a second.
const (
	guessesAtClient, guessesAtClientRate   = 10, 0.2 // of one client, from one network
	guessesFromNetwork, guessesNetworkRate = 100, 2  // from one network, of all clients
)

// refusalsReported is how often the log has a line about one network whose attempts are refused.
const refusalsReported = time.Minute

// guesses slows down who guesses secrets: by the network with the client id that is guessed at, and, more generously, by
// the network alone, so that made-up client ids help nobody. A client that has had a token from a network before is slowed
// there by failures under its own id alone, because who guesses may share the address with a whole office; and failures from
// one network do not shut the client out at another. Guessing from ever so many networks is hopeless all the same: a secret
// is 256 random bits.
type guesses struct {
	atClient    *buckets[[sha256.Size]byte] // a client id that somebody made up can be very long
	fromNetwork *buckets[string]
	welcome     *lru.Cache[[sha256.Size]byte, struct{}] // clients that had a token, with the network
	refusals    *lru.Cache[string, refusals]

	turns [256]chan struct{} // by the network's hash
	seed  maphash.Seed
}

// refusals is what was not yet reported of a network's.
type refusals struct {
	count    int
	reported time.Time
}

func newGuesses(now func() time.Time) *guesses {
	g := &guesses{
		atClient:    newBuckets[[sha256.Size]byte](guessesAtClientRate, guessesAtClient, now),
		fromNetwork: newBuckets[string](guessesNetworkRate, guessesFromNetwork, now),
		welcome:     newLRU[[sha256.Size]byte, struct{}](),
		refusals:    newLRU[string, refusals](),
		seed:        maphash.MakeSeed(),
	}
	for i := range g.turns {
		g.turns[i] = make(chan struct{}, 1)
	}
	return g
}

// takeTurn waits until no other attempt from the network is under way, because any number of guesses at once would all be
// looked at before the first has failed. The function that it returns ends the turn.
func (g *guesses) takeTurn(ctx context.Context, network string) (end func(), err error) {
	turn := g.turns[maphash.String(g.seed, network)%uint64(len(g.turns))]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// check is asked before the credentials are looked at, so that a right guess is worth nothing while the limit holds.
func (g *guesses) check(network string, pairs []Pair) error {
	var wait time.Duration
	for _, pair := range pairs {
		at := guessedAt(network, pair.ID)
		wait = max(wait, g.atClient.wait(at))
		if _, welcome := g.welcome.Get(at); !welcome {
			wait = max(wait, g.fromNetwork.wait(network))
		}
	}
	if wait == 0 {
		return nil
	}
	return tooMany(wait, api.TooManyAttempts)
}

// failed counts a failure against every client that the credentials can be read as naming: a client's id has many
// URL-encoded spellings.
func (g *guesses) failed(network string, pairs []Pair) {
	g.fromNetwork.take(network)
	for i, pair := range pairs {
		if i == 0 || pair.ID != pairs[0].ID { // there are two at most
			g.atClient.take(guessedAt(network, pair.ID))
		}
	}
}

// refused counts a refusal. When it is time for another report it returns how many there were since the last one, else zero.
func (g *guesses) refused(network string, now time.Time) int {
	r, _ := g.refusals.Get(network)
	r.count++
	if since := now.Sub(r.reported); since < 0 || since >= refusalsReported {
		g.refusals.Add(network, refusals{reported: now})
		return r.count
	}
	g.refusals.Add(network, r)
	return 0
}

func guessedAt(network, clientID string) [sha256.Size]byte {
	return sha256.Sum256([]byte(network + " " + clientID))
}
