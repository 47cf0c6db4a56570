package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
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

// usage is how much memory a server has at one moment, in KiB.
type usage struct{ resident, heap int }

// What may be added to the heap between the second and the last fifth of a storm. A server's tables of callers are full by
// then. And what all of the memory may come to beyond the first look: SQLite keeps pages of two databases, in up to 128 MiB
// that are not on the heap, and they fill as long as the databases grow.
const (
	growthShare = 0.15
	growthKiB   = 16 << 10
	cachesKiB   = 128<<10 + 2*growthKiB
)

// growth says that memory has grown all along, and "" when it has not.
func growth(memory []usage) string {
	if len(memory) < 10 {
		return ""
	}
	byHeap := func(a, b usage) int { return a.heap - b.heap }
	early, late := slices.MaxFunc(memory[len(memory)/5:len(memory)*2/5], byHeap), slices.MaxFunc(memory[len(memory)*4/5:], byHeap)
	if float64(late.heap) > float64(early.heap)*(1+growthShare)+growthKiB {
		return fmt.Sprintf("the server's heap has grown from %d MiB to %d MiB", early.heap>>10, late.heap>>10)
	}
	if first, last := memory[0].resident, memory[len(memory)-1].resident; last > first+cachesKiB {
		return fmt.Sprintf("the server's memory has grown from %d MiB to %d MiB", first>>10, last>>10)
	}
	return ""
}

var (
	metricsPage = regexp.MustCompile(`msg=metrics url=(\S+)`)
	heapInUse   = regexp.MustCompile(`(?m)^go_memstats_heap_inuse_bytes (\S+)$`)
)

// findMetrics reads in the server's log where its metrics are.
func findMetrics(log string) (string, error) {
	said, err := os.ReadFile(log)
	if err != nil {
		return "", err
	}
	found := metricsPage.FindSubmatch(said)
	if found == nil {
		return "", fmt.Errorf("the server does not say where its metrics are; its log is %s", log)
	}
	return string(found[1]), nil
}

// use looks at the server's memory.
func (t *target) use() (usage, error) {
	memory, err := resident(t.server.PID())
	if err != nil {
		return usage{}, err
	}
	response, err := http.Get(t.metrics)
	if err != nil {
		return usage{}, err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		return usage{}, err
	}
	found := heapInUse.FindSubmatch(page)
	if found == nil {
		return usage{}, fmt.Errorf("the server's metrics do not have its heap")
	}
	heap, err := strconv.ParseFloat(string(found[1]), 64)
	return usage{memory, int(heap) >> 10}, err
}
