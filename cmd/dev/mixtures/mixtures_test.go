package mixtures

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"example.com/perks/cmd/dev/specserver"
)

var (
	mixtures = flag.Int("mixtures", 200, "how many mixtures to run")
	seed     = flag.Uint64("seed", 2, "which mixtures")
	only     = flag.Int("only", -1, "run the mixture of this `number` alone, and show its requests")
)

func TestTheClientTellsTheTruthAtRandomMixtures(t *testing.T) {
	if *only >= 0 {
		for _, wrong := range show(t, *seed, *only, os.Stdout) {
			t.Error(wrong)
		}
		return
	}
	tally := map[string]int{}
	var mu sync.Mutex
	var running errgroup.Group
	running.SetLimit(runtime.GOMAXPROCS(0))
	for number := 0; number < *mixtures && !t.Failed(); number++ {
		running.Go(func() error {
			m := newMixture(*seed, number, specserver.Freedoms.Honest)
			m.run(t.Context())
			mu.Lock()
			defer mu.Unlock()
			for what, count := range m.tally {
				tally[what] += count
			}
			for _, wrong := range m.wrong {
				t.Errorf("mixture %d (show it with -seed %d -only %[1]d): %[3]s", number, *seed, wrong)
			}
			return nil
		})
	}
	_ = running.Wait() // always nil
	for _, outcome := range []string{"redeem: unknown", "check: unknown", "candidates", "edit: unknown"} {
		if tally[outcome] == 0 {
			t.Errorf("no mixture has %q: %v", outcome, tally)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%8d  %s", tally[what], what)
	}
}

// show runs one mixture, prints it with all its requests, and returns what is wrong.
func show(t *testing.T, seed uint64, number int, out io.Writer) []string {
	m := newMixture(seed, number, specserver.Freedoms.Honest)
	m.log = out
	fmt.Fprintf(out, "%v\n", m.server.Freedoms)
	for _, fault := range m.server.Faults {
		fmt.Fprintf(out, "%+v\n", fault)
	}
	m.run(t.Context())
	return m.wrong
}

// TestLiesOfServersAreFound lets servers lie, so that what the client says is wrong.
func TestLiesOfServersAreFound(t *testing.T) {
	for want, lie := range map[string]struct {
		limit func(specserver.Freedoms) specserver.Freedoms
		fault specserver.Fault
	}{
		"redeemed 2 times, asked for 1 times": { // the client takes a repeated key as proof
			func(f specserver.Freedoms) specserver.Freedoms {
				f.Keys, f.EchoesKeys, f.OncePerUser = specserver.KeysIgnored, true, false
				return f
			},
			specserver.Fault{Request: redeems, Nth: 1, Work: specserver.Done},
		},
		"update: reported done, but is not": {
			specserver.Freedoms.Honest,
			specserver.Fault{Request: updates, Reply: specserver.ReplyEmpty},
		},
		"reported failed, but request": {
			specserver.Freedoms.Honest,
			specserver.Fault{Work: specserver.Done, Request: updates, Reply: specserver.ReplyStatus, Status: 409},
		},
	} {
		isFound := false
		for number := range 200 {
			m := newMixture(1, number, lie.limit)
			m.server.Faults = []specserver.Fault{lie.fault}
			m.run(t.Context())
			isFound = isFound || strings.Contains(strings.Join(m.wrong, "\n"), want)
		}
		if !isFound {
			t.Errorf("nobody finds that it is %s", want)
		}
	}
}

func TestAMixtureDependsOnlyOnSeedAndNumber(t *testing.T) {
	for number := range 20 {
		var one, again bytes.Buffer
		for _, out := range []*bytes.Buffer{&one, &again} {
			if wrong := show(t, 3, number, out); wrong != nil {
				t.Fatal(wrong)
			}
		}
		if one.String() != again.String() {
			t.Errorf("mixture %d:\n%s\nand\n%s", number, &one, &again)
		}
	}
}
