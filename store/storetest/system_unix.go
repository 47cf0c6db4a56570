//go:build unix

package storetest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// detached makes a process that runs as the account and that a terminal's Ctrl-C does not reach: it exits when this
// process stops it, or exits itself.
func detached(a account) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setsid: true}
	if a.other {
		attributes.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attributes
}

// killFamily kills a process and its children at once. A stopped parent makes no more children, and those it has not
// waited for keep their ids. Where the system does not list children, they notice by themselves that their parent is
// gone.
func killFamily(parent *os.Process) error {
	if err := parent.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for _, child := range children(parent) {
		_ = syscall.Kill(child, syscall.SIGKILL) // an error means that it has exited
	}
	return parent.Kill()
}

// freezeFamily suspends a process and then its children, or resumes them, the parent last.
func freezeFamily(parent *os.Process, freeze bool) error {
	if freeze {
		if err := parent.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		for _, child := range children(parent) {
			_ = syscall.Kill(child, syscall.SIGSTOP)
		}
		return nil
	}
	for _, child := range children(parent) {
		_ = syscall.Kill(child, syscall.SIGCONT)
	}
	return parent.Signal(syscall.SIGCONT)
}

// children are those of a process that it has not waited for.
func children(parent *os.Process) (ids []int) {
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent.Pid, parent.Pid))
	for _, id := range strings.Fields(string(list)) {
		if child, err := strconv.Atoi(id); err == nil {
			ids = append(ids, child)
		}
	}
	return ids
}
