package session

import (
	"sync"
	"time"

	"example.com/perks/api/client"
)

// shortWait is a pause that nobody would notice.
const shortWait = time.Second

// tellWaits says why nothing happens. Of many requests that wait for about the same moment, one is told about.
func (s *Session) tellWaits() func(client.Wait) {
	var mu sync.Mutex
	var told time.Time // until when the last wait lasts that was told about
	return func(w client.Wait) {
		if w.For < shortWait {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		until := time.Now().Add(w.For)
		if until.Before(told.Add(shortWait / 2)) {
			return
		}
		told = until
		length := w.For.Round(shortWait / 10)
		if w.Asked {
			s.Streams.Note("The server asks to wait %s (%s).", length, w.Why)
			return
		}
		s.Streams.Note("Trying again in %s: %s.", length, w.Why)
	}
}
