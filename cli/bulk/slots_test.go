package bulk

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestRowWithoutSlotContinuesWhenTheQueueIsFull loses the first of more rows about one record than may wait behind it: the
// reader of the next row has to wait for it, and must not take its slot.
func TestRowWithoutSlotContinuesWhenTheQueueIsFull(t *testing.T) {
	s := newService()
	s.faults["a"] = []fault{{err: broken}}
	rows := maxWaiting + 10
	d := newFixture(t, s, slices.Repeat([]string{"a"}, rows)...)
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	r.wait = func(ctx context.Context, _ time.Duration) error {
		for !r.isFull() {
			if err := wait(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := errors.Join(r.work(ctx), r.runState.close()); err != nil {
		t.Fatal(err)
	}
	if got := len(s.made["a"]); got != rows {
		t.Errorf("%d of %d rows done", got, rows)
	}
}

func TestNoGoroutineWaitsForRowsAfterARun(t *testing.T) {
	r, err := newFixture(t, newService(), "a", "b", "c").open()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.work(t.Context()), r.runState.close()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.idle:
	default:
		t.Error("a goroutine that has finished its row waits for ever for another")
	}
}

// isFull reports whether the queue of waiting rows is full.
func (r *run) isFull() bool {
	free := r.waiting.TryAcquire(1)
	if free {
		r.waiting.Release(1)
	}
	return !free
}

func TestGCPercentFor(t *testing.T) {
	for rows, want := range map[int64]int{0: 100, 1: 399, 20_000: 378, 1_000_000: 103, 100_000_000: 100} {
		if got := gcPercentFor(rows); got != want {
			t.Errorf("gcPercentFor(%d) = %d, want %d", rows, got, want)
		}
	}
}
