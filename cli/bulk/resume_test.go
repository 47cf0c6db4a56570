package bulk

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api/operation"
)

// TestInterruptedResumeKeepsTheJournal kills a run after its row was done, and interrupts the next run before that row.
func TestInterruptedResumeKeepsTheJournal(t *testing.T) {
	d := newFixture(t, newService(), "a", "b")
	d.kill([]string{"a"})
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := d.run(interrupted); !errors.Is(err, context.Canceled) {
		t.Errorf("the run returned %v", err)
	}
	d.must()
	d.want("2 ok a-1", "3 ok b-1")
	d.wantNoJournal()
	if got := d.service.all(); got != "a:1 b:1" {
		t.Error(got)
	}
}

// TestKilledRunMayHaveSentUntilNow resumes a run that last wrote its journal long before it was killed.
func TestKilledRunMayHaveSentUntilNow(t *testing.T) {
	d := newFixture(t, newService(), "a")
	d.kill(nil)
	longAgo := d.now.Add(-time.Hour)
	if err := os.Chtimes(d.options.resultsPath()+".journal", longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	d.must()
	if len(d.waits) == 0 || slices.Max(d.waits) < operation.SettleDelay-time.Second {
		t.Errorf("waited %v for requests of the killed run", d.waits)
	}
}

// TestUnknownRowMayStillBeInProgress runs again right after a run that left a row's outcome unknown.
func TestUnknownRowMayStillBeInProgress(t *testing.T) {
	s := newService()
	s.faults["a"] = []fault{{err: timedOut}}
	d := newFixture(t, s, "a")
	d.must()
	d.want("2 unknown outcome_unknown")
	d.waits, d.now = nil, time.Now()
	d.must()
	d.want("2 ok a-1")
	if len(d.waits) == 0 || slices.Max(d.waits) < operation.SettleDelay-time.Second {
		t.Errorf("waited %v for requests of the previous run", d.waits)
	}
}

// TestKilledRunsOutcomeIsConfirmedByItsKey kills a run during a row, with other clients that do the same work.
func TestKilledRunsOutcomeIsConfirmedByItsKey(t *testing.T) {
	for name, test := range map[string]struct {
		done    []string // by the killed run
		other   bool     // another client does the work meanwhile
		honours bool
		known   bool // to the killed run
		age     time.Duration
		result  string
	}{
		"done, keys honoured":                 {[]string{"a"}, false, true, true, 0, "2 ok a-1"},
		"done, keys honoured as a read shows": {[]string{"a"}, false, true, false, 0, "2 ok a-1"},
		"done, keys expired": {[]string{"a"}, false, true, true, 21 * time.Hour,
			"2 unknown ambiguous"},
		"done, clock set back": {[]string{"a"}, false, true, true, -21 * time.Hour,
			"2 unknown ambiguous"},
		"done, keys ignored": {[]string{"a"}, false, false, false, 0,
			"2 unknown ambiguous"},
		"done by another, keys honoured":                 {nil, true, true, true, 0, "2 failed already_redeemed"},
		"done by another, keys honoured as a read shows": {nil, true, true, false, 0, "2 failed already_redeemed"},
		"done by another, keys ignored":                  {nil, true, false, false, 0, "2 unknown ambiguous"},
		"not done, keys ignored":                         {nil, false, false, false, 0, "2 ok a-1"},
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
			for range 2 { // an ambiguous row stays ambiguous
				d.must()
				d.want(test.result)
			}
			if len(s.made["a"]) != 1 {
				t.Errorf("made %v", s.made["a"])
			}
		})
	}
}

// TestNoRowIsSentAgainWithoutProof loses requests to a service that may carry them out later.
func TestNoRowIsSentAgainWithoutProof(t *testing.T) {
	for name, test := range map[string]struct {
		honours bool
		lost    bool // the first request
		killed  bool // the run before
		results []string
		sent    string
	}{
		"lost, keys not shown to count": {
			lost: true, results: []string{"2 unknown outcome_unknown", "3 ok b-1"}, sent: "a b",
		},
		"lost, keys honoured": {lost: true, honours: true, results: []string{"2 ok a-1", "3 ok b-1"}, sent: "a a b"},
		"killed, keys not shown to count": {
			killed: true, results: []string{"2 unknown outcome_unknown", "3 ok b-1"}, sent: "b",
		},
		"killed, keys honoured": {killed: true, honours: true, results: []string{"2 ok a-1", "3 ok b-1"}, sent: "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService()
			s.honours, s.careful = test.honours, true
			d := newFixture(t, s, "a", "b")
			d.options.Concurrency = 1
			if test.killed {
				d.kill(nil)
			}
			if test.lost {
				s.faults["a"] = []fault{{err: broken}}
			}
			for range 2 { // what is unknown stays so
				if _, err := d.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				d.want(test.results...)
			}
			slices.Sort(s.sent)
			if sent := strings.Join(s.sent, " "); sent != test.sent {
				t.Errorf("sent %s, want %s", sent, test.sent)
			}
			s.careful = false // --resend-unknown
			d.must()
			d.want("2 ok a-1", "3 ok b-1")
		})
	}
}
