package server

import (
	"context"
	"time"

	"example.com/perks/api"
)

// outageWaiters bounds the memory of requests that wait for a database that is away: some 20 KiB each, with its connection.
const outageWaiters = 1024

// outageAskedEvery is how often the database is asked again. One of those who wait asks for all of them.
const outageAskedEvery = 100 * time.Millisecond

// outage is where requests wait until the database is back.
type outage struct {
	waiters chan struct{} // holds a token for each request that waits
	turn    chan struct{} // is held by the one that asks
}

func newOutage(waiters int) *outage {
	return &outage{waiters: make(chan struct{}, waiters), turn: make(chan struct{}, 1)}
}

// waitOut asks until the answer is another one than that the database is away, or until the context ends. When as many wait
// as may, it asks once.
func (o *outage) waitOut(ctx context.Context, ask func() error) error {
	err := ask()
	if api.CodeOf(err) != api.CodeUnavailable {
		return err
	}
	select {
	case o.waiters <- struct{}{}:
		defer func() { <-o.waiters }()
	default:
		return err
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return err
	}
	again := time.NewTicker(outageAskedEvery)
	defer again.Stop()
	for {
		if err = ask(); api.CodeOf(err) != api.CodeUnavailable {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}
