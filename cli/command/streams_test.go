package command_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"example.com/perks/cli/command"
)

func TestChooseColour(t *testing.T) {
	for name, test := range map[string]struct {
		tty, off bool
		env      map[string]string
		want     bool
	}{
		"terminal":                       {tty: true, want: true},
		"pipe":                           {want: false},
		"terminal, --no-color":           {tty: true, off: true, want: false},
		"terminal, NO_COLOR":             {tty: true, env: map[string]string{"NO_COLOR": "1"}, want: false},
		"terminal, TERM=dumb":            {tty: true, env: map[string]string{"TERM": "dumb"}, want: false},
		"pipe, CLICOLOR_FORCE":           {env: map[string]string{"CLICOLOR_FORCE": "1"}, want: true},
		"pipe, CLICOLOR_FORCE=0":         {env: map[string]string{"CLICOLOR_FORCE": "0"}, want: false},
		"pipe, CLICOLOR_FORCE, NO_COLOR": {env: map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, want: false},
	} {
		s := &command.Streams{OutTTY: test.tty, ErrTTY: test.tty}
		s.ChooseColour(test.off, func(name string) string { return test.env[name] })
		if s.Colour != test.want || s.ColourOut != test.want {
			t.Errorf("%s: Err %t, Out %t, want %t", name, s.Colour, s.ColourOut, test.want)
		}
	}
}

func TestQuietHidesNotesAndWarnings(t *testing.T) {
	for quiet, want := range map[bool]string{false: "a note\nwarning: cut at 5[2J\n", true: ""} {
		for _, json := range []bool{false, true} {
			s, out, messages := command.BufferedStreams("")
			s.Quiet, s.JSON = quiet, json
			s.Note("a note")
			s.Warn("cut at %d\x1b[2J", 5)
			wanted := want
			if json && !quiet {
				wanted = `{"note":{"message":"a note"}}` + "\n" + `{"warning":{"message":"cut at 5[2J"}}` + "\n"
			}
			if got := messages.String(); got != wanted || out.Len() != 0 {
				t.Errorf("quiet %t, JSON %t: Err has %q, Out has %q", quiet, json, got, out.String())
			}
		}
	}
}

func TestTraceLinesAreJSON(t *testing.T) {
	s, _, messages := command.BufferedStreams("")
	s.JSON = true
	to := s.Lines("debug")
	for _, part := range []string{"> GET /x", "\n\n", "< 200 \"OK\"\n> ha", "lf"} {
		if _, err := io.WriteString(to, part); err != nil {
			t.Fatal(err)
		}
	}
	if want := `{"debug":{"message":"> GET /x"}}` + "\n" + `{"debug":{"message":"< 200 \"OK\""}}` +
		"\n"; messages.String() != want {
		t.Errorf("got %s, want %s", messages, want)
	}
}

func TestConfirmAcceptsOnlyYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, " yes \r\n": true, "n\n": false, "\n": false,
		"": false, "yeah\n": false} {
		s, _, _ := command.BufferedStreams(answer)
		s.InTTY, s.ErrTTY = true, true
		err := command.Confirm(t.Context(), s, false, "Sure?")
		if refused := errors.As(err, new(*command.Failure)); refused == want || err != nil && !refused {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

func TestQuestionsStopWithTheContext(t *testing.T) {
	silent, writer := io.Pipe()
	defer writer.Close()
	s, _, _ := command.BufferedStreams("")
	s.In, s.InTTY, s.ErrTTY = silent, true, true
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := command.Confirm(ctx, s, false, "Sure?"); !errors.Is(err, context.Canceled) {
		t.Errorf("Confirm: %v", err)
	}
	if _, err := s.AskSecret(ctx, "Secret: "); !errors.Is(err, context.Canceled) {
		t.Errorf("AskSecret: %v", err)
	}
}

func TestReadPipedKeepsUnreadLines(t *testing.T) {
	s, _, messages := command.BufferedStreams("first\nsecond\nrest\n")
	first, _ := s.Ask(context.Background(), "1? ")
	second, _ := s.Ask(context.Background(), "2? ")
	rest, err := s.ReadPiped(context.Background())
	if first != "first" || second != "second" || rest != "rest" || err != nil || messages.String() != "1? 2? " {
		t.Errorf("read %q, %q, %q, %v; prompts %q", first, second, rest, err, messages.String())
	}
}
