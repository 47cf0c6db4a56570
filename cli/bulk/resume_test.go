package bulk

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"
)

// TestInterruptedResumptionLeavesTheJournal kills a run whose row is done, and interrupts the next before it comes to that row.
func TestInterruptedResumptionLeavesTheJournal(t *testing.T) {
	d := newDesk(t, newService(), "a", "b")
	d.kill([]string{"a"})
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := d.run(interrupted); !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v", err)
	}
	d.must()
	d.want("2 ok a-1", "3 ok b-1")
	d.wantNoJournal()
	if got := d.service.all(); got != "a:1 b:1" {
		t.Error(got)
	}
}

// TestKilledRunMayHaveSentUntilNow resumes a run that had last written to its journal long before it was killed.
func TestKilledRunMayHaveSentUntilNow(t *testing.T) {
	d := newDesk(t, newService(), "a")
	d.kill(nil)
	longAgo := d.now.Add(-time.Hour)
	if err := os.Chtimes(d.options.resultsPath()+".journal", longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	d.must()
	if len(d.waits) == 0 || slices.Max(d.waits) < grace-time.Second {
		t.Errorf("waited %v for what the killed run may have sent", d.waits)
	}
}

// TestUnknownRowMayStillBeUnderWay runs again right behind a run that ended while it did not know a row's outcome.
func TestUnknownRowMayStillBeUnderWay(t *testing.T) {
	s := newService()
	s.trouble["a"] = []trouble{{err: timeUp}}
	d := newDesk(t, s, "a")
	d.must()
	d.want("2 unknown outcome_unknown")
	d.waits, d.now = nil, time.Now()
	d.must()
	d.want("2 ok a-1")
	if len(d.waits) == 0 || slices.Max(d.waits) < grace-time.Second {
		t.Errorf("waited %v for what the run before may have sent", d.waits)
	}
}
