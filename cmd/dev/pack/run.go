package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// toolsModule is where the versions of the tools are kept.
const toolsModule = ".ci/tools"

// tool is a command line of a tool of that module, which go builds when it is not there yet.
func tool(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	path, err := output(command(ctx, "go", "-C", toolsModule, "tool", "-n", name))
	if err != nil {
		return nil, err
	}
	return command(ctx, strings.TrimSpace(path), args...), nil
}

func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}

// output runs a command and returns what it prints; what it complains of is in the error.
func output(cmd *exec.Cmd) (string, error) {
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, complaints.Bytes())
	}
	return string(printed), nil
}
