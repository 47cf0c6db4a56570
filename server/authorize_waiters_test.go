package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/perks/store"
)

func TestWaitingRequestsAreLimited(t *testing.T) {
	unavailable := store.NotStarted(errors.New("unavailable"))
	o := newOutage(1)
	ctx, cancel := context.WithCancel(t.Context())
	waits, left := make(chan struct{}, 10), make(chan error, 1)
	go func() {
		left <- o.retryWhileUnavailable(ctx, func() error {
			select {
			case waits <- struct{}{}:
			default: // enough attempts
			}
			return unavailable
		})
	}()
	<-waits
	<-waits // the second attempt: it waits
	asked := 0
	inTime, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := o.retryWhileUnavailable(inTime, func() error { asked++; return unavailable }); !errors.Is(err,
		unavailable) || asked != 1 || inTime.Err() != nil {
		t.Errorf("a request beyond the limit made %d attempts, got %v, and waited until %v", asked, err, inTime.Err())
	}
	if err := o.retryWhileUnavailable(t.Context(), func() error { return nil }); err != nil {
		t.Errorf("a request that need not wait got %v", err)
	}
	cancel()
	if err := <-left; !errors.Is(err, unavailable) {
		t.Errorf("the cancelled request got %v", err)
	}
	tries := []error{unavailable, unavailable, unavailable, nil}
	if err := o.retryWhileUnavailable(t.Context(),
		func() error { err := tries[0]; tries = tries[1:]; return err }); err != nil || len(tries) != 0 {
		t.Errorf("without other requests: %v, with %d attempts left", err, len(tries))
	}
}
