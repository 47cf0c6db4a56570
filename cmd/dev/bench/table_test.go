package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTableShowsReachedAndMissedTargets(t *testing.T) {
	table := newTable("Zürich", "work", "ours")
	table.add(0.8999, target{0.9, atLeast}, "get", "9/s")
	table.add(1.0, target{1, atLeast}, "redeem", "12,000/s")
	table.add(2.001, target{2, atMost}, "lists", "é")
	table.add(7, target{}, "replicas", "1/s")
	table.note("All of it on %d cores.", 2)

	var written strings.Builder
	if err := table.write(&written); err != nil {
		t.Fatal(err)
	}
	want := `## Zürich

| work     |     ours | ratio |  target |         |
|----------|---------:|------:|--------:|--------:|
| get      |      9/s | 0.900 | >= 0.90 |  MISSED |
| redeem   | 12,000/s | 1.000 | >= 1.00 | reached |
| lists    |        é | 2.001 | <= 2.00 |  MISSED |
| replicas |      1/s | 7.000 |         |         |

All of it on 2 cores.

`
	if diff := cmp.Diff(want, written.String()); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
	if table.missed != 2 {
		t.Errorf("%d targets are missed, want 2", table.missed)
	}
}

func TestNumbersAreGrouped(t *testing.T) {
	for value, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567",
		10_000_000: "10,000,000"} {
		if got := grouped(value); got != want {
			t.Errorf("grouped(%d) is %q, want %q", value, got, want)
		}
	}
}
