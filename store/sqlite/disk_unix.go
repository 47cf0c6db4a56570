//go:build linux || darwin

package sqlite

import "golang.org/x/sys/unix"

// freeSpace is how many bytes this process may still write to the file system of a directory.
func freeSpace(directory string) (int64, error) {
	var found unix.Statfs_t
	err := unix.Statfs(directory, &found)
	return int64(found.Bavail) * int64(found.Bsize), err // #nosec G115 -- no file system has 8 EiB
}
