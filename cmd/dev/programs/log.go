package programs

import (
	"bufio"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Log is what a server writes to stderr. It is read as it comes, so that the server never waits for a reader.
type Log struct {
	mu    sync.Mutex
	more  sync.Cond
	lines []string
	ended bool
	seen  int // lines that WaitFor has passed
}

// Follow reads a log to its end.
func Follow(from io.Reader) *Log {
	l := &Log{}
	l.more.L = &l.mu
	go func() {
		scanner := bufio.NewScanner(from)
		for scanner.Scan() {
			l.add(scanner.Text())
		}
		l.end()
	}()
	return l
}

func (l *Log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	l.more.Broadcast()
}

func (l *Log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.more.Broadcast()
}

// WaitFor waits for a line that holds the text, after the one that it returned before.
func (l *Log) WaitFor(t testing.TB, text string) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for ; l.seen < len(l.lines); l.seen++ {
			if line := l.lines[l.seen]; strings.Contains(line, text) {
				l.seen++
				return line
			}
		}
		if l.ended {
			t.Fatalf("the server ended before it said %q; its log is\n%s", text, strings.Join(l.lines, "\n"))
		}
		l.more.Wait()
	}
}

var listening = regexp.MustCompile(`listening on (https?://[^\s"]+)`)

// WaitForURL waits until the server says where it listens.
func (l *Log) WaitForURL(t testing.TB) string {
	t.Helper()
	return listening.FindStringSubmatch(l.WaitFor(t, "listening on"))[1]
}

var metrics = regexp.MustCompile(`msg=metrics url=(\S+)`)

// MetricsURL is where a server that listens shows its metrics: it has said so before.
func (l *Log) MetricsURL(t testing.TB) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if found := metrics.FindStringSubmatch(line); found != nil {
			return found[1]
		}
	}
	t.Fatalf("the server does not say where its metrics are; its log is\n%s", strings.Join(l.lines, "\n"))
	return ""
}

// Rest waits until the log ends and returns it whole.
func (l *Log) Rest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.ended {
		l.more.Wait()
	}
	return strings.Join(l.lines, "\n")
}
