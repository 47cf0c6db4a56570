package endurance

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"example.com/perks/cmd/dev/specserver"
)

// TestKillsLoseNothingForAnyRowsAndServers kills a run over few rows twice, at other services than perksd.
func TestKillsLoseNothingForAnyRowsAndServers(t *testing.T) {
	t.Parallel()
	const rows, few = 90, 3
	many := repeatedRows(rows) // enough rows for each user that the list of redemptions has several pages
	many.who = among(few)
	manyNumbered := many
	manyNumbered.note = itsNumber
	inCSV := many
	inCSV.format, inCSV.suffix = csv, ".csv"

	ahead := func(by time.Duration) specserver.Options {
		return specserver.Options{Freedoms: specserver.Freedoms{ClockOff: specserver.ClockOffset(by)}}
	}
	linked := specserver.Options{Freedoms: specserver.Freedoms{Meta: specserver.MetaNone, NoTotal: true}}
	numbered := specserver.Options{Freedoms: specserver.Freedoms{NoLinks: true, NoTotal: true}}
	oldest := func(o specserver.Options) specserver.Options {
		o.OldestFirst, o.IgnoresSort = true, true
		return o
	}
	for name, test := range map[string]struct {
		server specserver.Options
		rows   rowSet
		stdin  bool
		args   []string
	}{
		"rows that are the same, next to one another": {rows: rowSet{rows: rows, who: inPairs, format: csv,
			suffix: ".csv"}},
		"rows of one user": {rows: rowSet{rows: rows / 2, who: among(1), format: csv,
			suffix: ".csv"}},
		"rows with numbers": {rows: manyNumbered},
		"cells of several lines": {rows: rowSet{rows: rows, who: everyone, note: twoLines,
			format: csv, suffix: ".csv"}},
		"a clock that is ahead":        {server: ahead(time.Hour), rows: many},
		"a clock that is behind":       {server: ahead(-time.Hour), rows: many},
		"pages that are linked":        {server: linked, rows: many},
		"the oldest first, by numbers": {server: oldest(numbered), rows: many},
		"the oldest first, linked":     {server: oldest(linked), rows: many},
		"CSV from a pipe":              {rows: inCSV, stdin: true},
		"JSON lines from a pipe":       {rows: many, stdin: true},
		"one row at a time":            {rows: many, args: []string{"--concurrency", "1"}},
		"many rows at a time":          {rows: rowsOf(300), args: []string{"--concurrency", "24"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, foreignService(t, test.server), test.rows, test.args...)
			if test.stdin {
				j.fromStdin()
			}
			j.killRepeatedly(2, uint64(len(name)))
		})
	}
}

// TestAlternatingKillsAndInterruptsLoseNothing stops every second run by a kill, and the others by an interrupt.
func TestAlternatingKillsAndInterruptsLoseNothing(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, specserver.Options{}), repeatedRows(90))
	j.proxy.loseEvery = 0
	random := rand.New(rand.NewPCG(5, 0))
	for round := range 4 {
		if round%2 == 0 {
			j.startWith(1+random.IntN(15), randomFaultPoint(random), (*process).kill).must(-1)
			continue
		}
		j.startWith(1+random.IntN(15), broken, (*process).interrupt).must(130)
	}
	j.start().must(0)
	j.check()
}

// TestKillAfterTheLastReplyLeavesNothingToDo kills a run between the reply to its last row and its exit.
func TestKillAfterTheLastReplyLeavesNothingToDo(t *testing.T) {
	t.Parallel()
	r := rowsOf(30)
	foreign := foreignService(t, specserver.Options{})
	foreign.proxy.dropEvery, foreign.proxy.loseEvery = 0, 0
	for name, s := range map[string]service{"ours": ourService(t), "theirs": foreign} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, s, r, "--concurrency", "1")
			s.proxy.t = t
			p := j.startWith(r.rows, afterReply, (*process).kill)
			p.code() // it may have been faster than the kill
			if len(j.redemptions()) != r.rows {
				t.Errorf("%d rows are done, want %d", len(j.redemptions()), r.rows)
			}
			j.start().must(0)
			j.check()
		})
	}
}

// TestTokensThatExpireDuringARunAreReplaced loses no replies: perksctl replaces a token once for each request, and a
// request with many retries would need more than one.
func TestTokensThatExpireDuringARunAreReplaced(t *testing.T) {
	t.Parallel()
	s := foreignService(t, specserver.Options{TokenUses: 40})
	s.proxy.dropEvery, s.proxy.loseEvery = 0, 0
	newJob(t, s, rowsOf(90)).killRepeatedly(1, 6)
	if s.tokens() < 3 {
		t.Errorf("%d tokens were issued for more than 100 requests", s.tokens())
	}
}

func TestFullDiskStopsTheRunAndLosesNothing(t *testing.T) {
	t.Parallel()
	const refusal = "The results cannot be written"
	r := rowsOf(200)
	for name, s := range map[string]service{"ours": ourService(t), "theirs": foreignService(t, specserver.Options{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.proxy.t = t
			j := newJob(t, s, r)
			// A limit of the file size simulates a full disk.
			p := j.startBy("sh", "-c", `ulimit -f 16 && exec "$@"`, "sh", j.program).must(1)
			p.wantStderr(refusal)
			p.wantStderr("To resume, run the same command again")
			if _, err := os.Stat(j.journal()); err != nil {
				t.Errorf("the journal: %v", err)
			}
			j.checkSoFar()
			j.start().must(0)
			j.check()
		})
	}
}

func TestRunOnAFullDiskSendsNothing(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, specserver.Options{}), rowsOf(30))
	j.startBy("sh", "-c", `ulimit -f 0 && exec "$@"`, "sh",
		j.program).must(1).wantStderr("The journal of the results cannot be written")
	if _, requests, _ := j.proxy.counts(); requests > 0 {
		t.Errorf("%d requests were made", requests)
	}
	j.start().must(0)
	j.check()
}

func TestServerRestartLosesNoRow(t *testing.T) {
	t.Parallel()
	r := rowsOf(120)
	for name, s := range map[string]service{"ours": ourService(t), "theirs": foreignService(t, specserver.Options{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.proxy.t = t
			j := newJob(t, s, r)
			p := j.start()
			down := make(chan struct{})
			j.proxy.injectAt(50, afterWork, func() { close(down) })
			<-down
			j.proxy.restart(2 * time.Second)
			p.must(0)
			j.check()
		})
	}
}

// restart breaks all connections, and refuses new ones for a while.
func (p *faultProxy) restart(after time.Duration) {
	if err := p.server.Close(); err != nil {
		p.t.Error(err)
	}
	<-time.After(after)
	// An outgoing connection may use the port meanwhile, and closes soon.
	eventually(p.t, atLast, "the port is free again", func() bool { return p.listen() == nil })
}
