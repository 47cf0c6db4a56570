package main

import (
	"bytes"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/specserver"
)

func TestTheClientTellsTheTruthAtTwoHundredMixtures(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), options{mixtures: 200, seed: 2, workers: 2, only: -1}, &out); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	for _, outcome := range []string{"redeem: unknown", "check: unknown", "candidates", "edit: unknown"} {
		if !strings.Contains(out.String(), outcome) {
			t.Errorf("no mixture has %q:\n%s", outcome, &out)
		}
	}
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
			if err := run(t.Context(), options{mixtures: 1, seed: 3, workers: 1, only: number}, out); err != nil {
				t.Fatal(err)
			}
		}
		if one.String() != again.String() {
			t.Errorf("mixture %d:\n%s\nand\n%s", number, &one, &again)
		}
	}
}
