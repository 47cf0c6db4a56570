package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// describeMachine says where figures come from. What the system does not tell is "unknown".
func describeMachine(ctx context.Context) (string, error) {
	syncs, err := measureSyncs(os.TempDir(), time.Second)
	if err != nil {
		return "", fmt.Errorf("measuring the disk: %w", err)
	}
	cpuInfo, _ := os.ReadFile("/proc/cpuinfo")
	memoryInfo, _ := os.ReadFile("/proc/meminfo")
	return fmt.Sprintf("%s, %d cores, %s of memory; %s. The disk takes %s writes of 8 KiB that are synced one by "+
		"one. %s, %s.",
		cpuModel(cpuInfo), runtime.NumCPU(), memoryTotal(memoryInfo), printed(ctx, "uname", "-srm"), rate(syncs),
		runtime.Version(), printed(ctx, "pgbench", "--version")), nil
}

const unknown = "unknown"

// printed is the first line that a command prints.
func printed(ctx context.Context, name string, args ...string) string {
	output, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return name + " " + unknown
	}
	line, _, _ := strings.Cut(string(output), "\n")
	return line
}

var (
	modelName = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)
	memTotal  = regexp.MustCompile(`(?m)^MemTotal:\s*([0-9]+) kB$`)
)

// cpuModel reads Linux's /proc/cpuinfo.
func cpuModel(info []byte) string {
	if found := modelName.FindSubmatch(info); found != nil {
		return string(bytes.TrimSpace(found[1]))
	}
	return runtime.GOARCH + " processor, model " + unknown
}

// memoryTotal reads Linux's /proc/meminfo.
func memoryTotal(info []byte) string {
	if found := memTotal.FindSubmatch(info); found != nil {
		if kilobytes, err := strconv.ParseFloat(string(found[1]), 64); err == nil {
			return fmt.Sprintf("%.0f GiB", kilobytes/(1<<20))
		}
	}
	return unknown + " amount"
}

// measureSyncs writes the same 8 KiB of a file again and again, as a database writes its log, and waits for the disk
// each time.
func measureSyncs(dir string, lasting time.Duration) (perSecond float64, err error) {
	file, err := os.CreateTemp(dir, "perks-sync-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	page := bytes.Repeat([]byte{1}, 8<<10)
	written := 0
	begun := time.Now()
	for ; time.Since(begun) < lasting; written++ {
		if _, err := file.WriteAt(page, 0); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
	}
	return float64(written) / time.Since(begun).Seconds(), nil
}
