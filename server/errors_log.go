package server

import (
	"sync"
	"time"
)

// failureLog bounds how often the log says why requests are answered with unavailable. While a database is away that is
// the same for each of thousands, and a log that fills a disk is a fault of its own. The line of each request stays.
type failureLog struct {
	mu     sync.Mutex
	since  time.Time
	said   int
	unsaid int
}

// In each period so many failures are logged, and the others are counted.
const (
	failuresPeriod = 10 * time.Second
	failuresLogged = 5
)

// next tells whether the failure may be logged, and how many were not since the last one that was.
func (l *failureLog) next(now time.Time) (may bool, unsaid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := now.Sub(l.since); age < 0 || age >= failuresPeriod {
		l.since, l.said = now, 0
	}
	if l.said == failuresLogged {
		l.unsaid++
		return false, 0
	}
	unsaid, l.unsaid = l.unsaid, 0
	l.said++
	return true, unsaid
}
