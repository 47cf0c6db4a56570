//go:build unix

package main

import "syscall"

// openFiles is the limit of open files of this process, or more than it ever needs.
func openFiles() int {
	most := uint64(1 << 30)
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil { // else it would be found out when there are too many
		most = min(most, uint64(limit.Cur))
	}
	return int(most)
}
