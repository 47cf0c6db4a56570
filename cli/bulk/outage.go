package bulk

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"example.com/perks/api/client"
)

// manyFailures in a row, of whatever rows, are an outage. A few rows can make the service fail by what they say.
const manyFailures = 10

// outage notices that the service, or a proxy before it, answers nothing but failures. Then the run stops: what its
// rows would get is not about them.
type outage struct {
	failures atomic.Int64 // since an answer that was none
}

// isFailing tells whether an error is the answer of a service that fails or is overloaded, or of a proxy before it, or
// a lost reply.
func isFailing(err error) bool {
	if refused, is := errors.AsType[*client.Error](err); is {
		return refused.Status >= http.StatusInternalServerError || refused.Status == http.StatusTooManyRequests
	}
	return client.OutcomeUnknown(err)
}

// answered notes what a request came to that was sent at a time. A failure for which the client has waited as long
// as it may stops the run at once.
func (r *run) answered(err error, asked time.Time) {
	switch {
	case isFailing(err):
		if r.outage.failures.Add(1) >= manyFailures || r.now().Sub(asked) >= waitBudget {
			r.stop(err)
		}
	case err == nil || errors.As(err, new(*client.Error)):
		r.outage.failures.Store(0)
	}
}
