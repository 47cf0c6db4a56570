package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// finding is one thing that is wrong: with the answer to a request, or with what the storm leaves behind.
type finding struct {
	number  int
	request bool // number is that of a request
	what    string
}

// findings is what a storm has found out. It is safe for use by many goroutines.
type findings struct {
	mu       sync.Mutex
	wrong    []finding // the first of them
	count    int
	statuses map[string]map[int]int // by the operation's name
	memory   []usage                // in the order of time
	took     time.Duration
}

// keptFindings is how many are told one by one.
const keptFindings = 20

func newFindings() *findings { return &findings{statuses: map[string]map[int]int{}} }

func (f *findings) add(found ...finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count += len(found)
	f.wrong = append(f.wrong, found[:min(len(found), keptFindings-min(keptFindings, len(f.wrong)))]...)
}

// answered counts an answer; status 0 is a connection that was closed without one.
func (f *findings) answered(method string, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.statuses[method] == nil {
		f.statuses[method] = map[int]int{}
	}
	f.statuses[method][status]++
}

func (f *findings) print(out io.Writer, o options) {
	total := map[int]int{}
	for _, counts := range f.statuses {
		for status, n := range counts {
			total[status] += n
		}
	}
	fmt.Fprintf(out, "%d requests in %s, seed %d\n", o.requests, f.took.Round(time.Second), o.seed)
	for _, status := range slices.Sorted(maps.Keys(total)) {
		fmt.Fprintf(out, "  %3d  %8d\n", status, total[status])
	}
	fmt.Fprint(out, "memory in MiB, in all and on the heap, as time went on:")
	for _, memory := range f.memory {
		fmt.Fprintf(out, " %d/%d", memory.resident>>10, memory.heap>>10)
	}
	fmt.Fprintln(out)
	for _, found := range f.wrong {
		if found.request {
			fmt.Fprintf(out, "request %d (show it with -seed %d -only %d): ", found.number, o.seed, found.number)
		}
		fmt.Fprintln(out, found.what)
	}
}

func (f *findings) err() error {
	if f.count == 0 {
		return nil
	}
	return errors.New(plural(f.count, "thing is wrong", "things are wrong"))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
