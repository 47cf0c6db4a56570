// Command mixtures runs our client at servers that take random mixtures of what the specification leaves open, and that
// fail at random. The server's record judges the client: nothing is done twice that was not asked for twice, nothing is
// reported done that is not, and nothing is reported failed that was done.
//
// A mixture follows from the seed and its number alone, so that one that fails can be repeated with -only.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/perks/cmd/dev/specserver"
)

type options struct {
	mixtures int
	seed     uint64
	workers  int
	only     int // the number of the one mixture to run and show; negative runs them all
}

func main() {
	var o options
	flag.IntVar(&o.mixtures, "mixtures", 20_000, "how many mixtures to run")
	flag.Uint64Var(&o.seed, "seed", 1, "which mixtures")
	flag.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many mixtures run at once")
	flag.IntVar(&o.only, "only", -1, "run the mixture of this `number` alone, and show its requests")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mixtures:", err)
		os.Exit(1)
	}
}

const maxFindings = 20 // printed one by one

func run(ctx context.Context, o options, out io.Writer) error {
	if o.mixtures < 1 || o.workers < 1 {
		return fmt.Errorf("-mixtures and -workers must be at least 1")
	}
	if o.only >= 0 {
		return show(ctx, o, out)
	}
	var (
		mu       sync.Mutex
		findings []string
		tally    = map[string]int{}
		next     atomic.Int64
		workers  sync.WaitGroup
		begun    = time.Now()
	)
	for range o.workers {
		workers.Go(func() {
			for ctx.Err() == nil {
				number := int(next.Add(1)) - 1
				if number >= o.mixtures {
					return
				}
				m := newMixture(o.seed, number, specserver.Freedoms.Honest)
				m.run(ctx)
				mu.Lock()
				for what, count := range m.tally {
					tally[what] += count
				}
				for _, wrong := range m.wrong {
					again := fmt.Sprintf("go run ./cmd/dev/mixtures -seed %d -only %d", o.seed, number)
					findings = append(findings, fmt.Sprintf("mixture %d (repeat it: %s): %s", number, again, wrong))
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fmt.Fprintf(out, "%d mixtures in %s, seed %d\n", o.mixtures, time.Since(begun).Round(time.Second), o.seed)
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		fmt.Fprintf(out, "  %8d  %s\n", tally[what], what)
	}
	for _, finding := range findings[:min(len(findings), maxFindings)] {
		fmt.Fprintln(out, finding)
	}
	if len(findings) > 0 {
		return fmt.Errorf("things that are wrong: %d", len(findings))
	}
	return nil
}

// show runs one mixture, and prints it with all its requests.
func show(ctx context.Context, o options, out io.Writer) error {
	m := newMixture(o.seed, o.only, specserver.Freedoms.Honest)
	m.log = out
	fmt.Fprintf(out, "%v\n", m.server.Freedoms)
	for _, fault := range m.server.Faults {
		fmt.Fprintf(out, "%+v\n", fault)
	}
	m.run(ctx)
	if len(m.wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(m.wrong, "\n"))
	}
	return nil
}
