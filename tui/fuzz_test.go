package tui_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestRandomSteps sends random keys, pastes, clicks, sizes and responses. Nothing may panic, every line must fit, only
// text and colours may be written to the terminal, and memory is bounded.
//
// A failure names the seed; PERKS_FUZZ_SEED runs that walk alone. A short run takes 20,000 steps, a long one a million.
// PERKS_FUZZ_FIRST is the first of the seeds, 0 unless it is set.
func TestRandomSteps(t *testing.T) {
	const walks = 20
	steps := 1000
	if os.Getenv("PERKS_ENDURANCE") == "long" {
		steps = 50_000
	}
	if seed, err := strconv.ParseUint(os.Getenv("PERKS_FUZZ_SEED"), 10, 64); err == nil {
		walk(t, seed, steps)
		return
	}
	first, _ := strconv.ParseUint(os.Getenv("PERKS_FUZZ_FIRST"), 10, 64)
	begun := time.Now()
	var wg sync.WaitGroup
	var most atomic.Uint64
	for seed := range uint64(walks) {
		wg.Go(func() {
			for used := walk(t, first+seed, steps); ; {
				if known := most.Load(); used <= known || most.CompareAndSwap(known, used) {
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d steps from each of the seeds %d to %d took %s and at most %d MB", steps, first, first+walks-1,
		time.Since(begun).Round(time.Second), most.Load()>>20)
	if most.Load() > mostMemory {
		t.Errorf("the walks took %d bytes of memory, more than %d", most.Load(), mostMemory)
	}
}

// mostMemory is how many bytes all walks may take together.
const mostMemory = 512 << 20

// walk takes steps, and returns how much memory was in use at most, by all walks.
func walk(t *testing.T, seed uint64, steps int) (most uint64) {
	w := newWalker(newSeeded(seed))
	for n := range steps {
		if err := safeStep(w); err != nil {
			t.Errorf("seed %d, step %d: %v\n\nLast steps:\n%s", seed, n, err, strings.Join(w.lastSteps, "\n"))
			return most
		}
		if n%10_000 == 999 {
			most = max(most, heap())
		}
	}
	return most
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// safeStep takes a step, and returns a panic as an error.
func safeStep(w *walker) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	w.step()
	return w.check()
}

// FuzzKeys takes steps that its input decides.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("perks"))
	for seed := range uint64(3) {
		d, input := newSeeded(seed), make([]byte, 400)
		for i := range input {
			input[i] = byte(d.n(256))
		}
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		d := &scripted{input}
		w := newWalker(d)
		for !d.exhausted() {
			if err := safeStep(w); err != nil {
				t.Fatalf("%v\n\nLast steps:\n%s", err, strings.Join(w.lastSteps, "\n"))
			}
		}
	})
}
