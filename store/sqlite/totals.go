package sqlite

import (
	"crypto/sha256"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
)

const keptTotals = 1024

// totals remembers how many perks match a search. A total stays exact until the catalog's version changes or the next
// perk begins or expires, and for that long it is not counted again, whoever asks.
type totals struct {
	kept *lru.Cache[totalKey, total]
}

type total struct {
	version     int64 // of the catalog
	since, till int64 // the instants, in microseconds, between which nothing begins or expires; till itself is not in
	count       int64
}

func (t total) holds(version, at int64) bool {
	return t.version == version && t.since <= at && at < t.till
}

func newTotals() *totals {
	kept, err := lru.New[totalKey, total](keptTotals)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return &totals{kept: kept}
}

// of returns how many perks match the search. What one user cannot have is counted apart, because that changes with
// every redemption, and there is little of it.
func (t *totals) of(v view, s *search) (int64, error) {
	count, err := t.matching(v, s)
	if err != nil || s.query.AvailableTo == "" {
		return count, err
	}
	unavailable, err := one(v, scanValue[int64], `
		SELECT count(*) FROM perks AS p WHERE p.row IN `+taken+` AND `+s.whereAnywhere(), s.args...)
	return count - unavailable, err
}

func (t *totals) matching(v view, s *search) (int64, error) {
	version, err := one(v, scanValue[int64], `SELECT version FROM catalog`)
	if err != nil {
		return 0, err
	}
	key, at := s.key(), s.query.At.UnixMicro()
	if kept, ok := t.kept.Get(key); ok && kept.holds(version, at) {
		return kept.count, nil
	}
	fresh := total{version: version, since: at}
	if fresh.count, err = one(v, scanValue[int64], `SELECT count(*) FROM `+s.from(``)+` WHERE `+s.where(), s.args...); err != nil {
		return 0, err
	}
	if fresh.till, err = nextChange(v, at); err != nil {
		return 0, err
	}
	t.kept.Add(key, fresh)
	return fresh.count, nil
}

// nextChange is the first instant after at when a perk begins or expires.
func nextChange(v view, at int64) (int64, error) {
	return one(v, scanValue[int64], `SELECT min(
		ifnull((SELECT min(valid_to) FROM perks WHERE valid_to > ?1), 9223372036854775807),
		ifnull((SELECT min(valid_from) FROM perks WHERE valid_from > ?1), 9223372036854775807))`, at)
}

// totalKey is a hash, because a search can hold a text of any length and many are kept.
type totalKey [sha256.Size]byte

// key tells searches apart whose totals differ at one instant.
func (s *search) key() totalKey {
	text := fmt.Sprintf("%t %t %q %q %q", s.onlyValid(), s.onlyBegun(), s.query.City, s.categories, s.words)
	if near := s.query.Near; near != nil {
		text += fmt.Sprintf(" %v %v %v", near.Lat, near.Lng, near.RadiusKM)
	}
	return sha256.Sum256([]byte(text))
}
