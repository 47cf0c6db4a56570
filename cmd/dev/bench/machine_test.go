package main

import (
	"testing"
	"time"
)

func TestMachineIsReadFromProc(t *testing.T) {
	if got := cpuModel([]byte("processor\t: 0\nmodel\t\t: 17\nmodel name\t: Fast 9000 \nprocessor\t: 1\nmodel " +
		"name\t: Fast 9000\n")); got != "Fast 9000" {
		t.Errorf("the processor is %q", got)
	}
	if got := memoryTotal([]byte("MemTotal:       24661284 kB\nMemFree:        22000000 kB\n")); got != "24 GiB" {
		t.Errorf("the memory is %q", got)
	}
}

func TestMeasureSyncsCountsAndLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	perSecond, err := measureSyncs(dir, time.Millisecond)
	if err != nil || perSecond <= 0 {
		t.Errorf("the disk takes %v writes a second, %v", perSecond, err)
	}
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("it leaves %v behind", left)
	}
}
