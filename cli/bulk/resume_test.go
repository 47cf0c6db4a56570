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
	d := newFixture(t, newService(), "a", "b")
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
	d := newFixture(t, newService(), "a")
	d.kill(nil)
	longAgo := d.now.Add(-time.Hour)
	if err := os.Chtimes(d.options.resultsPath()+".journal", longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	d.must()
	if len(d.waits) == 0 || slices.Max(d.waits) < settleDelay-time.Second {
		t.Errorf("waited %v for what the killed run may have sent", d.waits)
	}
}

// TestUnknownRowMayStillBeUnderWay runs again right behind a run that ended while it did not know a row's outcome.
func TestUnknownRowMayStillBeUnderWay(t *testing.T) {
	s := newService()
	s.faults["a"] = []fault{{err: timedOut}}
	d := newFixture(t, s, "a")
	d.must()
	d.want("2 unknown outcome_unknown")
	d.waits, d.now = nil, time.Now()
	d.must()
	d.want("2 ok a-1")
	if len(d.waits) == 0 || slices.Max(d.waits) < settleDelay-time.Second {
		t.Errorf("waited %v for what the run before may have sent", d.waits)
	}
}

// TestKilledRunsOutcomeIsConfirmedByItsKey kills a run in the middle of a row, where others do the same work.
func TestKilledRunsOutcomeIsConfirmedByItsKey(t *testing.T) {
	for name, test := range map[string]struct {
		done    []string // by the killed run
		other   bool     // somebody else does the work meanwhile
		honours bool
		known   bool // to the killed run
		age     time.Duration
		result  string
	}{
		"done, and keys count":                    {[]string{"a"}, false, true, true, 0, "2 ok a-1"},
		"done, and reading shows that keys count": {[]string{"a"}, false, true, false, 0, "2 ok a-1"},
		"done, and keys are too old":              {[]string{"a"}, false, true, true, 21 * time.Hour, "2 unknown ambiguous"},
		"done, and a clock that was set back":     {[]string{"a"}, false, true, true, -21 * time.Hour, "2 unknown ambiguous"},
		"done, and keys do not count":             {[]string{"a"}, false, false, false, 0, "2 unknown ambiguous"},
		"another's, and keys count":               {nil, true, true, true, 0, "2 failed already_redeemed"},
		"another's, and reading shows it":         {nil, true, true, false, 0, "2 failed already_redeemed"},
		"another's, and keys do not count":        {nil, true, false, false, 0, "2 unknown ambiguous"},
		"not done, and keys do not count":         {nil, false, false, false, 0, "2 ok a-1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService()
			s.honours, s.shared = test.honours, true
			d := newFixture(t, s, "a")
			d.kill(test.done)
			if test.known {
				d.append("keys")
			}
			if test.other {
				s.made["a"] = []string{"a-other"}
			}
			s.order = nil
			d.now = d.now.Add(test.age)
			for range 2 { // what is ambiguous stays so
				d.must()
				d.want(test.result)
			}
			if len(s.made["a"]) != 1 {
				t.Errorf("made %v", s.made["a"])
			}
		})
	}
}
