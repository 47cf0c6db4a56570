package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/perks/cmd/dev/programs"
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
	return costOf(ctx, command, output)
}

// costOf runs a program to its end.
func costOf(ctx context.Context, command *exec.Cmd, output io.Writer) (cost, error) {
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
		return cost{}, errors.Join(ctx.Err(),
			fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, bytes.TrimSpace(problems.Bytes())))
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

// watchPeak polls the peak memory of a process until the returned function is called, which must be after the process
// has exited. The system keeps the peak itself, so only growth in the last moment is missed. The figure that it gives
// after the exit is useless: it includes the memory of the parent process, which is this one.
func watchPeak(pid int) (stop func() (mebibytes, error)) {
	exited, last := make(chan struct{}), make(chan mebibytes)
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // before it can exit
	go func() {
		peak := peakIn(status)
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

var peakField = regexp.MustCompile(`(?m)^VmHWM:\s*([0-9]+) kB$`)

// peakIn reads the peak memory in Linux's /proc/PID/status. It is 0 where that tells nothing.
func peakIn(status []byte) mebibytes {
	found := peakField.FindSubmatch(status)
	if found == nil {
		return 0
	}
	kilobytes, _ := strconv.ParseFloat(string(found[1]), 64) // digits alone
	return mebibytes(kilobytes / 1024)
}

// startsPerRound is how often each program is started in a round. startCopies is how many copies of it take turns:
// copies of the same bytes start up to a tenth faster or slower, depending on how the system's cache holds them.
const (
	startsPerRound = 60
	startCopies    = 12
)

// measureStart compares perksctl with bare cobra programs: a version from start to end, and a page of perks to its
// first byte.
func measureStart(ctx context.Context, l *harness) (*table, error) {
	if err := programs.Build(ctx, l.Programs, "-trimpath", "-ldflags", "-s -w",
		"./cmd/dev/bench/testdata/fetch"); err != nil {
		return nil, err
	}
	for _, name := range []string{"perksctl", "hello", "fetch"} {
		if err := l.copyProgram(name); err != nil {
			return nil, err
		}
	}
	file, err := l.sqliteWith(ctx, 10_000)
	if err != nil {
		return nil, err
	}
	perksd, err := l.serve(ctx, file)
	if err != nil {
		return nil, err
	}
	t := newTable("Starting (`version`)", "from the start", "perksctl", "bare cobra program")
	add := func(work string, taken [2][]time.Duration) {
		ours, theirs := median(taken[0]), median(taken[1])
		t.add(float64(ours)/float64(theirs), target{1.4, atMost}, work, milliseconds(ours), milliseconds(theirs))
	}
	for _, work := range []struct {
		name        string
		programs    [2][]string
		toFirstByte bool
	}{
		{"`version`, to the end", [2][]string{{"perksctl", "version"}, {"hello"}}, false},
		{"`perk list`, to the first byte",
			[2][]string{{"perksctl", "perk", "list"}, {"fetch", perksd.url("/partners/perks"), perksd.token}}, true},
	} {
		var times, cpu [2][]time.Duration
		for i := range (l.rounds + 1) * startsPerRound {
			for side, words := range work.programs {
				command := l.Command(ctx, append([]string{nameOfCopy(words[0], i%startCopies)}, words[1:]...)...)
				command.Env = append(command.Env, "PERKSCTL_API_URL="+perksd.url(""), "PERKSCTL_TOKEN="+perksd.token)
				took, err := timeRun(command, work.toFirstByte)
				if err != nil {
					return nil, fmt.Errorf("starting %s: %w", words[0], err)
				}
				if i >= startsPerRound { // the first round warms up
					times[side], cpu[side] = append(times[side], took), append(cpu[side], processor(command))
				}
			}
		}
		add(work.name, times)
		add("processor's time", cpu)
		l.logf("%s measured", work.name)
	}
	t.note("Medians of %s starts each, alternating.", grouped(int64(l.rounds*startsPerRound)))
	return t, nil
}

// copyProgram makes the copies of a program that take turns.
func (l *harness) copyProgram(name string) error {
	program, err := os.ReadFile(filepath.Join(l.Programs, name))
	for i := range startCopies {
		err = errors.Join(err, os.WriteFile(filepath.Join(l.Programs, nameOfCopy(name, i)), program, 0o700))
	}
	return err
}

func nameOfCopy(name string, i int) string { return fmt.Sprintf("%s-%d", name, i) }

// timeRun runs a program and returns how long it took to its end, or to its first byte of output.
func timeRun(command *exec.Cmd, toFirstByte bool) (took time.Duration, err error) {
	output, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	_, err = io.ReadFull(output, make([]byte, 1))
	took = time.Since(begun)
	_, copied := io.Copy(io.Discard, output)
	err = errors.Join(err, copied, command.Wait())
	if !toFirstByte {
		took = time.Since(begun)
	}
	return took, err
}

// allPerks is how many perks a list of all has.
const allPerks = 1_000_000

// memoryLimit is what perksctl may take at most, however much it works through.
var memoryLimit = target{64, atMost}

// measureAll compares what it takes perksctl to list a million perks, page by page, with perksd's export of the same
// database.
func measureAll(ctx context.Context, l *harness) (*table, error) {
	few := *l
	few.rounds = min(l.rounds, 2) // each takes minutes
	result := newTableOf("ratio, or MiB", "Listing all (`all`)", "`perksctl perk list --all -o jsonl`", "perksctl",
		"`perksd export perks`")
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		database, err := l.databaseWith(ctx, kind, allPerks)
		if err != nil {
			return nil, err
		}
		perksd, err := l.serve(ctx, database)
		if err != nil {
			return nil, err
		}
		var spent []time.Duration // by perksctl, of processors
		var peak mebibytes
		list := func(ctx context.Context) (float64, error) {
			var written lines
			cost, err := l.perksctl(ctx, perksd, &written, "perk", "list", "--all", "--include-expired", "--output",
				"jsonl")
			spent, peak = append(spent, cost.cpu), max(peak, cost.peak)
			return written.rate(cost), errors.Join(err, written.check())
		}
		export := func(ctx context.Context) (float64, error) {
			var written lines
			cost, err := costOf(ctx, l.Command(ctx, "perksd", "export", "perks", "--output", "jsonl", "--database",
				database), &written)
			return written.rate(cost), errors.Join(err, written.check())
		}
		rates, err := few.alternate(ctx, "all on "+kind, contender{"perksctl", list}, contender{"export", export})
		if err != nil {
			return nil, err
		}
		result.add(rates[1]/rates[0], target{3, atMost}, kind+", time", seconds(timeAt(rates[0])),
			seconds(timeAt(rates[1])))
		result.add(float64(peak), memoryLimit, kind+", peak memory", peak.String(), "")
		result.note("%s: perksctl spent %s of the processors (median).", kind, seconds(median(spent)))
	}
	result.note("%s perks each, read from a pipe; with `--include-expired`, as an export has them.", grouped(allPerks))
	return result, nil
}

// timeAt is how long all perks take at a rate.
func timeAt(perSecond float64) time.Duration {
	return time.Duration(allPerks / perSecond * float64(time.Second))
}

// lines counts those that are written to it.
type lines struct{ count int64 }

func (l *lines) Write(text []byte) (int, error) {
	l.count += int64(bytes.Count(text, []byte{'\n'}))
	return len(text), nil
}

func (l *lines) rate(cost cost) float64 { return float64(l.count) / cost.time.Seconds() }

// check fails unless there is a line for each perk.
func (l *lines) check() error {
	if l.count != allPerks {
		return fmt.Errorf("the list of %d perks has %d lines", allPerks, l.count)
	}
	return nil
}
