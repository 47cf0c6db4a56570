//go:build !windows

package event

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// group is the process group of all programs. Its guard ends it when this process ends, however that happens: the pipe
// that the guard reads closes then. Pdeathsig would end the programs alone, and not what they have started.
type group struct {
	guard *exec.Cmd
	hold  io.Closer
}

func newGroup() (*group, error) {
	read, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	guard := exec.Command("/bin/sh", "-c", "read -r end; kill -9 0")
	guard.Stdin, guard.SysProcAttr = read, &syscall.SysProcAttr{Setpgid: true}
	if err := guard.Start(); err != nil {
		_ = hold.Close()
		return nil, fmt.Errorf("they need /bin/sh: %w", err)
	}
	return &group{guard, hold}, nil
}

// join makes a command part of the group when it starts.
func (g *group) join(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.guard.Process.Pid}
}

// close ends what is left.
func (g *group) close() {
	_ = g.hold.Close()
	_ = g.guard.Wait() // it kills itself too
}
