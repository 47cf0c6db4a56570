//go:build !linux

package postgres

import "syscall"

// limitUnacknowledged does nothing where the kernel has no such limit.
func limitUnacknowledged(string, string, syscall.RawConn) error { return nil }
