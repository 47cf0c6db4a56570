package bulk

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"example.com/perks/api/client"
)

// outage notices that the service, or a proxy before it, answers nothing but failures. Then fewer rows start, and
// after a while none: what they would get is not about them.
type outage struct {
	longest time.Duration

	mu       sync.Mutex
	failures int // since an answer that was none
	timer    *time.Timer
}

const (
	// manyFailures in a row are an outage. A few rows can make the service fail by what they say.
	manyFailures = 20
	// maxOutage is longer than a proxy takes to reach a server that restarts.
	maxOutage = time.Minute
	// outagePause is the time between two rows that find out whether the outage is over.
	outagePause = time.Second
)

// isFailing tells whether an error is the answer of a service that fails or is overloaded, or of a proxy before it.
func isFailing(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) &&
		(refused.Status >= http.StatusInternalServerError || refused.Status == http.StatusTooManyRequests)
}

// answered notes what a request came to that was sent at a time. A failure for which the client has waited as long
// as it may stops the run at once.
func (r *run) answered(err error, asked time.Time) {
	o := &r.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case isFailing(err):
		if o.failures++; o.failures == manyFailures {
			o.timer = time.AfterFunc(o.longest, func() { r.stop(err) })
		}
		if r.now().Sub(asked) >= waitBudget {
			r.stop(err)
		}
	case err == nil || errors.As(err, new(*client.Error)):
		o.failures = 0
		o.stopTimer()
	}
}

func (o *outage) isOn() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failures >= manyFailures
}

// end keeps the outage from stopping a run that is over.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopTimer()
}

func (o *outage) stopTimer() {
	if o.timer != nil {
		o.timer.Stop()
	}
}
