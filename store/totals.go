package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const keptTotals = 1024

// Totals remembers how many perks match a query, but for what one user cannot have. A total stays exact until the catalog
// changes or the next perk begins or expires, and for that long it is not counted again, whoever asks.
type Totals struct {
	kept *lru.Cache[totalKey, *keptTotal]
}

// Count is how many perks match at an instant, and the last and the next instant at which a perk begins or expires, nil
// where there is none: from the one until just before the other, as many match.
type Count struct {
	Matching    int64
	Since, Till *time.Time
}

// keptTotal is what was counted last, under a version of the catalog; version -1 is before the first time.
type keptTotal struct {
	turn    chan struct{} // holds one element while someone looks or counts
	version int64
	count   Count
}

func (k *keptTotal) holds(version int64, at time.Time) bool {
	since, till := k.count.Since, k.count.Till
	return k.version == version && (since == nil || !at.Before(*since)) && (till == nil || at.Before(*till))
}

// NewTotals remembers nothing yet.
func NewTotals() *Totals {
	kept, err := lru.New[totalKey, *keptTotal](keptTotals)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return &Totals{kept: kept}
}

// Of returns how many perks match the query in the catalog of that version. Categories are the folded names of those that
// the query asks for. Of many who need the same count at once one counts, as of the moment that the version was read at,
// and the others wait for it.
func (t *Totals) Of(ctx context.Context, query PerkQuery, categories []string, version int64, count func() (Count, error)) (int64, error) {
	kept := t.of(keyOf(query, categories))
	select {
	case kept.turn <- struct{}{}:
		defer func() { <-kept.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if kept.holds(version, query.At.Truncate(time.Microsecond)) {
		return kept.count.Matching, nil
	}
	fresh, err := count()
	if err == nil && version >= kept.version {
		kept.version, kept.count = version, fresh
	}
	return fresh.Matching, err
}

// Forget lets go of all totals, for a database that may not be the same as before: one that lost its last changes can come
// to the same version by others.
func (t *Totals) Forget() { t.kept.Purge() }

func (t *Totals) of(key totalKey) *keptTotal {
	if kept, ok := t.kept.Get(key); ok {
		return kept
	}
	fresh := &keptTotal{turn: make(chan struct{}, 1), version: -1}
	if kept, ok, _ := t.kept.PeekOrAdd(key, fresh); ok {
		return kept // someone else was faster
	}
	return fresh
}

// totalKey is a hash, because a query can hold a text of any length and many are kept.
type totalKey [sha256.Size]byte

// keyOf tells queries apart whose totals differ at one instant. Texts that find the same have one total.
func keyOf(query PerkQuery, categories []string) totalKey {
	filter := query.PerkFilter
	filter.IncludeExpired = !query.OnlyValid()
	filter.City = Fold(filter.City)
	filter.Query = strings.Join(QueryWords(filter.Query), " ")
	filter.Category = fmt.Sprintf("%q", categories)
	return sha256.Sum256(fmt.Appendf(nil, "%t %s", query.OnlyBegun(), filter.Values().Encode()))
}
