package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// cost is what a run of a program took, from its start to its end.
type cost struct {
	time time.Duration
	cpu  time.Duration // of the program itself and of the system for it
	peak mebibytes     // the most memory that it had at any time
}

// perksctl runs one of perksctl's commands at the service. It is told nothing but an address and a token.
func (l *lab) perksctl(ctx context.Context, s *service, output io.Writer, args ...string) (cost, error) {
	command := exec.CommandContext(ctx, filepath.Join(l.programs, "perksctl"), args...)
	command.Env = append(withoutPerksctl(os.Environ()), "PERKSCTL_API_URL="+s.url(""), "PERKSCTL_TOKEN="+s.token,
		"PERKSCTL_CONFIG_DIR="+filepath.Join(l.folder, "perksctl"))
	var problems bytes.Buffer
	command.Stdout, command.Stderr = output, &problems
	begun := time.Now()
	if err := command.Start(); err != nil {
		return cost{}, err
	}
	peak := watchPeak(command.Process.Pid)
	err := command.Wait()
	took := time.Since(begun)
	if err != nil {
		return cost{}, errors.Join(ctx.Err(), fmt.Errorf("perksctl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(problems.Bytes())))
	}
	most, err := peak()
	return cost{took, processor(command), most}, err
}

// withoutPerksctl is the environment without the settings that whoever runs the bench has for a perksctl of their own.
func withoutPerksctl(environment []string) []string {
	var rest []string
	for _, setting := range environment {
		if !strings.HasPrefix(setting, "PERKSCTL_") {
			rest = append(rest, setting)
		}
	}
	return rest
}

// processor is the processor's time that a program has taken.
func processor(command *exec.Cmd) time.Duration {
	return command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}
