package cli

import (
	"errors"
	"os"
	"os/exec"
)

// become runs a program with the streams of this process, and ends with its exit code: Windows cannot replace a
// process. Both get an interrupt, and this one waits.
func become(path string, args, environment []string) error {
	cmd := exec.Command(path, args[1:]...) // #nosec G204 -- findMCP has found it
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exited, is := errors.AsType[*exec.ExitError](err); is {
		os.Exit(exited.ExitCode())
	}
	return err
}
