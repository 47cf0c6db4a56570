package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// storm is all requests at a target.
type storm struct {
	target   *target
	options  options
	findings *findings
	next     atomic.Int64
}

// looks is how often the memory is looked at, and how often progress is told.
const looks = 50

// blow sends every request and judges every answer. The error says that it could not go on.
func (s *storm) blow(ctx context.Context) error {
	begun := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for range s.options.workers {
		workers.Go(func() { s.work(ctx, cancel) })
	}
	workers.Wait()
	s.findings.took = time.Since(begun)
	if grown := growth(s.findings.memory); grown != "" {
		s.findings.add(finding{what: grown})
	}
	return context.Cause(ctx)
}

// work sends one request after the other over a connection of its own.
func (s *storm) work(ctx context.Context, fail context.CancelCauseFunc) {
	generator := newGenerator(s.options.seed, s.target.world)
	w := &wire{address: s.target.address()}
	defer w.close()
	for ctx.Err() == nil {
		number := int(s.next.Add(1)) - 1
		if number >= s.options.requests {
			return
		}
		if err := s.look(number); err != nil {
			fail(err)
			return
		}
		if what := s.try(w, generator.request(number)); what != "" {
			s.findings.add(finding{number, true, what})
		}
		select {
		case <-s.target.server.Ended():
			fail(errors.New("the server has ended; its log has why"))
			return
		default:
		}
	}
}

// try sends one request and returns what is wrong with its answer.
func (s *storm) try(w *wire, r *request) string {
	sent, a, err := w.send(r)
	if err != nil {
		return fmt.Sprintf("no answer: %v", err)
	}
	status := 0
	if a.Response != nil {
		status = a.StatusCode
	}
	s.findings.answered(r.method, status)
	return judge(r, sent, a, w.address)
}

// look takes the server's memory at every fiftieth part of the storm.
func (s *storm) look(number int) error {
	every := max(1, s.options.requests/looks)
	if number%every != 0 {
		return nil
	}
	memory, err := s.target.use()
	if err != nil {
		return err
	}
	s.findings.mu.Lock()
	defer s.findings.mu.Unlock()
	s.findings.memory = append(s.findings.memory, memory)
	fmt.Fprintf(os.Stderr, "storm: %d of %d requests, %d MiB, %d of them on the heap\n", number, s.options.requests, memory.resident>>10, memory.heap>>10)
	return nil
}

// show sends one request and prints it with its answer.
func (t *target) show(r *request) error {
	w := &wire{address: t.address()}
	defer w.close()
	sent, a, err := w.send(r)
	fmt.Printf("%q\n\n", sent)
	if err != nil {
		return err
	}
	if a.Response == nil {
		fmt.Println("The server closed the connection.")
		return nil
	}
	fmt.Printf("%s\n", a.Status)
	if err := http.Header(a.Header).Write(os.Stdout); err != nil {
		return err
	}
	fmt.Printf("\n%s\n", a.body)
	if what := judge(r, sent, a, w.address); what != "" {
		return errors.New(what)
	}
	return nil
}
