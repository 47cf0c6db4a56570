package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// reader asks for one address over and over and says how many answers came in a second.
type reader func(ctx context.Context, s *service, path string, connections int, time time.Duration) (float64, error)

// newReader is wrk where it is installed, and else our own generator. Its name is for the table.
func newReader() (name string, read reader) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return "the Go load generator", readByLoad
	}
	return "wrk", readByWrk
}

func readByWrk(ctx context.Context, s *service, path string, connections int, time time.Duration) (float64, error) {
	command := exec.CommandContext(ctx, "wrk", "--threads", "1", "--connections", strconv.Itoa(connections), "--duration", fmt.Sprint(time),
		"--header", "Authorization: Bearer "+s.token, s.url(path))
	output, err := command.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("wrk: %w: %s", err, output)
	}
	return readWrk(output)
}

var (
	wrkRate     = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkFailures = regexp.MustCompile(`Non-2xx or 3xx responses: [0-9]+|Socket errors: .*`)
)

// readWrk takes the rate from what wrk prints, unless a request failed.
func readWrk(output []byte) (float64, error) {
	if failures := wrkFailures.Find(output); failures != nil {
		return 0, fmt.Errorf("wrk: requests failed: %s", failures)
	}
	found := wrkRate.FindSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("wrk printed no rate: %s", output)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

func readByLoad(ctx context.Context, s *service, path string, connections int, time time.Duration) (float64, error) {
	request := s.get(path)
	report, err := Run(ctx, Plan{
		Addresses: []string{s.address}, Connections: connections, Time: time, Status: 200,
		Request: func(buffer []byte, _ int64) []byte { return append(buffer, request...) },
	})
	if err != nil {
		return 0, err
	}
	return report.Rate(), nil
}
