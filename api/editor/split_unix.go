//go:build !windows

package editor

import "github.com/google/shlex"

func split(line string) ([]string, error) { return shlex.Split(line) }
