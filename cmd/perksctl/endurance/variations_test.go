package endurance

import (
	"cmp"
	"math/rand/v2"
	"testing"
	"time"
)

// TestKillsCostNothingHoweverRowsAndServersAre kills a run over few rows twice, at services that are not ours.
func TestKillsCostNothingHoweverRowsAndServersAre(t *testing.T) {
	t.Parallel()
	const rows, few = 90, 3
	many := twinsOf(rows) // so many rows for each user that the list of what was redeemed has several pages
	many.who = among(few)
	numbered := many
	numbered.says = itsNumber
	inCSV := many
	inCSV.format, inCSV.suffix = csv, ".csv"

	for name, test := range map[string]struct {
		foreign *foreign // nil is one with nothing special
		rush    rush
		stdin   bool
		args    []string
	}{
		"rows that are the same, next to one another": {rush: rush{rows: rows, who: inPairs, format: csv, suffix: ".csv"}},
		"rows of one user":                            {rush: rush{rows: rows / 2, who: among(1), format: csv, suffix: ".csv"}},
		"rows with numbers":                           {rush: numbered},
		"cells of several lines":                      {rush: rush{rows: rows, who: everyone, says: twoLines, format: csv, suffix: ".csv"}},
		"a clock that is ahead":                       {foreign: &foreign{ahead: time.Hour}, rush: many},
		"a clock that is behind":                      {foreign: &foreign{ahead: -time.Hour}, rush: many},
		"pages that are linked":                       {foreign: &foreign{links: true}, rush: many},
		"the oldest first, by numbers":                {foreign: &foreign{oldestFirst: true}, rush: many},
		"the oldest first, linked":                    {foreign: &foreign{oldestFirst: true, links: true}, rush: many},
		"CSV from a pipe":                             {rush: inCSV, stdin: true},
		"JSON lines from a pipe":                      {rush: many, stdin: true},
		"one row at a time":                           {rush: many, args: []string{"--concurrency", "1"}},
		"many rows at a time":                         {rush: rowsOf(300), args: []string{"--concurrency", "24"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, theirs(t, cmp.Or(test.foreign, &foreign{})), test.rush, test.args...)
			if test.stdin {
				j.fromStdin()
			}
			j.killAgainAndAgain(2, uint64(len(name)))
		})
	}
}

// TestKillsAndInterruptsInTurnCostNothing ends runs in all ways, one after the other.
func TestKillsAndInterruptsInTurnCostNothing(t *testing.T) {
	t.Parallel()
	j := newJob(t, theirs(t, &foreign{}), twinsOf(90))
	j.gate.loseEvery = 0
	random := rand.New(rand.NewPCG(5, 0))
	for round := range 4 {
		p := j.start()
		if round%2 == 0 {
			j.gate.set(1+random.IntN(15), randomMoment(random), p.kill)
			p.must(-1)
			continue
		}
		j.gate.set(1+random.IntN(15), broken, p.interrupt)
		p.must(130)
	}
	j.start().must(0)
	j.check()
}

// TestKillRightBehindTheLastAnswerLeavesNothingToDo ends a run between the answer to its last row and its end.
func TestKillRightBehindTheLastAnswerLeavesNothingToDo(t *testing.T) {
	t.Parallel()
	r := rowsOf(30)
	foreign := theirs(t, &foreign{})
	foreign.gate.dropEvery, foreign.gate.loseEvery = 0, 0
	for name, s := range map[string]shop{"ours": ours(t), "theirs": foreign} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, s, r, "--concurrency", "1")
			s.gate.t = t
			p := j.start()
			j.gate.set(r.rows, afterAnswer, p.kill)
			p.code() // it may have been faster than the kill
			if len(j.kept()) != r.rows {
				t.Errorf("%d rows are done, want %d", len(j.kept()), r.rows)
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
	shop := theirs(t, f)
	shop.gate.dropEvery, shop.gate.loseEvery = 0, 0
	newJob(t, shop, rowsOf(90)).killAgainAndAgain(1, 6)
	if f.tokens < 3 {
		t.Errorf("%d tokens were given out for more than 100 requests", f.tokens)
	}
}
