package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// cost is what a run of a program took, from its start to its end.
type cost struct {
	time time.Duration
	cpu  time.Duration // of the program itself and of the system for it
	peak mebibytes     // the most memory that it had at any time
}

// perksctl runs one of perksctl's commands at the service. It is told nothing but an address and a token.
func (l *harness) perksctl(ctx context.Context, s *service, output io.Writer, args ...string) (cost, error) {
	command := l.Command(ctx, append([]string{"perksctl"}, args...)...)
	command.Env = append(command.Env, "PERKSCTL_API_URL="+s.url(""), "PERKSCTL_TOKEN="+s.token)
	var problems bytes.Buffer
	command.Stdout, command.Stderr = output, &problems
	begun := time.Now()
	if err := command.Start(); err != nil {
		return cost{}, err
	}
	peak := watchPeak(command.Process.Pid)
	err := command.Wait()
	took := time.Since(begun)
	if err != nil {
		return cost{}, errors.Join(ctx.Err(), fmt.Errorf("perksctl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(problems.Bytes())))
	}
	most, err := peak()
	return cost{took, processor(command), most}, err
}

// processor is the processor's time that a program has taken.
func processor(command *exec.Cmd) time.Duration {
	return command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}

// mebibytes is an amount of memory.
type mebibytes float64

func (m mebibytes) String() string { return fmt.Sprintf("%.1f MiB", float64(m)) }

const peakEvery = 5 * time.Millisecond

// watchPeak polls the peak memory of a process until the returned function is called, which must be after the process has
// exited. The system keeps the peak itself, so only growth in the last moment is missed. The figure that it gives after the
// exit is useless: it includes the memory of the parent process, which is this one.
func watchPeak(pid int) (stop func() (mebibytes, error)) {
	exited, last := make(chan struct{}), make(chan mebibytes)
	go func() {
		var peak mebibytes
		look := time.NewTicker(peakEvery)
		defer look.Stop()
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // a process that has just exited has none
			peak = max(peak, peakIn(status))
			select {
			case <-look.C:
			case <-exited:
				last <- peak
				return
			}
		}
	}()
	return func() (mebibytes, error) {
		close(exited)
		if peak := <-last; peak > 0 {
			return peak, nil
		}
		return 0, errors.New("this system does not report the peak memory of a process")
	}
}

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s*([0-9]+) kB$`)

// peakIn reads Linux's /proc/PID/status. It is 0 where that tells nothing.
func peakIn(status []byte) mebibytes {
	if found := highWater.FindSubmatch(status); found != nil {
		kilobytes, _ := strconv.ParseFloat(string(found[1]), 64) // digits alone
		return mebibytes(kilobytes / 1024)
	}
	return 0
}

// startsPerRound is how often each program is started in a round.
const startsPerRound = 60

// measureVersion compares the start of perksctl, one command and its end, with that of a bare cobra program.
func measureVersion(ctx context.Context, l *harness) (*table, error) {
	var times, cpu [2][]time.Duration
	for round := range l.rounds + 1 {
		for range startsPerRound {
			for i, words := range [][]string{{"perksctl", "version"}, {"hello"}} {
				command := l.Command(ctx, words...)
				begun := time.Now()
				if err := command.Run(); err != nil {
					return nil, fmt.Errorf("starting %s: %w", words[0], err)
				}
				if took := time.Since(begun); round > 0 { // the first round warms up
					times[i], cpu[i] = append(times[i], took), append(cpu[i], processor(command))
				}
			}
		}
		l.logf("version, round %d of %d", round, l.rounds)
	}
	t := newTable("Starting (`version`)", "`perksctl version`", "perksctl", "bare cobra program")
	add := func(work string, taken [2][]time.Duration) {
		ours, theirs := median(taken[0]), median(taken[1])
		t.add(float64(ours)/float64(theirs), target{2, atMost}, work, milliseconds(ours), milliseconds(theirs))
	}
	add("from start to end", times)
	add("processor's time", cpu)
	t.note("Medians of %s starts each, alternating.", grouped(int64(len(times[1]))))
	return t, nil
}

// allPerks is how many perks a list of all has.
const allPerks = 1_000_000

// memoryLimit is what perksctl may take at most, however much it works through.
var memoryLimit = target{64, atMost}

// measureAll measures what it takes perksctl to write a list of a million perks.
func measureAll(ctx context.Context, l *harness) (*table, error) {
	file, err := l.sqliteWith(ctx, allPerks)
	if err != nil {
		return nil, err
	}
	perksd, err := l.serve(ctx, file)
	if err != nil {
		return nil, err
	}
	l.logf("all: listing %s perks", grouped(allPerks))
	var written lines
	cost, err := l.perksctl(ctx, perksd, &written, "perk", "list", "--all", "--include-expired", "--output", "jsonl")
	if err != nil {
		return nil, err
	}
	if written.count != allPerks {
		return nil, fmt.Errorf("the list of %d perks has %d lines", allPerks, written.count)
	}
	result := newTableOf("peak MiB", "Listing all (`all`)", "over SQLite", "lines", "bytes", "time", "processor's time")
	result.add(float64(cost.peak), memoryLimit, "`perksctl perk list --all -o jsonl`", grouped(written.count), grouped(written.bytes), seconds(cost.time), seconds(cost.cpu))
	return result, nil
}

// lines counts what is written to it.
type lines struct{ count, bytes int64 }

func (l *lines) Write(text []byte) (int, error) {
	l.count += int64(bytes.Count(text, []byte{'\n'}))
	l.bytes += int64(len(text))
	return len(text), nil
}
