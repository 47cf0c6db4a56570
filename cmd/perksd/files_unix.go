//go:build unix

package main

import "syscall"

// manyFiles are more than anybody opens.
const manyFiles = 1 << 30

// openFiles is how many files this process may have open at once.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return manyFiles // it would be found out when there are too many
	}
	return int(min(uint64(limit.Cur), manyFiles))
}
