//go:build !windows

package cli

import "syscall"

// become replaces this process by a program.
func become(path string, args, environment []string) error {
	return syscall.Exec(path, args, environment) // #nosec G204 -- findMCP has found it
}
