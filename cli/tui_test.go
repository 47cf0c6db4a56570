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
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
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
		remembered       theme.Name
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
		"as it was last":                      {remembered: theme.Light, answer: none, want: theme.Light},
		"the configuration before the last":   {configured: theme.Dark, remembered: theme.Light, want: theme.Dark},
		"auto before the last": {configured: theme.Auto, remembered: theme.Dark, answer: white,
			want: theme.Light},
		"the flag before the last": {flag: theme.Dark, remembered: theme.Light, want: theme.Dark},
		"NO_COLOR before the last": {remembered: theme.Light, env: "NO_COLOR=1", want: theme.None},
		"a damaged memory":         {remembered: "pink", answer: white, want: theme.Light},
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
		got, colours := (&tuiOptions{session: command, theme: string(test.flag)}).colours(chosen,
			string(test.remembered))
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
	on, off := true, false
	for line, want := range map[string]tuiSettings{
		"": {theme: theme.Light, mouse: &on, accessible: true},
		"--theme=dark --mouse=false --accessible=false": {theme: theme.Dark, mouse: &off},
		"--mouse --accessible":                          {theme: theme.Light, mouse: &on, accessible: true},
	} {
		o := &tuiOptions{session: f.accounts().command, flags: pflag.NewFlagSet("tui", pflag.ContinueOnError)}
		o.flags.StringVar(&o.theme, "theme", "", "")
		o.flags.BoolVar(&o.mouse, "mouse", false, "")
		o.flags.BoolVar(&o.accessible, "accessible", false, "")
		if err := o.flags.Parse(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		got, err := o.settings()
		if err != nil || got.theme != want.theme || got.mouse == nil || *got.mouse != *want.mouse ||
			got.accessible != want.accessible {
			t.Errorf("%q: %+v, %v; want %+v", line, got, err, want)
		}
	}
}

func TestTheMouseIsOnUnlessItWasSwitchedOff(t *testing.T) {
	on, off := true, false
	for name, test := range map[string]struct {
		chosen     *bool
		remembered string
		want       bool
	}{
		"the first time":        {nil, "", true},
		"switched off last":     {nil, screen.Off, false},
		"switched on last":      {nil, screen.On, true},
		"configuration on":      {&on, screen.Off, true},
		"configuration off":     {&off, screen.On, false},
		"configuration off too": {&off, "", false},
	} {
		if got := usesMouse(test.chosen, test.remembered); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestStartingWithARecord(t *testing.T) {
	for words, want := range map[string]screen.Route{
		"perk 0A1B2C3D-0000-4000-8000-00000000000F": screen.ToPerk{ID: "0a1b2c3d-0000-4000-8000-00000000000f"},
		"user alice": screen.ToUser{ID: "alice"}, "property 4": screen.ToProperty{ID: "4"},
		"redemption r-1": screen.ToRedemption{ID: "r-1"},
	} {
		kind, id, _ := strings.Cut(words, " ")
		if got, err := routeTo(kind, id); err != nil || got != want {
			t.Errorf("%s: %v, %v", words, got, err)
		}
	}
}

func TestAllKeyClashesAreNamed(t *testing.T) {
	keys, _, clashes, wrong := registry(session.TUISettings{
		Keys: map[string]session.KeySettings{"record.redeem": {Keys: []string{"j"}},
			"perks.sort": {Keys: []string{"q"}}},
		Commands: []session.CommandSettings{{Key: "space", Name: "Open ticket", Command: []string{"open"}}},
	})
	want := "In tui.keys, space is bound twice: perks.mark, command.1; j is bound twice: list.down, record.redeem; " +
		"q is bound twice: perks.sort, app.quit. These actions have their default keys."
	if wrong != nil || clashes != want || keys.Key(actions.Redeem) != "r" {
		t.Errorf("%q, %q", clashes, wrong)
	}
	taking := map[string]session.KeySettings{"record.redeem": {Keys: []string{"j"}, Override: true}}
	keys, _, clashes, wrong = registry(session.TUISettings{Keys: taking})
	if wrong != nil || clashes != "" || keys.Key(actions.Redeem) != "j" || keys.Key(actions.Down) != "↓" {
		t.Errorf("with override: %q, %q", clashes, wrong)
	}
}
