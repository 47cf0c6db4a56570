package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// startsARound is how often each program is started in a round.
const startsARound = 60

// starter is a program of which only the start counts.
type starter struct {
	args       []string
	times, cpu []time.Duration
}

// measureVersion compares the start of perksctl, one command and its end, with that of a bare cobra program.
func measureVersion(ctx context.Context, l *lab) (*table, error) {
	perksctl, hello := &starter{args: []string{"perksctl", "version"}}, &starter{args: []string{"hello"}}
	for round := range l.rounds + 1 {
		for range startsARound {
			for _, s := range []*starter{perksctl, hello} {
				if err := s.start(ctx, l.programs); err != nil {
					return nil, err
				}
			}
		}
		if round == 0 { // it warms up
			perksctl.times, perksctl.cpu, hello.times, hello.cpu = nil, nil, nil, nil
		}
		l.say("version, round %d of %d", round, l.rounds)
	}
	t := newTable("Starting (`version`)", "`perksctl version`", "perksctl", "bare cobra program")
	atMostTwice := target{2, atMost}
	t.addTimes("from start to end", atMostTwice, perksctl.times, hello.times)
	t.addTimes("processor's time", atMostTwice, perksctl.cpu, hello.cpu)
	t.note("Medians of %s starts each, in turn.", grouped(int64(len(hello.times))))
	return t, nil
}

func (s *starter) start(ctx context.Context, programs string) error {
	command := exec.CommandContext(ctx, filepath.Join(programs, s.args[0]), s.args[1:]...)
	begun := time.Now()
	if err := command.Run(); err != nil {
		return fmt.Errorf("starting %s: %w", s.args[0], err)
	}
	s.times = append(s.times, time.Since(begun))
	s.cpu = append(s.cpu, processor(command))
	return nil
}

// addTimes ends the medians of both sides with their ratio.
func (t *table) addTimes(work string, target target, ours, theirs []time.Duration) {
	a, b := median(ours), median(theirs)
	t.add(float64(a)/float64(b), target, work, milliseconds(a), milliseconds(b))
}
