package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/store"
)

// expiry rejects redemptions that have expired before anybody asks for what depends on them. perksd serve does so too
// every second, so that they are in the audit log if nobody asks.
type expiry struct {
	store store.Store
	turn  chan struct{}         // one at a time, because those who wait need the same
	next  atomic.Pointer[since] // nil before the first
}

// since is what is known since a time: before the other one nothing expires.
type since struct{ at, next time.Time }

const (
	// expiryCheck is how long it takes at most to know of redemptions that other replicas have made. None of them
	// expires within a second.
	expiryCheck = 100 * time.Millisecond
	// expiryWait is how long a request waits for a database that takes no writes.
	expiryWait = 500 * time.Millisecond
)

func newExpiry(perks store.Store) *expiry { return &expiry{store: perks, turn: make(chan struct{}, 1)} }

// isDue tells whether something may have expired. The clock may have been set back.
func (e *expiry) isDue(now time.Time) bool {
	known := e.next.Load()
	return known == nil || now.Before(known.at) || !now.Before(known.next)
}

// settle returns when nothing is pending that has expired. If the database takes no writes, requests are answered as if
// nothing had: of what they show, At corrects most.
func (e *expiry) settle(ctx context.Context, now time.Time) {
	if !e.isDue(now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, expiryWait)
	defer cancel()
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-e.turn }()
	if !e.isDue(now) {
		return
	}
	_, next, err := e.store.ExpireRedemptions(ctx, now)
	known := since{now, now.Add(expiryCheck)}
	if err == nil && next != nil && next.Before(known.next) {
		known.next = *next
	}
	e.next.Store(&known)
}

// settled lets the handler see nothing pending that has expired.
func (h perkHandlers) settled(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h.expiry.settle(c.Request().Context(), h.now())
		return next(c)
	}
}
