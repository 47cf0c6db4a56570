package server

import (
	"sync"
	"time"
)

// steady makes of a clock that may be set one that only goes forward, as token buckets need it: a bucket that was last
// emptied an hour from now would stay empty for that hour.
type steady struct {
	mu          sync.Mutex
	shown, told time.Time // what the clock showed last, and what that was taken for
}

// outOfTurn is by how much a request that is late to come here may seem to be from before the last one.
const outOfTurn = time.Second

// at is the instant that the clock shows. When the clock is set back, no time has passed.
func (s *steady) at(shows time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown.IsZero() {
		s.told = shows
	}
	passed := shows.Sub(s.shown)
	if passed > 0 && !s.shown.IsZero() {
		s.told = s.told.Add(passed)
	}
	if passed > 0 || passed < -outOfTurn {
		s.shown = shows
	}
	return s.told
}
