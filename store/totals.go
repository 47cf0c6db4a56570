package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const maxCachedTotals = 1024

// totals caches how many perks match a query, regardless of what one user cannot redeem. A total stays exact until the
// catalog changes, or a perk starts or expires.
type totals struct {
	cache *lru.Cache[totalKey, *cachedTotal]
}

// Count is how many perks match from Since until just before Till: the last and the next instant at which a perk starts
// or expires, nil if there is none.
type Count struct {
	Matching    int64
	Since, Till *time.Time
	trail       []formerCount // by which lists that are kept stay true, the last one before it last
}

// cachedTotal is the last count and the catalog's version of it, -1 before the first.
type cachedTotal struct {
	busy    chan struct{} // a lock that a context can cancel
	version int64
	count   *Count
}

// isTrue tells whether no perk starts or expires between the count and an instant.
func (c *Count) isTrue(at time.Time) bool {
	since, till := c.Since, c.Till
	return (since == nil || !at.Before(*since)) && (till == nil || at.Before(*till))
}

func newTotals() *totals {
	cached, err := lru.New[totalKey, *cachedTotal](maxCachedTotals)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return &totals{cache: cached}
}

// get returns how many perks match the query in that version of the catalog, and the same Count for as long as that and
// the list stay true. A change of single perks takes the count forward. If several callers need the same count at once,
// one of them counts and the others wait for it. count gets how many to count at most, 0 without a limit:
// words and circles may match most of the catalog, and how many they match is not known before.
func (t *totals) get(
	ctx context.Context, s *Search, editsSince func(version int64) ([]perkEdit, error),
	count func(most int64) (Count, error),
) (*Count, error) {
	query, version := s.Query, s.Version
	cached := t.entry(cacheKey(query, s.Categories))
	most := int64(0)
	if limit := rowLimit(ctx); limit > 0 && (query.Query != "" || query.Near != nil) {
		most = limit + 1
	}
	if err := lockList(ctx, cached.busy, most > 0); err != nil {
		return nil, err
	}
	defer func() { <-cached.busy }()
	at := query.At.Truncate(time.Microsecond)
	if known := cached.count; known != nil && version > cached.version && known.isTrue(at) {
		edits, err := editsSince(cached.version)
		if err != nil {
			return nil, err
		}
		for _, edit := range edits {
			known = known.after(s, edit)
		}
		if len(edits) > 0 {
			cached.version, cached.count = version, known
		}
	}
	if cached.version == version && cached.count.isTrue(at) {
		return cached.count, nil
	}
	fresh, err := count(most)
	if err == nil && most > 0 {
		err = CheckCost(ctx, fresh.Matching)
	}
	if err != nil {
		return nil, err
	}
	if version >= cached.version {
		cached.version, cached.count = version, &fresh
	}
	return &fresh, nil
}

func (t *totals) purge() { t.cache.Purge() }

func (t *totals) entry(key totalKey) *cachedTotal {
	if cached, ok := t.cache.Get(key); ok {
		return cached
	}
	fresh := &cachedTotal{busy: make(chan struct{}, 1), version: -1}
	if cached, ok, _ := t.cache.PeekOrAdd(key, fresh); ok {
		return cached // another goroutine was faster
	}
	return fresh
}

// totalKey is a hash, because a query can be long.
type totalKey [sha256.Size]byte

// cacheKey differs for queries whose totals can differ at one instant.
func cacheKey(query PerkQuery, categories []string) totalKey {
	filter := query.PerkFilter
	filter.IncludeExpired = !query.OnlyValid()
	filter.City = Fold(filter.City)
	filter.Query = strings.Join(QueryWords(filter.Query), " ")
	filter.Category = fmt.Sprintf("%q", categories)
	return sha256.Sum256(fmt.Appendf(nil, "%t %s", query.OnlyStarted(), filter.Values().Encode()))
}
