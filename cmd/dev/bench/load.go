package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Plan says what is sent where, and for how long.
type Plan struct {
	Addresses   []string      // each HOST:PORT; the connections take turns
	Connections int           // each has one request under way
	Warmup      int64         // requests before those that are measured
	Time        time.Duration // no request begins later than this; zero is without limit
	Count       int64         // no more requests than this are sent; zero is without limit
	Status      int           // what every answer must have

	// Request appends request n, whole, to the buffer. Numbers begin with 0 and none is given twice. It is called by many
	// goroutines.
	Request func(buffer []byte, n int64) []byte
}

// Report is what came of a plan.
type Report struct {
	Answers   int64           // of all requests, those of the warm-up among them
	Measured  int64           // answers to requests after the warm-up
	Elapsed   time.Duration   // from the first measured request to the last answer
	Latencies []time.Duration // of the measured requests, in no order
}

// Rate is how many requests were answered in a second.
func (r Report) Rate() float64 { return float64(r.Measured) / r.Elapsed.Seconds() }

// Run sends what is planned and returns when every request that was sent is answered. It fails, with what was answered
// until then, when a connection breaks, an answer has another status or ctx ends.
func Run(ctx context.Context, plan Plan) (Report, error) {
	r := sharedRun{plan: plan}
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	var connections sync.WaitGroup
	reports := make([]Report, plan.Connections)
	for i := range plan.Connections {
		connections.Go(func() {
			if err := r.use(ctx, plan.Addresses[i%len(plan.Addresses)], &reports[i]); err != nil {
				r.stop(err)
			}
		})
	}
	connections.Wait()
	var total Report
	for _, one := range reports {
		total.Answers += one.Answers
		total.Measured += one.Measured
		total.Latencies = append(total.Latencies, one.Latencies...)
	}
	if total.Measured > 0 {
		total.Elapsed = time.Since(r.start)
	}
	return total, context.Cause(ctx)
}

// run is what the connections of one plan share.
type sharedRun struct {
	plan Plan
	stop context.CancelCauseFunc
	next atomic.Int64

	begin sync.Once // sets start
	start time.Time // of the first measured request
}

// use sends requests over one connection until the plan is done or ctx ends.
func (r *sharedRun) use(ctx context.Context, address string, report *Report) (err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	answers := bufio.NewReaderSize(conn, 16<<10)
	var request []byte
	for {
		n := r.next.Add(1) - 1
		sent := time.Now()
		if n >= r.plan.Warmup {
			r.begin.Do(func() { r.start = sent })
			if r.isOver(n, sent) {
				return nil
			}
		}
		request = r.plan.Request(request[:0], n)
		if _, err := conn.Write(request); err != nil {
			return fmt.Errorf("sending request %d: %w", n, err)
		}
		status, err := readAnswer(answers)
		if err != nil {
			return fmt.Errorf("reading the answer to request %d: %w", n, err)
		}
		if status != r.plan.Status {
			return fmt.Errorf("request %d was answered with status %d instead of %d", n, status, r.plan.Status)
		}
		report.Answers++
		if n >= r.plan.Warmup {
			report.Measured++
			report.Latencies = append(report.Latencies, time.Since(sent))
		}
	}
}

func (r *sharedRun) isOver(n int64, now time.Time) bool {
	return r.plan.Count > 0 && n >= r.plan.Warmup+r.plan.Count || r.plan.Time > 0 && now.Sub(r.start) >= r.plan.Time
}
