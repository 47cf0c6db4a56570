package session

import (
	"strings"
	"testing"
	"time"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

func TestLongWaitsAreNotedOnce(t *testing.T) {
	s, _, err := command.BufferedStreams("")
	s.ErrTTY = true
	note := (&Session{Streams: s}).noteWaits(time.Now)
	for _, w := range []client.Wait{
		{For: 999 * time.Millisecond, Requested: true, Why: "429 Too Many Requests"},
		{For: 30 * time.Second, Requested: true, Why: "429 Too Many Requests"},
		{For: 29 * time.Second, Requested: true, Why: "429 Too Many Requests"},
		{For: 30 * time.Second, Requested: true, Why: "429 Too Many Requests"},
		{For: 40250 * time.Millisecond, Why: "connection \x1b[2Jrefused"},
	} {
		note(w)
	}
	want := "The server asks to wait 30s (429 Too Many Requests).\nRetrying in 40.3s: connection [2Jrefused.\n"
	if err.String() != want {
		t.Errorf("notes\n%s\nwant\n%s", err, want)
	}
}

func TestWaitsAreNotedOnceAMinuteWithoutTerminal(t *testing.T) {
	// a file: at the start, each minute, and for a new reason
	for terminal, want := range map[bool]int{false: 6, true: 32} {
		s, _, err := command.BufferedStreams("")
		s.ErrTTY = terminal
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		note := (&Session{Streams: s}).noteWaits(func() time.Time { return at })
		for range 31 {
			note(client.Wait{For: 9 * time.Second, Why: "connection refused"})
			at = at.Add(9 * time.Second)
		}
		note(client.Wait{For: 9 * time.Second, Why: "503 Service Unavailable"})
		if got := strings.Count(err.String(), "\n"); got != want {
			t.Errorf("terminal %t: %d lines, want %d:\n%s", terminal, got, want, err)
		}
	}
}
