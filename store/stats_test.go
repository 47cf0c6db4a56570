package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/store"
)

func TestBatchesAreCountedBySize(t *testing.T) {
	var m store.BatchMeter
	for _, writes := range []int{1, 1, 2, 3, 64, 65, 128, 1000} {
		m.Finished(writes)
	}
	m.Failed()
	want := store.BatchStats{Finished: 8, Writes: 1264, UpTo: []uint64{2, 3, 4, 4, 4, 4, 5, 8}, Failed: 1}
	if diff := cmp.Diff(want, m.Stats()); diff != "" {
		t.Errorf("the counts differ (-want +got):\n%s", diff)
	}
	if got := len(store.BatchSizes()); got != len(want.UpTo) {
		t.Errorf("%d steps for %d counts", got, len(want.UpTo))
	}
}
