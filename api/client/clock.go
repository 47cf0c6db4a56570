package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// Wait is a pause before a request is sent again.
type Wait struct {
	For   time.Duration
	Asked bool   // the server said how long; otherwise it is a guess
	Why   string // such as "429 Too Many Requests"
}

// Clock is what a Client knows of time and chance. Tests give it one that does not wait.
type Clock struct {
	Now    func() time.Time
	Wait   func(ctx context.Context, d time.Duration) error // returns early, with an error, when the context ends
	Jitter func(longest time.Duration) time.Duration        // a random part of longest
}

var realClock = Clock{Now: time.Now, Wait: wait, Jitter: jitter}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func jitter(longest time.Duration) time.Duration { return rand.N(longest + 1) } // #nosec G404 -- nobody gains by guessing a wait
