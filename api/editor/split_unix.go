//go:build !windows

package editor

import "github.com/google/shlex"

// Split returns the words of a command line, as a POSIX shell reads quotes.
func Split(line string) ([]string, error) { return shlex.Split(line) }
