package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/muesli/termenv"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/tui/theme"
)

func TestParseTerminalBackground(t *testing.T) {
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
		if dark, known := parseDarkness(answer); known && dark {
			got = "dark"
		} else if known {
			got = "light"
		}
		if got != want {
			t.Errorf("%q says %s, want %s", answer, got, want)
		}
	}
}

// terminal returns a session on a terminal that replies to the background query with the answer.
func terminal(t *testing.T, answer string, env map[string]string) (s *session.Session, tty *os.File) {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close(); screen.Close() })
	go func() {
		query := make([]byte, 64)
		var all strings.Builder
		for !strings.Contains(all.String(), queryKind) {
			n, err := screen.Read(query)
			if err != nil {
				return
			}
			all.Write(query[:n])
		}
		_, _ = screen.Write([]byte(answer))
	}()
	streams := &command.Streams{In: tty, Out: tty, Err: tty, InTTY: true, OutTTY: true, ErrTTY: true}
	get := func(name string) string { return env[name] }
	streams.ChooseColour(false, get)
	return session.New(streams, get, "test"), tty
}

func TestTerminalIsQueriedAndRestored(t *testing.T) {
	for answer, want := range map[string]bool{
		"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c": false,
		"\x1b]11;rgb:1111/1111/1111\x1b\\\x1b[?62c": true,
		"\x1b[?62c": true,
	} {
		command, tty := terminal(t, answer, nil)
		before, _ := term.GetState(int(tty.Fd()))
		if got := (&tuiOptions{session: command}).isDark(); got != want {
			t.Errorf("%q: dark %t", answer, got)
		}
		after, _ := term.GetState(int(tty.Fd()))
		if *before != *after {
			t.Errorf("%q: the terminal was not restored", answer)
		}
	}
}

func TestSilentTerminalTimesOut(t *testing.T) {
	_, tty := terminal(t, "", nil)
	if got := queryTerminal(tty, tty, time.Millisecond); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestThemeAndColours(t *testing.T) {
	white := "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c"
	none := "\x1b[?62c"
	for name, test := range map[string]struct {
		flag, configured theme.Name
		noColour         bool
		env              string
		answer           string
		want             theme.Name
	}{
		"the terminal decides":                {answer: white, want: theme.Light},
		"auto queries the terminal":           {configured: theme.Auto, answer: white, want: theme.Light},
		"dark by default":                     {answer: none, want: theme.Dark},
		"light in COLORFGBG":                  {answer: none, env: "COLORFGBG=0;default;15", want: theme.Light},
		"dark in COLORFGBG":                   {answer: none, env: "COLORFGBG=15;default", want: theme.Dark},
		"the configuration":                   {configured: theme.HighContrast, want: theme.HighContrast},
		"the flag before the configuration":   {flag: theme.Light, configured: theme.HighContrast, want: theme.Light},
		"NO_COLOR":                            {env: "NO_COLOR=1", want: theme.None},
		"the configuration before NO_COLOR":   {configured: theme.Dark, env: "NO_COLOR=1", want: theme.Dark},
		"NO_COLOR before auto":                {configured: theme.Auto, env: "NO_COLOR=1", want: theme.None},
		"--no-color before the configuration": {configured: theme.Dark, noColour: true, want: theme.None},
		"the flag before --no-color":          {flag: theme.Light, noColour: true, want: theme.Light},
		"no theme":                            {flag: theme.None, want: theme.None},
	} {
		env := map[string]string{}
		if key, value, ok := strings.Cut(test.env, "="); ok {
			env[key] = value
		}
		command, _ := terminal(t, test.answer, env)
		command.Flags.NoColour = test.noColour
		chosen := test.configured
		if test.flag != "" {
			chosen = test.flag
		}
		got, colours := (&tuiOptions{session: command, theme: string(test.flag)}).colours(chosen)
		if got != test.want || got == theme.None && colours != termenv.Ascii {
			t.Errorf("%s: %s in %v, want %s", name, got, colours, test.want)
		}
	}
}

func TestFlagsOverrideTheSettings(t *testing.T) {
	f := newTUIFixture(t)
	text := "tui:\n  theme: light\n  mouse: true\n  accessible: true\n"
	if err := os.WriteFile(filepath.Join(f.env[session.EnvConfigDir], "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]tuiSettings{
		"": {theme: theme.Light, mouse: true, accessible: true},
		"--theme=dark --mouse=false --accessible=false": {theme: theme.Dark},
		"--mouse --accessible":                          {theme: theme.Light, mouse: true, accessible: true},
	} {
		o := &tuiOptions{session: f.accounts().command, flags: pflag.NewFlagSet("tui", pflag.ContinueOnError)}
		o.flags.StringVar(&o.theme, "theme", "", "")
		o.flags.BoolVar(&o.mouse, "mouse", false, "")
		o.flags.BoolVar(&o.accessible, "accessible", false, "")
		if err := o.flags.Parse(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		got, err := o.settings()
		if err != nil || got.theme != want.theme || got.mouse != want.mouse || got.accessible != want.accessible {
			t.Errorf("%q: %+v, %v; want %+v", line, got, err, want)
		}
	}
}
