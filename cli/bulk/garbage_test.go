package bulk

import "testing"

func TestAsMuchGarbageWithFewRowsAsWithMany(t *testing.T) {
	for rows, want := range map[int64]int{0: 100, 1: 399, 20_000: 378, 1_000_000: 103, 100_000_000: 100} {
		if got := garbageFor(rows); got != want {
			t.Errorf("with %d rows there may be %d %% of garbage, want %d", rows, got, want)
		}
	}
}
