package tuicmd

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/muesli/termenv"
	"golang.org/x/term"

	"example.com/perks/cli/session"
	"example.com/perks/cli/streams"
	"example.com/perks/tui/theme"
)

func TestWhatATerminalSaysOfItsBackground(t *testing.T) {
	for answer, want := range map[string]string{
		"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;4c": "light",
		"\x1b]11;rgb:0000/0000/0000\a\x1b[?6c":        "dark",
		"\x1b]11;rgb:fd/f6/e3\x1b\\":                  "light",
		"\x1b]11;rgba:0000/2b2b/3636/ffff\x1b\\":      "dark",
		"\x1b]11;rgb:f/f/f\x1b\\":                     "light",
		"\x1b[?62;4c":                                 "nothing",
		"":                                            "nothing",
		"\x1b]11;rgb:":                                "nothing",
		"\x1b]11;rgb:ffff/zzzz":                       "nothing",
		"\x1b]11;rgb://":                              "nothing",
		"\x1b]11;rgb:fffff/f/f":                       "nothing",
	} {
		got := "nothing"
		if dark, known := darkness(answer); known && dark {
			got = "dark"
		} else if known {
			got = "light"
		}
		if got != want {
			t.Errorf("%q says %s, want %s", answer, got, want)
		}
	}
}

// terminal is a terminal that answers as told once it is asked, and a command that runs on it.
func terminal(t *testing.T, answer string, env map[string]string) (command *session.Session, tty *os.File) {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close(); screen.Close() })
	go func() {
		asked := make([]byte, 64)
		var all strings.Builder
		for !strings.Contains(all.String(), askKind) {
			n, err := screen.Read(asked)
			if err != nil {
				return
			}
			all.Write(asked[:n])
		}
		_, _ = screen.Write([]byte(answer))
	}()
	s := &streams.Streams{In: tty, Out: tty, Err: tty, InTTY: true, OutTTY: true, ErrTTY: true}
	get := func(name string) string { return env[name] }
	s.ChooseColour(false, get)
	return session.New(s, get, "test"), tty
}

func TestTheTerminalIsAskedAndLeftAsItWas(t *testing.T) {
	for answer, want := range map[string]bool{
		"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c": false,
		"\x1b]11;rgb:1111/1111/1111\x1b\\\x1b[?62c": true,
		"\x1b[?62c": true,
	} {
		command, tty := terminal(t, answer, nil)
		before, _ := term.GetState(int(tty.Fd()))
		if got := (&options{session: command}).isDark(); got != want {
			t.Errorf("%q: dark %t", answer, got)
		}
		after, _ := term.GetState(int(tty.Fd()))
		if *before != *after {
			t.Errorf("%q: the terminal is not as it was", answer)
		}
	}
}

func TestASilentTerminalIsNotWaitedForLong(t *testing.T) {
	_, tty := terminal(t, "", nil)
	if got := ask(tty, tty, time.Millisecond); got != "" {
		t.Errorf("it has said %q", got)
	}
}

func TestTheLook(t *testing.T) {
	white := "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c"
	none := "\x1b[?62c"
	for name, test := range map[string]struct {
		flag, kept theme.Name
		noColour   bool
		env        string
		answer     string
		want       theme.Name
	}{
		"the terminal decides":            {answer: white, want: theme.Light},
		"auto asks too":                   {kept: theme.Auto, answer: white, want: theme.Light},
		"dark is usual":                   {answer: none, want: theme.Dark},
		"the environment may know":        {answer: none, env: "COLORFGBG=0;default;15", want: theme.Light},
		"or not":                          {answer: none, env: "COLORFGBG=15;default", want: theme.Dark},
		"the configuration":               {kept: theme.HighContrast, want: theme.HighContrast},
		"the flag before it":              {flag: theme.Light, kept: theme.HighContrast, want: theme.Light},
		"NO_COLOR":                        {env: "NO_COLOR=1", want: theme.None},
		"the configuration before that":   {kept: theme.Dark, env: "NO_COLOR=1", want: theme.Dark},
		"but not an automatic one":        {kept: theme.Auto, env: "NO_COLOR=1", want: theme.None},
		"--no-color before both":          {kept: theme.Dark, noColour: true, want: theme.None},
		"and a theme by flag before that": {flag: theme.Light, noColour: true, want: theme.Light},
		"none at all":                     {flag: theme.None, want: theme.None},
	} {
		env := map[string]string{}
		if key, value, ok := strings.Cut(test.env, "="); ok {
			env[key] = value
		}
		command, _ := terminal(t, test.answer, env)
		command.Flags.NoColour = test.noColour
		chosen := test.kept
		if test.flag != "" {
			chosen = test.flag
		}
		got, colours := (&options{session: command, theme: string(test.flag)}).look(chosen)
		if got != test.want || got == theme.None && colours != termenv.Ascii {
			t.Errorf("%s: %s in %v, want %s", name, got, colours, test.want)
		}
	}
}
