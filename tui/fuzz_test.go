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

// TestRandomSteps takes keys, pastes, clicks, sizes and answers as they come. Whatever comes, nothing panics, every line fits and
// nothing but text and colours gets to the terminal.
//
// A failure names the seed; PERKS_FUZZ_SEED runs that walk alone. The short form takes 100,000 steps, the long one a million.
func TestRandomSteps(t *testing.T) {
	const walks = 20
	steps := 5000
	if os.Getenv("PERKS_ENDURANCE") == "long" {
		steps *= 10
	}
	if seed, err := strconv.ParseUint(os.Getenv("PERKS_FUZZ_SEED"), 10, 64); err == nil {
		walk(t, seed, steps)
		return
	}
	var together sync.WaitGroup
	for seed := range uint64(walks) {
		together.Go(func() { walk(t, seed, steps) })
	}
	together.Wait()
}

func walk(t *testing.T, seed uint64, steps int) {
	w := newWalker(newSeeded(seed))
	for n := range steps {
		if err := careful(w); err != nil {
			t.Errorf("seed %d, step %d: %v\n\nIts last steps:\n%s", seed, n, err, strings.Join(w.trail, "\n"))
			return
		}
	}
}

// careful takes a step and makes an error of a panic.
func careful(w *walker) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	w.step()
	return w.check()
}

// FuzzKeys takes the steps that its input decides on.
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
		for !d.over() {
			if err := careful(w); err != nil {
				t.Fatalf("%v\n\nIts last steps:\n%s", err, strings.Join(w.trail, "\n"))
			}
		}
	})
}
