//go:build !unix

package storetest

import (
	"errors"
	"os"
	"syscall"
)

// This package starts its servers below sh. Elsewhere it compiles, and Start says what is missing.

func detached(account) *syscall.SysProcAttr { return nil }

func killFamily(parent *os.Process) error { return parent.Kill() }

func freezeFamily(*os.Process, bool) error { return errors.ErrUnsupported }
