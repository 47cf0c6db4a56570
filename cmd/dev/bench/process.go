package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// process is a server program at work.
type process struct {
	address string // HOST:PORT
	command *exec.Cmd
	log     string        // the file that has what it said
	ended   chan struct{} // closed when it is gone; err is set before
	err     error
}

const (
	startTime = 30 * time.Second
	stopTime  = 30 * time.Second
	lookEvery = 10 * time.Millisecond
)

var listening = regexp.MustCompile(`listening on http://([0-9.:]+)\n`)

// start runs a program that says where it listens, and returns when it has said so. Its log is a file, as an operator's
// would be: a pipe would cost both sides more.
func (l *lab) start(ctx context.Context, program string, environment []string, args ...string) (*process, error) {
	log, err := os.CreateTemp(l.folder, program+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{command: exec.Command(filepath.Join(l.programs, program), args...), log: log.Name(), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), environment...)
	p.command.Stderr = log
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := p.awaitAddress(ctx); err != nil {
		_ = p.command.Process.Kill() // it may have ended
		<-p.ended
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return p, nil
}

func (p *process) awaitAddress(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		said, err := os.ReadFile(p.log)
		if err != nil {
			return err
		}
		if found := listening.FindSubmatch(said); found != nil {
			p.address = string(found[1])
			return nil
		}
		select {
		case <-look.C:
		case <-p.ended:
			return fmt.Errorf("it ended before it listened (%v); it said: %s", p.err, bytes.TrimSpace(said))
		case <-ctx.Done():
			return fmt.Errorf("it does not listen: %w; it said: %s", ctx.Err(), bytes.TrimSpace(said))
		}
	}
}

// stop ends the process in good order and removes its log.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping %s: %w", p.command.Path, err)
	}
	kill := time.AfterFunc(stopTime, func() { _ = p.command.Process.Kill() })
	defer kill.Stop()
	<-p.ended
	if p.err != nil {
		return fmt.Errorf("%s did not stop in good order: %w; its log is %s", p.command.Path, p.err, p.log)
	}
	return os.Remove(p.log)
}
