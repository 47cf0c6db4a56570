package server

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/perks/store"
)

func TestAReportWaitsForOthersAndThenSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{reports: newLane(1, maxReports)}
		began := time.Now()
		for i := range maxReports {
			end, err := s.beginReport(t.Context(), fmt.Sprint("client ", i))
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(2*reportWait-1, end)
		}
		if _, err := s.beginReport(t.Context(), "another"); err != tooManyReports || time.Since(began) != reportWait {
			t.Errorf("beside others: %v after %s", err, time.Since(began))
		}
		end, err := s.beginReport(t.Context(), "client 0")
		if err != nil || time.Since(began) != 2*reportWait-1 {
			t.Fatalf("after others: %v after %s", err, time.Since(began))
		}
		end()
	})
}

func TestAClientWaitsForItsOwnLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(2, 3)
		enter := func(client string) func() {
			t.Helper()
			leave, err := l.enter(t.Context(), client)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		leave := []func(){enter("greedy"), enter("greedy")}
		// What waits of the greedy one starts in order, each when another of its own has ended.
		began := make(chan int, maxQueued)
		for i := range maxQueued {
			go func() {
				defer enter("greedy")()
				began <- i
			}()
			synctest.Wait()
		}
		if running, waiting := l.load(); running != 2 || waiting != maxQueued || len(began) != 0 {
			t.Fatalf("%d run and %d wait", running, waiting)
		}
		if _, err := l.enter(t.Context(), "greedy"); !errors.Is(err, errLaneFull) {
			t.Errorf("one more is let in: %v", err)
		}
		enter("modest")() // at once
		other := enter("modest")
		leave[0]()
		for i := range maxQueued {
			if got := <-began; got != i {
				t.Fatalf("number %d began in place of %d", got, i)
			}
		}
		other()
		leave[1]()
		synctest.Wait()
		if running, waiting := l.load(); running+waiting != 0 || len(l.clients) != 0 {
			t.Errorf("in the end %d run, %d wait, and %d clients are remembered", running, waiting, len(l.clients))
		}
	})
}

func TestTheClientWithTheFewestListsComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(2, 2)
		first, _ := l.enter(t.Context(), "greedy")
		second, _ := l.enter(t.Context(), "greedy")
		order := make(chan string, 3)
		for _, client := range []string{"greedy", "greedy", "modest"} { // who comes last
			go func() {
				leave, err := l.enter(t.Context(), client)
				if err == nil {
					order <- client
					leave()
				}
			}()
			synctest.Wait()
		}
		first()
		if next := <-order; next != "modest" {
			t.Errorf("%s comes first", next)
		}
		second()
		synctest.Wait()
		if running, _ := l.load(); running != 0 {
			t.Errorf("%d run", running)
		}
	})
}

func TestAListWhoseCallerHasLeftWaitsNoLonger(t *testing.T) {
	l := newLane(1, 1)
	leave, _ := l.enter(t.Context(), "a")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 * maxQueued { // none of them stays in the queue
		if _, err := l.enter(gone, "a"); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	leave()
	leave, err := l.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	leave()
}

// TestStandbysAddLists changes how many lists may run while one runs.
func TestStandbysAddLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		perClient := 1
		l := newLane(0, 0)
		l.measure = func() (int, int) { return perClient, perClient }
		enter := func() <-chan func() {
			entered := make(chan func(), 1)
			go func() {
				leave, err := l.enter(t.Context(), "a")
				if err != nil {
					t.Error(err)
				}
				entered <- leave
			}()
			synctest.Wait()
			return entered
		}
		first, second := enter(), enter()
		perClient = 2 // a standby is read now
		if len(first) != 1 || len(second) != 0 {
			t.Fatalf("%d of the first and %d of the second run", len(first), len(second))
		}
		time.Sleep(laneInterval)
		third := enter()
		if len(second) != 1 || len(third) != 0 {
			t.Fatalf("with a standby, %d of the second and %d of the third run", len(second), len(third))
		}
		perClient = 1 // it is gone
		time.Sleep(laneInterval)
		fourth := enter()
		(<-first)()
		synctest.Wait()
		if len(third)+len(fourth) != 0 {
			t.Error("another list runs, although the standby is gone and one is running")
		}
		(<-second)()
		(<-third)()
		(<-fourth)()
	})
}

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
