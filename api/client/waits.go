package client

import (
	"context"
	"time"
)

type waitsKey struct{}

// WithWaits makes requests under the context give up waiting for another attempt when until ends. What is under way then
// still comes to its end: a person who interrupts a run wants to know what became of it, and not to wait for a server.
func WithWaits(ctx, until context.Context) context.Context {
	return context.WithValue(ctx, waitsKey{}, until)
}

// waitFor waits as the clock does, and no longer than the context allows waits.
func (r *retry) waitFor(ctx context.Context, d time.Duration) error {
	if until, ok := ctx.Value(waitsKey{}).(context.Context); ok {
		waiting, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(until, stop)()
		ctx = waiting
	}
	return r.clock.Wait(ctx, d)
}
