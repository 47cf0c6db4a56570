package endurance

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/perks/cmd/dev/specserver"
)

func TestSecondInterruptStopsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, specserver.Options{}), rowsOf(40))
	unblock := j.proxy.block()
	p := j.start()
	eventually(t, atLast, "the run waits for replies",
		func() bool { _, _, blocked := j.proxy.counts(); return blocked == 8 })
	eventually(t, atLast, "the run has exited", func() bool {
		p.interrupt()
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
	p.must(-1)
	unblock()
	j.start().must(0)
	j.check()
}

// promptly bounds the exit of a run that has nothing to wait for, on a busy machine.
const promptly = 15 * time.Second

func TestInterruptedRunSaysHowToResume(t *testing.T) {
	t.Parallel()
	j := newJob(t, ourService(t), rowsOf(100))
	p := j.startWith(40, afterWork, (*process).interrupt)
	p.must(130).wantStderr("To resume, run the same command again; it skips the rows that are done:\n  perksctl perk " +
		"redeem --file " + j.input)
	if redeems, _, _ := j.proxy.counts(); redeems == 100 {
		t.Error("the run was not interrupted")
	}
	j.start().must(0)
	j.check()
}

func TestInterruptDuringRetryAfterStopsTheRun(t *testing.T) {
	t.Parallel()
	j := newJob(t, ourService(t), rowsOf(60))
	j.proxy.throttleFrom(20)
	p := j.start()
	eventually(t, atLast, "the run waits because the server asks for it",
		func() bool { return strings.Contains(p.stderr.String(), "asks to wait 1m0s") })
	began := time.Now()
	p.interrupt()
	p.must(130).wantStderr("To resume")
	if took := time.Since(began); took > promptly {
		t.Errorf("the run exited %s after the interrupt", took)
	}
	j.proxy.throttleFrom(0)
	j.start().must(0)
	j.check()
}

// TestInterruptedResumptionLosesNothing kills a run before it gets a reply, and interrupts the next one before it can
// check the outcome.
func TestInterruptedResumptionLosesNothing(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, specserver.Options{}), repeatedRows(40))
	p := j.startWith(9, afterWork, (*process).kill)
	p.must(-1)

	p = j.start()
	eventually(t, atLast, "the second run has started", func() bool { return j.begun() == 2 })
	p.interrupt()
	p.must(130)
	j.start().must(0)
	j.check()
}

// begun returns the number of runs in the journal.
func (j *job) begun() int {
	text, err := os.ReadFile(j.journal())
	if err != nil {
		j.Fatal(err)
	}
	return bytes.Count(text, []byte(`"batch"`))
}

// TestRequestThatOutlivesItsRunIsNotRepeated has a server start on a request after the program that sent it was killed,
// long after its last entry in the journal.
func TestRequestThatOutlivesItsRunIsNotRepeated(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, specserver.Options{}), rowsOf(40))
	p := j.startWith(9, lateWork, (*process).kill)
	p.must(-1)
	anHourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(j.journal(), anHourAgo, anHourAgo); err != nil {
		t.Fatal(err)
	}
	j.start().must(0)
	j.check()
}

// TestInterruptDuringAnUnknownOutcomeLosesNothing interrupts a run whose reply was lost, and resumes it before the
// server has handled the request.
func TestInterruptDuringAnUnknownOutcomeLosesNothing(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, specserver.Options{}), rowsOf(40))
	p := j.startWith(9, broken, (*process).interrupt)
	p.must(130)
	j.start().must(0)
	j.check()
}

func TestConcurrentRunIsRefused(t *testing.T) {
	t.Parallel()
	j := newJob(t, ourService(t), rowsOf(40))
	unblock := j.proxy.block()
	first := j.start()
	eventually(t, atLast, "the first run waits for replies",
		func() bool { _, _, blocked := j.proxy.counts(); return blocked == 8 })
	_, before, _ := j.proxy.counts()
	j.start().must(6).wantStderr("Another run is using")
	if _, after, _ := j.proxy.counts(); after != before {
		t.Errorf("the second run made %d requests", after-before)
	}
	unblock()
	first.must(0)
	j.check()
}
