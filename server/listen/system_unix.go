//go:build unix

package listen

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isWritable is true also for a broken connection, so that writing tells.
func isWritable(fd uintptr) bool {
	for {
		socket := unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT} // #nosec G115 -- a file descriptor is small
		n, err := unix.Poll([]unix.PollFd{socket}, 0)
		if !errors.Is(err, unix.EINTR) {
			return n > 0 || err != nil
		}
	}
}

// MaxOpenFiles is the limit of open files of this process, or more than it ever needs.
func MaxOpenFiles() int {
	most := uint64(1 << 30)
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil { // else it would be found out when there are too many
		most = min(most, uint64(limit.Cur))
	}
	return int(most)
}
