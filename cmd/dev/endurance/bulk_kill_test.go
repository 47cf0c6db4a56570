package endurance

import (
	"math/rand/v2"
	"testing"
	"time"

	"example.com/perks/cmd/dev/specserver"
)

// scale is the size of a test, for its long or its short form.
type scale struct{ rows, kills int }

// scaleOf returns the long form or the small one. After each kill perksctl waits five seconds for a service without
// idempotency keys, so there are fewer kills of those.
func scaleOf(small scale) scale {
	if isLong() {
		return scale{20_000, 10}
	}
	return small
}

func TestKillsLoseNothing(t *testing.T) {
	t.Parallel()
	lossy := func(t *testing.T) service {
		s := ourService(t)
		s.proxy.dropEvery, s.proxy.loseEvery = 10, 50
		return s
	}
	withoutKeys := func(t *testing.T) service { return foreignService(t, specserver.Options{}) }
	for name, test := range map[string]struct {
		service func(*testing.T) service
		short   scale
		rows    func(int) rowSet
		seed    uint64
	}{
		"at perksd":                     {ourService, scale{600, 10}, rowsOf, 1},
		"at perksd, and lost replies":   {lossy, scale{300, 10}, rowsOf, 2},
		"without idempotency keys":      {withoutKeys, scale{600, 3}, rowsOf, 3},
		"of rows that occur many times": {withoutKeys, scale{300, 3}, repeatedRows, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scaleOf(test.short)
			newJob(t, test.service(t), test.rows(s.rows)).killRepeatedly(s.kills, test.seed)
		})
	}
}

// TestUnknownOutcomesAreNotAssumedMine runs without --assume-mine first. No row is redeemed twice then, and those whose
// reply was lost stay unknown until the flag is given.
func TestUnknownOutcomesAreNotAssumedMine(t *testing.T) {
	t.Parallel()
	s := foreignService(t, specserver.Options{})
	assumeMine := s.args
	s.args = nil
	j := newJob(t, s, rowsOf(60))
	p := j.startWith(25, afterWork, (*process).kill)
	p.must(-1)
	for range 2 {
		j.start().must(7).wantStderr("may belong to this row or to another request")
		j.proxy.awaitIdle()
		j.checkSoFar()
	}
	j.args = assumeMine
	j.start().must(0)
	j.check()
}

// TestKillsLeaveFewRowsUnknown kills runs that send no row again. Those that were in progress stay unknown.
func TestKillsLeaveFewRowsUnknown(t *testing.T) {
	t.Parallel()
	s := foreignService(t, specserver.Options{})
	resending := s.args
	s.args = []string{"--assume-mine"}
	j := newJob(t, s, rowsOf(300))
	const kills, atOnce = 3, 8 // perksctl's default
	for range kills {
		p := j.startWith(40, beforeWork, (*process).kill)
		p.must(-1)
	}
	j.start().must(7).wantStderr("--resend-unknown")
	j.proxy.awaitIdle()
	j.checkSoFar()
	if sent, _, _ := j.proxy.counts(); sent < j.rows.rows-kills*atOnce {
		j.Errorf("only %d of %d rows were sent", sent, j.rows.rows)
	}
	j.args = resending
	j.start().must(0)
	j.check()
}

func randomFaultPoint(random *rand.Rand) faultPoint { return faultPoint(random.IntN(int(killPoints))) }

// killRepeatedly kills the program at random points, and resumes it at once each time. Then it lets the last run
// finish.
func (j *job) killRepeatedly(kills int, seed uint64) {
	j.Helper()
	began := time.Now()
	random := rand.New(rand.NewPCG(seed, 0))
	atMost := j.rows.rows * 9 / 10 / kills
	for range kills {
		p := j.startWith(1+random.IntN(atMost), randomFaultPoint(random), (*process).kill)
		p.must(-1)
	}
	killed := time.Now()
	if last := j.start(); last.code() != 0 { // by chance, all three requests of a row were lost
		last.must(7)
		j.start().must(0)
	}
	sent, all, _ := j.proxy.counts()
	j.Logf("%d rows, %d kills: %d redeems and %d other requests; %s with the kills, %s after them",
		j.rows.rows, kills, sent, all-sent, killed.Sub(began).Round(time.Millisecond),
		time.Since(killed).Round(time.Millisecond))
	j.check()
}
