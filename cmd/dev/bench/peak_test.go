package main

import (
	"os/exec"
	"testing"
)

func TestPeakMeasuresTheChildProcess(t *testing.T) {
	ours := make([]byte, 64<<20)
	for i := 0; i < len(ours); i += 4096 {
		ours[i] = 1
	}
	command := exec.Command("cat")
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	peak := watchPeak(command.Process.Pid)
	if _, err := input.Write(ours[:1]); err != nil {
		t.Fatal(err)
	}
	if _, err := output.Read(ours[:1]); err != nil { // it is running
		t.Fatal(err)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, err := peak(); err != nil || got <= 0 || got >= 64 {
		t.Errorf("the peak of cat is %s, %v", got, err)
	}
}
