package endurance

import (
	"cmp"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// TestKillsCostNothingHoweverRowsAndServersAre kills a run over few rows twice, at services that are not ours.
func TestKillsCostNothingHoweverRowsAndServersAre(t *testing.T) {
	t.Parallel()
	const rows, few = 90, 3
	many := repeatedRows(rows) // so many rows for each user that the list of what was redeemed has several pages
	many.who = among(few)
	numbered := many
	numbered.says = itsNumber
	inCSV := many
	inCSV.format, inCSV.suffix = csv, ".csv"

	for name, test := range map[string]struct {
		foreign *foreign // nil is one with nothing special
		rows    rowSet
		stdin   bool
		args    []string
	}{
		"rows that are the same, next to one another": {rows: rowSet{rows: rows, who: inPairs, format: csv, suffix: ".csv"}},
		"rows of one user":                            {rows: rowSet{rows: rows / 2, who: among(1), format: csv, suffix: ".csv"}},
		"rows with numbers":                           {rows: numbered},
		"cells of several lines":                      {rows: rowSet{rows: rows, who: everyone, says: twoLines, format: csv, suffix: ".csv"}},
		"a clock that is ahead":                       {foreign: &foreign{ahead: time.Hour}, rows: many},
		"a clock that is behind":                      {foreign: &foreign{ahead: -time.Hour}, rows: many},
		"pages that are linked":                       {foreign: &foreign{links: true}, rows: many},
		"the oldest first, by numbers":                {foreign: &foreign{oldestFirst: true}, rows: many},
		"the oldest first, linked":                    {foreign: &foreign{oldestFirst: true, links: true}, rows: many},
		"CSV from a pipe":                             {rows: inCSV, stdin: true},
		"JSON lines from a pipe":                      {rows: many, stdin: true},
		"one row at a time":                           {rows: many, args: []string{"--concurrency", "1"}},
		"many rows at a time":                         {rows: rowsOf(300), args: []string{"--concurrency", "24"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, foreignService(t, cmp.Or(test.foreign, &foreign{})), test.rows, test.args...)
			if test.stdin {
				j.fromStdin()
			}
			j.killAgainAndAgain(2, uint64(len(name)))
		})
	}
}

// TestKillsAndInterruptsInTurnCostNothing alternates between the ways to end a run.
func TestKillsAndInterruptsInTurnCostNothing(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, &foreign{}), repeatedRows(90))
	j.proxy.loseEvery = 0
	random := rand.New(rand.NewPCG(5, 0))
	for round := range 4 {
		p := j.start()
		if round%2 == 0 {
			j.proxy.injectAt(1+random.IntN(15), randomMoment(random), p.kill)
			p.must(-1)
			continue
		}
		j.proxy.injectAt(1+random.IntN(15), broken, p.interrupt)
		p.must(130)
	}
	j.start().must(0)
	j.check()
}

// TestKillRightBehindTheLastAnswerLeavesNothingToDo ends a run between the answer to its last row and its end.
func TestKillRightBehindTheLastAnswerLeavesNothingToDo(t *testing.T) {
	t.Parallel()
	r := rowsOf(30)
	foreign := foreignService(t, &foreign{})
	foreign.proxy.dropEvery, foreign.proxy.loseEvery = 0, 0
	for name, s := range map[string]service{"ours": ourService(t), "theirs": foreign} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, s, r, "--concurrency", "1")
			s.proxy.t = t
			p := j.start()
			j.proxy.injectAt(r.rows, afterReply, p.kill)
			p.code() // it may have been faster than the kill
			if len(j.redemptions()) != r.rows {
				t.Errorf("%d rows are done, want %d", len(j.redemptions()), r.rows)
			}
			j.start().must(0)
			j.check()
		})
	}
}

// TestTokensThatEndDuringARunAreReplaced loses no answers: perksctl replaces a token once for each request, and a request that
// is sent again and again outlives more tokens than one.
func TestTokensThatEndDuringARunAreReplaced(t *testing.T) {
	t.Parallel()
	f := &foreign{tokenUses: 40}
	s := foreignService(t, f)
	s.proxy.dropEvery, s.proxy.loseEvery = 0, 0
	newJob(t, s, rowsOf(90)).killAgainAndAgain(1, 6)
	if f.tokens < 3 {
		t.Errorf("%d tokens were given out for more than 100 requests", f.tokens)
	}
}

func TestFullDiskStopsTheRunAndLosesNothing(t *testing.T) {
	t.Parallel()
	const refusal = "write the results"
	r := rowsOf(200)
	for name, s := range map[string]service{"ours": ourService(t), "theirs": foreignService(t, &foreign{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.proxy.t = t
			j := newJob(t, s, r)
			// A file that may not grow is what a test can have of a full disk.
			p := j.startBy("sh", "-c", `ulimit -f 16 && exec "$@"`, "sh", j.program).must(1)
			p.says(refusal)
			p.says("To resume, run the same command again")
			if _, err := os.Stat(j.journal()); err != nil {
				t.Errorf("the journal: %v", err)
			}
			j.checkSoFar()
			j.start().must(0)
			j.check()
		})
	}
}

func TestDiskWithoutAnyRoomSendsNothing(t *testing.T) {
	t.Parallel()
	j := newJob(t, foreignService(t, &foreign{}), rowsOf(30))
	j.startBy("sh", "-c", `ulimit -f 0 && exec "$@"`, "sh", j.program).must(1).says("write the journal of the results")
	if _, requests, _ := j.proxy.counts(); requests > 0 {
		t.Errorf("%d requests were made", requests)
	}
	j.start().must(0)
	j.check()
}

func TestServerThatRestartsCostsNoRow(t *testing.T) {
	t.Parallel()
	r := rowsOf(120)
	for name, s := range map[string]service{"ours": ourService(t), "theirs": foreignService(t, &foreign{})} {
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
	// A connection to elsewhere may have begun at the port meanwhile, and ends soon.
	eventually(p.t, atLast, "the port is free again", func() bool { return p.listen() == nil })
}
