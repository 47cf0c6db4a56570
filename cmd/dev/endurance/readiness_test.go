package endurance

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

// readinessWatch polls a server's readiness. The server must stay live all the time.
type readinessWatch struct {
	t       *testing.T
	url     string
	changes chan change // starting with the first result
	stop    func()
}

// change is the readiness from a given time on.
type change struct {
	ready bool
	at    time.Time
}

// watchReadiness watches until stop or the end of the test.
func watchReadiness(t *testing.T, s *programs.Server) *readinessWatch {
	stopped := make(chan struct{})
	w := &readinessWatch{t: t, url: s.URL, changes: make(chan change, 100)}
	var watching sync.WaitGroup
	watching.Go(func() { w.ask(stopped) })
	w.stop = sync.OnceFunc(func() {
		close(stopped)
		watching.Wait()
	})
	t.Cleanup(w.stop)
	return w
}

func (w *readinessWatch) ask(stopped <-chan struct{}) {
	next := time.NewTicker(pollInterval)
	defer next.Stop()
	known, was := false, false
	for {
		select {
		case <-stopped:
			return
		case <-next.C:
		}
		if status, err := programs.Get(w.url+"/livez", ""); err != nil || status != http.StatusOK {
			w.t.Errorf("/livez: %d, %v", status, err)
		}
		status, err := programs.Get(w.url+"/readyz", "")
		if err != nil {
			w.t.Errorf("/readyz: %v", err)
		}
		if is := status == http.StatusOK; !known || is != was {
			known, was = true, is
			w.changes <- change{is, time.Now()}
		}
	}
}

// readyWithin is how long readiness may lag behind the database.
const readyWithin = 10 * time.Second

// becomes waits until the server has become ready, or no longer ready, and returns when that was.
func (w *readinessWatch) becomes(ready bool) time.Time {
	w.t.Helper()
	late := time.After(readyWithin)
	for {
		select {
		case c := <-w.changes:
			if c.ready == ready {
				return c.at
			}
		case <-late:
			w.t.Fatalf("after %s /readyz still does not report ready %t", readyWithin, ready)
		}
	}
}
