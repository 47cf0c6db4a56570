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
	"example.com/perks/api/operation"
)

// TestAnOutageStopsTheRun has a proxy that answers every request with 502, or as many as are no outage.
func TestAnOutageStopsTheRun(t *testing.T) {
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	badGateway := &client.Error{Status: 502, Code: "unavailable", Message: "Bad Gateway.", OutcomeUnknown: true}
	for _, test := range []struct {
		what string
		up   bool
		err  error
	}{
		{what: "502 for good", err: badGateway},
		{what: "429 for good", err: &client.Error{Status: 429, Code: "rate_limited", Message: "Too many."}},
		{what: "lost for good", err: broken},
		{what: "502 for a moment", err: badGateway, up: true},
	} {
		what, up := test.what, test.up
		s := newService()
		s.careful = true
		for i, name := range names {
			if !up || i < operation.ManyFailures-1 {
				s.faults[name] = []fault{{err: test.err}}
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
			r.batch.Now, r.batch.Wait = time.Now, wait
			err = r.work(context.Background())
			err = errors.Join(err, r.runState.close())
		})
		tried := len(slices.Compact(slices.Sorted(slices.Values(s.sent))))
		switch {
		case up && (err != nil || tried != len(names)):
			t.Errorf("%s: %d rows tried, %v", what, tried, err)
		case !up && (!operation.IsFailing(err) || len(s.order) > 200):
			t.Errorf("%s: %d rows tried with %d requests, %v", what, tried, len(s.order), err)
		}
	}
}
