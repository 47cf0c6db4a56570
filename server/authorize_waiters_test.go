package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/perks/store"
)

func TestNoMoreRequestsWaitForTheDatabaseThanMay(t *testing.T) {
	away := store.NotBegun(errors.New("away"))
	o := newOutage(1)
	ctx, leave := context.WithCancel(t.Context())
	waits, left := make(chan struct{}, 10), make(chan error, 1)
	go func() {
		left <- o.retryWhileUnavailable(ctx, func() error {
			select {
			case waits <- struct{}{}:
			default: // it was asked often enough
			}
			return away
		})
	}()
	<-waits
	<-waits // asked again, so it waits
	asked := 0
	inTime, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := o.retryWhileUnavailable(inTime, func() error { asked++; return away }); !errors.Is(err, away) || asked != 1 || inTime.Err() != nil {
		t.Errorf("one more than may wait asked %d times and got %v, having waited until %v", asked, err, inTime.Err())
	}
	if err := o.retryWhileUnavailable(t.Context(), func() error { return nil }); err != nil {
		t.Errorf("who need not wait got %v", err)
	}
	leave()
	if err := <-left; !errors.Is(err, away) {
		t.Errorf("who waited until the end got %v", err)
	}
	tries := []error{away, away, away, nil}
	if err := o.retryWhileUnavailable(t.Context(), func() error { err := tries[0]; tries = tries[1:]; return err }); err != nil || len(tries) != 0 {
		t.Errorf("after the others left: %v, with %d tries to go", err, len(tries))
	}
}
