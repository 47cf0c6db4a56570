//go:build !linux

package postgres

import "syscall"

// setUserTimeout does nothing where the kernel has no such limit.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
