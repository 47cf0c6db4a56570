package server

import (
	"context"
	"crypto/sha256"
	"hash/maphash"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"example.com/perks/api"
	"example.com/perks/server/auth"
)

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
	refusals    *lru.Cache[string, *refusals]

	turns [256]chan struct{} // by the network's hash
	seed  maphash.Seed
}

// refusals is what was not yet reported of a network's.
type refusals struct {
	count    int
	reported time.Time
}

func newGuesses() *guesses {
	g := &guesses{
		atClient:    newBuckets[[sha256.Size]byte](guessesAtClientRate, guessesAtClient),
		fromNetwork: newBuckets[string](guessesNetworkRate, guessesFromNetwork),
		welcome:     newLRU[[sha256.Size]byte, struct{}](),
		refusals:    newLRU[string, *refusals](),
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
func (g *guesses) check(network string, pairs []auth.Pair, now time.Time) error {
	var wait time.Duration
	for _, pair := range pairs {
		at := guessedAt(network, pair.ID)
		wait = max(wait, g.atClient.wait(at, now))
		if _, welcome := g.welcome.Get(at); !welcome {
			wait = max(wait, g.fromNetwork.wait(network, now))
		}
	}
	if wait == 0 {
		return nil
	}
	return tooMany(wait, api.TooManyAttempts)
}

// succeeded remembers that the client comes from the network.
func (g *guesses) succeeded(network, clientID string) {
	g.welcome.Add(guessedAt(network, clientID), struct{}{})
}

// failed counts a failure against every client that the credentials can be read as naming: a client's id has many
// URL-encoded spellings.
func (g *guesses) failed(network string, pairs []auth.Pair, now time.Time) {
	g.fromNetwork.take(network, now)
	seen := map[string]bool{}
	for _, pair := range pairs {
		if !seen[pair.ID] {
			seen[pair.ID] = true
			g.atClient.take(guessedAt(network, pair.ID), now)
		}
	}
}

// refused counts a refusal. It tells how many there were since the last report when it is time for another.
func (g *guesses) refused(network string, now time.Time) (count int, report bool) {
	r, known := g.refusals.Get(network)
	if !known {
		r = &refusals{}
		g.refusals.Add(network, r)
	}
	r.count++
	if since := now.Sub(r.reported); since >= 0 && since < refusalsReported {
		return 0, false
	}
	count, r.count, r.reported = r.count, 0, now
	return count, true
}

func guessedAt(network, clientID string) [sha256.Size]byte {
	return sha256.Sum256([]byte(network + " " + clientID))
}
