//go:build !windows

package property

import "github.com/google/shlex"

var defaultEditors = []string{"vi", "nano"}

func split(line string) ([]string, error) { return shlex.Split(line) }
