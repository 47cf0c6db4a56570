package endurance

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

func TestSecondInterruptEndsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, &foreign{}), rowsOf(40))
	unblock := j.proxy.block()
	p := j.start()
	eventually(t, atLast, "the run waits for answers", func() bool { _, _, blocked := j.proxy.counts(); return blocked == 8 })
	eventually(t, atLast, "the run has ended", func() bool {
		p.interrupt()
		select {
		case <-p.ended:
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

// promptly is more than a run needs to end that has nothing to wait for, however busy the machine is.
const promptly = 15 * time.Second

func TestInterruptedRunSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	j := newJob(t, ourService(t), rowsOf(100))
	p := j.start()
	j.proxy.injectAt(40, afterWork, p.interrupt)
	p.must(130).says("To resume, run the same command again; it skips the rows that are done:\n  perksctl perk redeem --file " + j.input)
	if redeems, _, _ := j.proxy.counts(); redeems == 100 {
		t.Error("the run went on to its end")
	}
	j.start().must(0)
	j.check()
}

func TestInterruptWhileTheServerAsksToWaitEndsTheRun(t *testing.T) {
	t.Parallel()
	j := newJob(t, ourService(t), rowsOf(60))
	j.proxy.throttleFrom(20)
	p := j.start()
	eventually(t, atLast, "the run waits because the server asks for it", func() bool { return strings.Contains(p.stderr.String(), "asks to wait 1m0s") })
	began := time.Now()
	p.interrupt()
	p.must(130).says("To resume")
	if took := time.Since(began); took > promptly {
		t.Errorf("the run ended %s after the interrupt", took)
	}
	j.proxy.throttleFrom(0)
	j.start().must(0)
	j.check()
}

// TestInterruptedResumptionForgetsNothing kills a run whose rows are done without its knowledge, and interrupts the next one
// before that can find out.
func TestInterruptedResumptionForgetsNothing(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, &foreign{}), repeatedRows(40))
	p := j.start()
	j.proxy.injectAt(9, afterWork, p.kill)
	p.must(-1)

	p = j.start()
	eventually(t, atLast, "the second run is at work", func() bool { return j.begun() == 2 })
	p.interrupt()
	p.must(130)
	j.start().must(0)
	j.check()
}

// begun is how many runs the journal names.
func (j *job) begun() int {
	text, err := os.ReadFile(j.journal())
	if err != nil {
		j.Fatal(err)
	}
	return bytes.Count(text, []byte(`"batch"`))
}

// TestRequestThatOutlivesItsRunIsNotSentAgain has a server begin with a request when the program that sent it is dead,
// long after that last wrote to its journal.
func TestRequestThatOutlivesItsRunIsNotSentAgain(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, &foreign{}), rowsOf(40))
	p := j.start()
	j.proxy.injectAt(9, lateWork, p.kill)
	p.must(-1)
	anHourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(j.journal(), anHourAgo, anHourAgo); err != nil {
		t.Fatal(err)
	}
	j.start().must(0)
	j.check()
}

// TestInterruptWhileAnAnswerIsSoughtForgetsNothing interrupts a run that looks for an answer that was lost, and goes on before
// the server has done what it was asked.
func TestInterruptWhileAnAnswerIsSoughtForgetsNothing(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, &foreign{}), rowsOf(40))
	p := j.start()
	j.proxy.injectAt(9, broken, p.interrupt)
	p.must(130)
	j.start().must(0)
	j.check()
}

func TestSecondRunAtOnceIsRefused(t *testing.T) {
	t.Parallel()
	j := newJob(t, ourService(t), rowsOf(40))
	unblock := j.proxy.block()
	first := j.start()
	eventually(t, atLast, "the first run waits for answers", func() bool { _, _, blocked := j.proxy.counts(); return blocked == 8 })
	_, before, _ := j.proxy.counts()
	j.start().must(6).says("Another run is using")
	if _, after, _ := j.proxy.counts(); after != before {
		t.Errorf("the second run made %d requests", after-before)
	}
	unblock()
	first.must(0)
	j.check()
}
