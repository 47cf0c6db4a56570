package endurance

import (
	"os"
	"testing"
)

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
			p.says("To go on, run the same command again")
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
