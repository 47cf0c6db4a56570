package cli_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/perks/cmd/dev/specserver"
)

// anyExit are the exit codes of a command that the service did not simply carry out.
var anyExit = []int{0, 1, 4, 5, 6, 7, 8}

// TestRunsAtFailingServers lets rows fail in all ways, and resumes, before or after late work is done. cmd/dev/mixtures
// does the same with single requests. The runs mostly wait, for work that may still be done, so they all run at once.
func TestRunsAtFailingServers(t *testing.T) {
	t.Parallel()
	var runs []func()
	for seed := range uint64(mixtures) {
		for _, isEarly := range []bool{false, true} {
			mixture := specserver.Mixture(seed).Honest()
			j := atSpecification(t, specserver.Options{Freedoms: mixture, Faults: everyFailure()})
			file := j.writeRows()
			runs = append(runs, func() { j.resumes(file, isEarly) })
		}
	}
	var wait sync.WaitGroup
	for _, run := range runs {
		wait.Go(run)
	}
	wait.Wait()
}

func (j *judged) resumes(file string, isEarly bool) {
	lines, r := j.redeemFile(file, anyExit, "--concurrency", "1")
	j.judge(lines, r, 1)
	if isEarly {
		j.server.Release()
	}
	j.server.Heal()
	lines, r = j.redeemFile(file, anyExit)
	j.judge(lines, r, 2)
	if j.server.Release() > 0 {
		j.judge(lines, r, 2)
	}
	isSure := j.server.Keys == specserver.KeysHonoured && j.server.EchoesKeys && j.redeemed() != 8
	for row, line := range lines {
		if line.Outcome == "unknown" && isSure {
			j.t.Errorf("row %d is unknown at a server that honours keys: %+v", row, line)
		}
	}
}

// everyFailure lets one row after another fail, each in another way that does not end the run.
func everyFailure() (faults []specserver.Fault) {
	failures := specserver.Failures()
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		fault := failures[name]
		if fault.Nth == 0 {
			continue
		}
		fault.Request = specserver.Redeems
		faults = append(faults, fault)
	}
	return faults
}

// judge compares the results of so many runs with the record. The next run repeats a row that the service has rejected.
func (j *judged) judge(lines map[int]rowResult, r result, runs int) {
	j.t.Helper()
	for n := range rows {
		made := j.server.Record().Redeemed(j.server.PerkID(2), j.server.UserID(11+n))
		line := lines[n+2]
		isRejected := line.Code == "rejected"
		switch {
		case len(made) > 1 && (!isRejected || len(made) > runs):
			j.t.Errorf("row %d was redeemed %d times: %+v", n+2, len(made), line)
		case line.Outcome == "ok" && (len(made) != 1 || made[0].ID != line.ID):
			j.t.Errorf("row %d is not done: %+v, redeemed %+v", n+2, line, made)
		case line.Outcome == "failed" && len(made) > 0 && !isRejected:
			j.t.Errorf("row %d is done: %+v, redeemed %+v", n+2, line, made)
		case line.Outcome != "ok" && strings.TrimSpace(line.Message) == "":
			j.t.Errorf("row %d has no message: %+v", n+2, line)
		}
	}
	if j.t.Failed() {
		j.t.Logf("%v: exit code %d\n%s", j.server.Freedoms, r.code, r.err)
	}
}
