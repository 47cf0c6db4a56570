package session

import (
	"sync"
	"time"

	"example.com/perks/api/client"
)

// shortWait is a pause that nobody would notice.
const shortWait = time.Second

// sameAgain is how long off a terminal nothing is told of further waits for the same reason: a log of one line every few
// seconds hides the rest of it.
const sameAgain = time.Minute

// tellWaits says why nothing happens. Of many requests that wait for about the same moment, one is told about.
func (s *Session) tellWaits(now func() time.Time) func(client.Wait) {
	var mu sync.Mutex
	var told time.Time // until when the last wait lasts that was told about
	var why string
	var saidAt time.Time
	return func(w client.Wait) {
		if w.For < shortWait {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		at := now()
		until := at.Add(w.For)
		if until.Before(told.Add(shortWait / 2)) {
			return
		}
		told = until
		if !s.Streams.ErrTTY && w.Why == why && at.Sub(saidAt) < sameAgain {
			return
		}
		why, saidAt = w.Why, at
		length := w.For.Round(shortWait / 10)
		if w.Asked {
			s.Streams.Note("The server asks to wait %s (%s).", length, w.Why)
			return
		}
		s.Streams.Note("Trying again in %s: %s.", length, w.Why)
	}
}
