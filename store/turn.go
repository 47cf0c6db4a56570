package store

import "context"

type turnKey struct{}

// WithTurn returns a context whose write calls came when it has its connection or its place in a transaction: until then it
// waited for others. It may be called from another goroutine, once for each try, and still after the write was given up.
func WithTurn(ctx context.Context, came func()) context.Context {
	return context.WithValue(ctx, turnKey{}, came)
}

// TurnCame is what drivers call with the context of a write that waits no longer.
func TurnCame(ctx context.Context) {
	if came, ok := ctx.Value(turnKey{}).(func()); ok {
		came()
	}
}
