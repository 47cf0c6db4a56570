// Command storm sends a million generated requests at a running perksd, valid ones and what becomes of them when parts are
// changed at random, and fails if one is answered with a fault of the server's, if an answer is not as the API description
// has it, if the server panics or ends, if its memory grows, or if anything was redeemed twice.
//
// It sees the server from outside: bytes over a connection, the process's memory, its log and its database. A request
// follows from the seed and its number alone, so that one that failed can be looked at again with -only.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

type options struct {
	requests int
	seed     uint64
	workers  int
	only     int // the number of the one request to send and show; negative sends them all
}

func main() {
	var o options
	flag.IntVar(&o.requests, "requests", 1_000_000, "how many requests to send")
	flag.Uint64Var(&o.seed, "seed", 1, "which requests")
	flag.IntVar(&o.workers, "workers", 16, "how many connections send at once")
	flag.IntVar(&o.only, "only", -1, "send the request of this `number` alone, and show it with its answer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.requests < 1 || o.workers < 1 {
		return fmt.Errorf("-requests and -workers must be at least 1")
	}
	target, err := openTarget(ctx)
	if err != nil {
		return err
	}
	defer target.close()
	if o.only >= 0 {
		return target.show(newGenerator(o.seed, target.world).request(o.only))
	}
	storm := &storm{target: target, options: o, findings: newFindings()}
	if err := storm.blow(ctx); err != nil {
		return err
	}
	storm.findings.add(target.finish()...)
	storm.findings.print(os.Stdout, o)
	return storm.findings.err()
}
