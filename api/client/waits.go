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

// Waits returns the context for a wait beneath ctx: it ends with ctx, and before that with what WithWaits was given.
func Waits(ctx context.Context) (context.Context, context.CancelFunc) {
	waiting, stop := context.WithCancel(ctx)
	until, ok := ctx.Value(waitsKey{}).(context.Context)
	if !ok {
		return waiting, stop
	}
	forget := context.AfterFunc(until, stop)
	return waiting, func() { forget(); stop() }
}

// waitFor waits as the clock does, and no longer than the context allows waits.
func (r *retry) waitFor(ctx context.Context, d time.Duration) error {
	waiting, stop := Waits(ctx)
	defer stop()
	return r.clock.Wait(waiting, d)
}
