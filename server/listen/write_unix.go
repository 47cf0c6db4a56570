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
