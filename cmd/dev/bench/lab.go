package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// lab is what the sections share: the programs they measure, a folder for what those write, and how long to measure.
type lab struct {
	programs string // the folder of perksd, perksctl and their yardsticks, as this checkout builds them
	folder   string // temporary
	cache    cache
	rounds   int
	time     time.Duration // of a round at one side of a comparison
	largest  int64         // perks in the largest list
	progress io.Writer
}

// openLab builds the programs. It must be called in the checkout.
func openLab(ctx context.Context, o options) (*lab, error) {
	folder, err := os.MkdirTemp("", "perks-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{programs: filepath.Join(folder, "bin"), folder: folder, cache: cache{o.cache},
		rounds: o.rounds, time: o.time, largest: o.largest, progress: os.Stderr}
	if err := l.build(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lab) build(ctx context.Context) error {
	l.say("building perksd and perksctl")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", l.programs+string(filepath.Separator),
		"./cmd/perksd", "./cmd/perksctl", "./cmd/dev/bench/bare", "./cmd/dev/bench/hello")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the programs: %w\n%s", err, output)
	}
	return nil
}

func (l *lab) close() error { return os.RemoveAll(l.folder) }

// say tells whoever waits what is going on.
func (l *lab) say(format string, args ...any) {
	fmt.Fprintf(l.progress, "bench: "+format+"\n", args...)
}
