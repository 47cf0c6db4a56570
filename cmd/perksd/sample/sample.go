// Package sample makes up believable perks, users and rental listings: any number of them, in constant memory, and the
// same ones whenever it is asked for the same.
//
// It knows what records look like and what people would write in them, and nothing of databases or of the command line.
package sample

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"example.com/perks/store"
)

// Data is one world of sample records. Seed chooses among worlds. Day is the day that the world's dates lie around, so
// that some perks are over by then and some are yet to start.
type Data struct {
	Seed uint64
	Day  time.Time
}

// Users yields n users: alice, bob, then u-000001 and so on.
func (d Data) Users(n int64) iter.Seq2[store.User, error] {
	named := []store.User{{ID: "alice"}, {ID: "bob"}}
	return sequence(n, named, func(i int64) store.User { return store.User{ID: fmt.Sprintf("u-%06d", i)} })
}

// sequence yields n records, first those that are named and then those that are generated, from 1.
func sequence[R any](n int64, named []R, generate func(i int64) R) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for i := range n {
			var record R
			if i < int64(len(named)) {
				record = named[i]
			} else {
				record = generate(i - int64(len(named)) + 1)
			}
			if !yield(record, nil) {
				return
			}
		}
	}
}

// dice decides one record. Every record has dice of its own, so that it does not depend on how many others are made.
type dice struct{ *rand.Rand }

// Streams keep the dice of different kinds of record apart.
const (
	perkStream uint64 = iota << 56
	propertyStream
)

func (d Data) dice(stream uint64, i int64) dice {
	return dice{rand.New(rand.NewPCG(d.Seed, stream|uint64(i)))} // #nosec G115 G404 -- sample data are made to be the same again, and count from zero
}

// day is the start of the world's day.
func (d Data) day() time.Time { return d.Day.UTC().Truncate(24 * time.Hour) }

// chance is true in so many of a hundred cases.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// between is a whole number from low to high, both among them.
func (d dice) between(low, high int) int { return low + d.IntN(high-low+1) }

func pick[T any](d dice, from []T) T { return from[d.IntN(len(from))] }

// maybe is the value, or nil in so many of a hundred cases.
func maybe[T any](d dice, nilPercent int, value T) *T {
	if d.chance(nilPercent) {
		return nil
	}
	return &value
}

// near is a point a few kilometres from the middle of the city, most often less than five, to a metre.
func (d dice) near(c city) (lat, lng float64) {
	const degrees = 0.025 // of latitude, about 2.8 km
	lat = c.lat + d.NormFloat64()*degrees
	lng = c.lng + d.NormFloat64()*degrees/math.Cos(c.lat*math.Pi/180)
	return math.Round(lat*1e5) / 1e5, math.Round(lng*1e5) / 1e5
}
