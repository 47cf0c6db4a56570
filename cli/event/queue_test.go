package event

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// scripted is a target that answers as a test says.
type scripted struct {
	answer func(e api.Event, attempt int) answer

	mu      sync.Mutex
	took    []string // the ids of events that it has taken
	tried   []string
	running int
	most    int // that ran at once
}

func (s *scripted) deliver(_ context.Context, e api.Event, _ time.Time, attempt int) answer {
	s.mu.Lock()
	s.tried = append(s.tried, e.ID)
	s.running++
	s.most = max(s.most, s.running)
	s.mu.Unlock()
	a := s.answer(e, attempt)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if a.problem == "" {
		s.took = append(s.took, e.ID)
	}
	return a
}

func (*scripted) close() {}

func taken() answer { return answer{} }

func refused(status int) answer {
	return answer{problem: "refused", response: &http.Response{StatusCode: status, Header: http.Header{}}}
}

// about returns events 1 to n about the subjects in turn.
func about(n int, subjects ...string) (page api.EventPage) {
	for i := range n {
		page.Data = append(page.Data, api.Event{ID: fmt.Sprint(i + 1), Subject: subjects[i%len(subjects)],
			Cursor: fmt.Sprint("after ", i+1)})
		page.Next = fmt.Sprint("after ", i+1)
	}
	return page
}

// run runs a queue over pages, to the end.
func run(ctx context.Context, q *queue, pages ...api.EventPage) error {
	from := make(chan read)
	go func() {
		defer close(from)
		for _, page := range pages {
			select {
			case from <- read{EventPage: page}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return q.run(ctx, from)
}

func newTestQueue(s *scripted, slots int) (q *queue, shown *[]delivery, said fmt.Stringer) {
	streams, _, stderr := command.BufferedStreams("")
	shown = &[]delivery{}
	return newQueue(s, slots, func(d delivery, _ api.Event) error {
		*shown = append(*shown, d)
		return nil
	}, streams), shown, stderr
}

// TestOnlyTheFailingSubjectWaits has the events of one subject fail twice. They stay in order, and others go on.
func TestOnlyTheFailingSubjectWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		target := &scripted{answer: func(e api.Event, attempt int) answer {
			if e.Subject == "a" && attempt < 3 {
				return refused(http.StatusInternalServerError)
			}
			return taken()
		}}
		q, shown, _ := newTestQueue(target, 1)
		if err := run(t.Context(), q, about(6, "a", "b")); err != nil {
			t.Fatal(err)
		}
		if want := []string{"2", "4", "6", "1", "3", "5"}; !slices.Equal(target.took, want) {
			t.Errorf("took %v, want %v", target.took, want)
		}
		// Each of three events waits 5 s and 5 min, and a tenth more or less.
		if took, want := time.Since(begun), 3*(5*time.Second+5*time.Minute); took < want*9/10 || took > want*11/10 {
			t.Errorf("it took %s, want about %s", took, want)
		}
		if first := (*shown)[0]; first.Attempt != 1 || first.NextAt == nil || *first.Error != "refused" {
			t.Errorf("the first attempt is %+v", first)
		}
	})
}

func TestSlotsBoundWhatRunsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := &scripted{answer: func(api.Event, int) answer {
			time.Sleep(time.Second) // of the bubble
			return taken()
		}}
		q, _, said := newTestQueue(target, 3)
		page := about(60, "a", "b", "c", "d", "e")
		if err := run(t.Context(), q, slices.Repeat([]api.EventPage{page}, 20)...); err != nil {
			t.Fatal(err)
		}
		if target.most != 3 || len(target.took) != 20*60 || said.String() != "" {
			t.Errorf("%d ran at once, took %d, and said %q", target.most, len(target.took), said)
		}
	})
}

// TestAQueueHoldsABoundedNumber has all events of one subject behind one that fails.
func TestAQueueHoldsABoundedNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := &scripted{}
		q, _, said := newTestQueue(target, 1)
		most := 0
		target.answer = func(_ api.Event, attempt int) answer {
			synctest.Wait() // until the queue takes no more
			most = max(most, len(q.order))
			if attempt < 2 {
				return refused(http.StatusBadGateway)
			}
			return taken()
		}
		pages := make([]api.EventPage, 12)
		for i := range pages {
			pages[i] = about(api.MaxPerPage, "a")
		}
		if err := run(t.Context(), q, pages...); err != nil {
			t.Fatal(err)
		}
		if most >= mostHeld+api.MaxPerPage || len(target.took) != 12*api.MaxPerPage {
			t.Errorf("%d were held, %d taken", most, len(target.took))
		}
		if !strings.Contains(said.String(), "500 events are not delivered, so no more are read until one is. The "+
			"oldest is of a.") {
			t.Errorf("it said %q", said)
		}
	})
}

func TestTheLastAttemptEndsTheQueue(t *testing.T) {
	for name, test := range map[string]struct {
		status, attempts int
	}{"ten attempts": {http.StatusInternalServerError, 10}, "gone": {http.StatusGone, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := &scripted{answer: func(api.Event, int) answer { return refused(test.status) }}
				q, _, _ := newTestQueue(target, 1)
				err := run(t.Context(), q, about(2, "a"))
				want := fmt.Sprintf("Event 1 was not delivered by attempt %d: refused.", test.attempts)
				if err == nil || err.Error() != want || len(target.tried) != test.attempts {
					t.Errorf("got %v after %d attempts", err, len(target.tried))
				}
			})
		})
	}
}

// TestAnInterruptWaitsForWhatRuns interrupts a delivery. It ends, nothing follows it, and the state has the rest.
func TestAnInterruptWaitsForWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		target := &scripted{answer: func(api.Event, int) answer {
			interrupt()
			time.Sleep(time.Second) // of the bubble
			return taken()
		}}
		q, _, said := newTestQueue(target, 1)
		q.state = &state{path: filepath.Join(t.TempDir(), "state"), Service: "s"}
		if err := run(ctx, q, about(3, "a", "b")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if !slices.Equal(target.took, []string{"1"}) || !strings.Contains(said.String(), "Waiting for 1 delivery to end.") {
			t.Errorf("took %v, and said %q", target.took, said)
		}
		kept, unlock, err := openState(q.state.path, session.Connection{Profile: session.Profile{APIURL: "s"}})
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		if kept.After != "after 3" || len(kept.Undelivered) != 2 || kept.Undelivered[0].ID != "2" {
			t.Errorf("kept %+v", kept)
		}
	})
}

// TestAStateIsSavedBeforeTheNextAttempt reads the file whenever the target is called: what was delivered is not in it.
func TestAStateIsSavedBeforeTheNextAttempt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	connection := session.Connection{Profile: session.Profile{APIURL: "s", ClientID: "c"}}
	made, unlock, err := openState(path, connection)
	if err != nil {
		t.Fatal(err)
	}
	target := &scripted{}
	target.answer = func(e api.Event, _ int) answer {
		kept := &state{}
		if err := command.ReadPrivateJSON(path, kept); err != nil {
			t.Error(err)
		}
		if number, _ := strconv.Atoi(e.ID); len(kept.Undelivered) != 6-number || kept.Undelivered[0].ID != e.ID {
			t.Errorf("at event %s the file has %+v", e.ID, kept)
		}
		return taken()
	}
	q, _, _ := newTestQueue(target, 1)
	q.state = made
	if err := run(t.Context(), q, about(5, "a", "b")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openState(path, connection); err == nil || !strings.Contains(err.Error(), "Another perksctl is using") {
		t.Errorf("a second perksctl got %v", err)
	}
	unlock()
	connection.ClientID = "other"
	if _, _, err := openState(path, connection); err == nil ||
		!strings.Contains(err.Error(), `is about the events of client "c" at s, not of client "other" at s.`) {
		t.Errorf("another client got %v", err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openState(path, connection); err == nil ||
		!strings.Contains(err.Error(), "not a state of perksctl") {
		t.Errorf("an empty object gives %v", err)
	}
}
