package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// resident is how much memory a process has now, in KiB.
func resident(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "VmRSS:" {
			return strconv.Atoi(fields[1])
		}
	}
	return 0, fmt.Errorf("the system does not say how much memory process %d has", pid)
}

// What may be added to the memory between the second and the last fifth of a storm. A server's caches are full by then.
const (
	growthShare = 0.15
	growthKiB   = 16 << 10
)

// growth says that memory has grown all along, and "" when it has not.
func growth(memory []int) string {
	if len(memory) < 10 {
		return ""
	}
	early, late := slices.Max(memory[len(memory)/5:len(memory)*2/5]), slices.Max(memory[len(memory)*4/5:])
	if float64(late) <= float64(early)*(1+growthShare)+growthKiB {
		return ""
	}
	return fmt.Sprintf("the server's memory has grown from %d MiB to %d MiB", early>>10, late>>10)
}
