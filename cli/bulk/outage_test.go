package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/perks/api/client"
)

// A proxy that answers every request with 502 stops the run, long before each of its 2,000 rows was tried in vain.
func TestAnOutageStopsTheRun(t *testing.T) {
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	badGateway := &client.Error{Status: 502, Code: "unavailable", Message: "Bad Gateway.", OutcomeUnknown: true}
	for what, up := range map[string]bool{"down for good": false, "up again": true} {
		s := newService()
		for _, name := range names {
			s.faults[name] = []fault{{err: badGateway}, {err: badGateway}, {err: badGateway}}
			if up && name == names[30] {
				break
			}
		}
		d := newFixture(t, s, names...)
		d.options.Concurrency = 8
		var r *run
		var err error
		synctest.Test(t, func(t *testing.T) {
			if r, err = d.open(); err != nil {
				t.Fatal(err)
			}
			r.now, r.wait = time.Now, wait
			err = r.work(context.Background())
			err = errors.Join(err, r.runState.close())
		})
		tried := len(slices.Compact(slices.Sorted(slices.Values(s.sent))))
		switch {
		case up && (err != nil || tried != len(names)):
			t.Errorf("%s: %d rows tried, %v", what, tried, err)
		case !up && (!isFailing(err) || len(s.order) > 1000):
			t.Errorf("%s: %d rows tried with %d requests, %v", what, tried, len(s.order), err)
		}
	}
}
