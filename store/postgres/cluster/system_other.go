//go:build !unix

package cluster

import (
	"os"
	"syscall"
)

// This package starts its servers below sh. Elsewhere it compiles, and Start says what is missing.

func detached(account) *syscall.SysProcAttr { return nil }

func killFamily(parent *os.Process) error { return parent.Kill() }
