package tui_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestRandomSteps sends random keys, pastes, clicks, sizes and responses. Nothing may panic, every line must fit, and
// only text and colours may be written to the terminal.
//
// A failure names the seed; PERKS_FUZZ_SEED runs that walk alone. A short run takes 20,000 steps, a long one a million.
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
	var wg sync.WaitGroup
	for seed := range uint64(walks) {
		wg.Go(func() { walk(t, seed, steps) })
	}
	wg.Wait()
}

func walk(t *testing.T, seed uint64, steps int) {
	w := newWalker(newSeeded(seed))
	for n := range steps {
		if err := safeStep(w); err != nil {
			t.Errorf("seed %d, step %d: %v\n\nLast steps:\n%s", seed, n, err, strings.Join(w.lastSteps, "\n"))
			return
		}
	}
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
