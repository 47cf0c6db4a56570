package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

// mebibytes is an amount of memory.
type mebibytes float64

func (m mebibytes) String() string { return fmt.Sprintf("%.1f MiB", float64(m)) }

const peakEvery = 5 * time.Millisecond

// watchPeak follows the most memory that a process has had at any time, until the returned function is called. That has
// to be when the process has ended. The system keeps the figure itself, so that only what is added in the last moment is
// missed. What it tells of a process that has ended is of no use: there the memory of the process that started it counts
// too, and that is ours.
func watchPeak(pid int) (stop func() (mebibytes, error)) {
	ended, last := make(chan struct{}), make(chan mebibytes)
	go func() {
		var peak mebibytes
		look := time.NewTicker(peakEvery)
		defer look.Stop()
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // a process that has just ended has none
			peak = max(peak, peakIn(status))
			select {
			case <-look.C:
			case <-ended:
				last <- peak
				return
			}
		}
	}()
	return func() (mebibytes, error) {
		close(ended)
		if peak := <-last; peak > 0 {
			return peak, nil
		}
		return 0, errors.New("this system does not tell how much memory a process has had")
	}
}

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s*([0-9]+) kB$`)

// peakIn reads Linux's /proc/PID/status. It is 0 where that tells nothing.
func peakIn(status []byte) mebibytes {
	found := highWater.FindSubmatch(status)
	if found == nil {
		return 0
	}
	kilobytes, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		return 0
	}
	return mebibytes(kilobytes / 1024)
}
