package session

import (
	"bytes"
	"testing"
	"time"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

func configOf(t *testing.T, s *Session) client.Config {
	t.Helper()
	config, err := s.clientConfig(Connection{})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestOpenSessionHasNoDeadline(t *testing.T) {
	for open, deadline := range map[bool]bool{false: true, true: false} {
		s, _, _ := command.BufferedStreams("")
		made := &Session{Streams: s, Flags: Flags{Timeout: time.Second}, Open: open}
		config := configOf(t, made)
		if config.Timeout != time.Second || config.Deadline.IsZero() == deadline {
			t.Errorf("open %t: timeout %s, deadline %s", open, config.Timeout, config.Deadline)
		}
	}
}

func TestTraceIsSeparateFromMessages(t *testing.T) {
	s, _, messages := command.BufferedStreams("")
	var trace bytes.Buffer
	made := &Session{Streams: s, Flags: Flags{Debug: true}, Trace: &trace}
	_, _ = configOf(t, made).Trace.Write([]byte("> GET\n"))
	made.Trace = nil
	_, _ = configOf(t, made).Trace.Write([]byte("> PUT\n"))
	if trace.String() != "> GET\n" || messages.String() != "> PUT\n" {
		t.Errorf("trace %q, messages %q", &trace, messages)
	}
}

func TestWaitBudgetOverridesDefault(t *testing.T) {
	s, _, _ := command.BufferedStreams("")
	usual := configOf(t, &Session{Streams: s})
	chosen := configOf(t, &Session{Streams: s, WaitBudget: time.Minute, BackoffBudget: time.Second})
	if usual.WaitBudget != defaultWaitBudget || usual.BackoffBudget != defaultBackoffBudget ||
		chosen.WaitBudget != time.Minute || chosen.BackoffBudget != time.Second {
		t.Errorf("default %s and %s, chosen %s and %s", usual.WaitBudget, usual.BackoffBudget, chosen.WaitBudget,
			chosen.BackoffBudget)
	}
}
