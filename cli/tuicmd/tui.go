// Package tuicmd is the tui command: it gives the terminal UI the profiles, secrets and tokens that all commands share, what
// is remembered between its sessions, and its settings from flags, environment and configuration.
//
// It knows nothing of what the terminal UI shows. The terminal UI knows nothing of this package.
package tuicmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muesli/cancelreader"
	"github.com/muesli/termenv"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/tui"
	"example.com/perks/tui/accessible"
	"example.com/perks/tui/actions"
	_ "example.com/perks/tui/background" // before bubbletea, see there
	"example.com/perks/tui/widget"
)

type options struct {
	session    *session.Session
	theme      string
	mouse      bool
	accessible bool
	listKeys   bool
	given      func(flag string) bool // tells whether a flag stands on the command line
}

// New makes the command.
func New(s *session.Session) *cobra.Command {
	o := &options{session: s}
	cmd := &cobra.Command{
		Use:   "tui",
		Short: "Work in a terminal UI",
		Long: "Work in a terminal UI: find perks, redeem them, and edit properties, with the profiles and secrets of all other\n" +
			"commands. ? shows the keys, ctrl+k finds a command by its name, ctrl+c quits.\n\n" +
			"--accessible talks in lines instead of drawing, for screen readers and braille lines.\n\n" +
			"These flags, and the keys, can be set in config.yaml too:\n\n" +
			"  tui:\n" +
			"    theme: light\n" +
			"    mouse: true\n" +
			"    accessible: false\n" +
			"    keys:\n" +
			"      record.redeem: [r, f5]\n\n" +
			"--list-keys lists what can stand under keys. --timeout ends each request here, not all of them together.",
		Example: "  perksctl tui\n  perksctl tui --profile staging --theme high-contrast\n  perksctl tui --list-keys",
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.given = cmd.Flags().Changed
			return run(cmd.Context(), o)
		},

		// In the place of the root's, which takes an interrupt for the end of a command.
		PersistentPreRunE: func(*cobra.Command, []string) error { return s.Prepare() },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.theme, "theme", "", "use this `theme`: "+themeNames()+` (default "auto")`)
	flags.BoolVar(&o.mouse, "mouse", false, "use the mouse, which then selects no text")
	flags.BoolVar(&o.accessible, "accessible", false, "talk in lines instead of drawing")
	flags.BoolVar(&o.listKeys, "list-keys", false, "list the actions and their keys, and end")
	return cmd
}

func run(ctx context.Context, o *options) error {
	printer, err := output.New[binding](o.session.Output, o.session.Streams, output.View{ID: "action"})
	if err != nil {
		return err
	}
	settings, err := o.settings()
	if o.listKeys {
		if err != nil {
			o.session.Streams.Warn("%s These are the keys without that setting.", err)
		}
		return printer.List(ctx, output.Each(bindings(settings.keys)))
	}
	if err != nil {
		return err
	}
	if err := o.checkPlace(settings.accessible); err != nil {
		return err
	}
	_, err = o.session.Connection()
	var login *command.NotLoggedIn
	if err != nil && !errors.As(err, &login) {
		return err // such as a profile that does not exist; a login would not help
	}
	return o.show(ctx, settings)
}

// checkPlace refuses what the terminal UI cannot be shown on, and flags that mean nothing to it.
func (o *options) checkPlace(accessible bool) error {
	s := o.session
	draws := !accessible
	switch {
	case draws && !(s.Streams.InTTY && s.Streams.OutTTY):
		return command.Usagef("The terminal UI needs a terminal to read from and to draw on. In scripts, use commands such as perksctl perk list, " +
			"perksctl perk redeem and perksctl property update.")
	case draws && s.Env("TERM") == "dumb":
		return command.Usagef("This terminal (TERM=dumb) cannot be drawn on: use perksctl tui --accessible, which talks in lines.")
	case draws && s.Flags.Debug && s.Streams.ErrTTY:
		return command.Usagef("--debug would write over the screen: send it to a file with 2>debug.log.")
	case s.Output.Format != "" || s.Output.JQ != "" || s.Output.Template != "" || len(s.Output.Fields) > 0:
		return command.Usagef("The terminal UI writes no records: --output, --fields, --jq and --template go with --list-keys alone.")
	}
	return nil
}

func (o *options) show(ctx context.Context, settings settings) error {
	s := o.session
	told, texts := newNotices()
	folder, err := s.Folder()
	if err != nil {
		folder = "" // nothing is remembered
	}
	in, out := s.Streams.In, s.Streams.Out
	ui := tui.Options{
		Accounts: newAccounts(s, o.given("sandbox"), told),
		Memory:   newMemory(folder, told),
		Desktop:  tui.NewDesktop(out, s.Env),
		Theme:    widget.NoTheme,
		Colours:  termenv.Ascii,
		Keys:     settings.keys,
		Mouse:    settings.mouse,
		Notices:  texts,
		Crash:    func(report string) (string, error) { return keepCrash(folder, s.Version, report) },
	}
	if settings.accessible {
		return talk(ctx, in, out, ui)
	}
	ui.Theme, ui.Colours = o.look(settings.theme)
	ctx, stop := signal.NotifyContext(ctx, append(endings(), os.Interrupt)...)
	defer stop()
	return tui.Run(ctx, in, out, ui)
}

// talk lets ctrl+c leave a question, where a terminal does not give it as a key.
func talk(ctx context.Context, in io.Reader, out io.Writer, ui tui.Options) error {
	ctx, stop := signal.NotifyContext(ctx, endings()...)
	defer stop()
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	return accessible.Run(ctx, in, out, interrupts, ui)
}

// endings is the signals after which the terminal has to be given back. One that nohup has switched off stays off.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// look decides about theme and colours: the flag comes first, then --no-color, then the configuration, then NO_COLOR and its
// kind. Only where none of them says anything, the terminal is asked whether it is light or dark.
func (o *options) look(chosen widget.ThemeName) (widget.ThemeName, termenv.Profile) {
	s := o.session
	terminal := termenv.NewOutput(s.Streams.Out)
	open := chosen == "" || chosen == widget.AutoTheme && o.theme == ""
	switch {
	case o.theme == "" && s.Flags.NoColour, open && !s.Streams.ColourOut, chosen == widget.NoTheme:
		return widget.NoTheme, termenv.Ascii
	case open || chosen == widget.AutoTheme:
		chosen = widget.LightTheme
		if o.isDark() {
			chosen = widget.DarkTheme
		}
	}
	return chosen, terminal.ColorProfile()
}

type binding struct {
	Action string   `json:"action"`
	Keys   []string `json:"keys"`
	Does   string   `json:"does"`
}

func bindings(keys *actions.Registry) []binding {
	var list []binding
	for _, action := range keys.Actions() {
		names := []string{}
		for _, key := range action.Keys {
			if key == " " {
				key = blank
			}
			names = append(names, key)
		}
		list = append(list, binding{string(action.ID), names, action.Name})
	}
	return list
}

// unread is how many notices wait at most; those beyond are dropped. Who is told that much reads none of it.
const unread = 32

// newNotices returns a writer in the place of standard error: what is told there, line by line, becomes messages of the terminal
// UI, over whose screen it would be written otherwise. It never fails and never waits.
func newNotices() (told io.Writer, texts chan string) {
	texts = make(chan string, unread)
	return command.EachLine(func(line string) {
		if warning, ok := strings.CutPrefix(line, "warning: "); ok {
			line = "Warning: " + warning
		}
		if strings.TrimSpace(line) == "" {
			return
		}
		select {
		case texts <- line:
		default:
		}
	}), texts
}

// keepCrash keeps the report of a fault in the program, in the place of the last one, where only its owner can read it: it may
// hold what was on the screen.
func keepCrash(folder, version, report string) (string, error) {
	if folder == "" {
		return "", errors.New("there is no folder for it")
	}
	path := filepath.Join(folder, "tui-crash.txt")
	text := fmt.Sprintf("perksctl %s (%s, %s/%s) at %s\n\n%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		time.Now().UTC().Format(time.RFC3339), report)
	return path, command.WritePrivate(path, []byte(text))
}

// answerTime is how long a terminal may take to say what its background is. Every one that answers at all answers the second
// question, so that only those that are silent are waited for.
const answerTime = time.Second

// The questions: which colour is the background (OSC 11), and what are you (DA1).
const (
	askBackground = "\x1b]11;?\x1b\\"
	askKind       = "\x1b[c"
)

// isDark asks the terminal, and otherwise the environment. One of which nothing is known is taken for dark, as most are.
func (o *options) isDark() bool {
	s := o.session
	in, isFile := s.Streams.In.(*os.File)
	if out, ok := s.Streams.Out.(*os.File); ok && isFile {
		if dark, known := darkness(ask(in, out, answerTime)); known {
			return dark
		}
	}
	_, background, _ := strings.Cut(s.Env("COLORFGBG"), ";")
	colour, err := strconv.Atoi(background[strings.LastIndex(background, ";")+1:])
	return err != nil || colour < 7 || colour == 8
}

// ask returns what the terminal answers within the time, as far as it has come.
func ask(in, out *os.File, within time.Duration) string {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return ""
	}
	defer func() { _ = term.Restore(int(in.Fd()), before) }()
	reader, err := cancelreader.NewReader(in)
	if err != nil {
		return ""
	}
	defer reader.Close()
	timer := time.AfterFunc(within, func() { reader.Cancel() })
	defer timer.Stop()
	if _, err := out.WriteString(askBackground + askKind); err != nil {
		return ""
	}
	var answer strings.Builder
	part := make([]byte, 256)
	for answer.Len() < 4096 {
		n, err := reader.Read(part)
		answer.Write(part[:n])
		if err != nil || toldKind(answer.String()) {
			break
		}
	}
	return answer.String()
}

// toldKind tells whether the answer to the second question is complete: ESC [ ? numbers c.
func toldKind(answer string) bool {
	_, kind, began := strings.Cut(answer, "\x1b[?")
	return began && strings.HasPrefix(strings.TrimLeft(kind, "0123456789;"), "c")
}

// darkness reads an answer such as ESC ] 11 ; rgb:ffff/ffff/ffff ESC \.
func darkness(answer string) (dark, known bool) {
	_, colour, ok := strings.Cut(answer, "\x1b]11;rgb")
	if !ok {
		return false, false
	}
	colour = strings.TrimPrefix(strings.TrimPrefix(colour, "a"), ":")
	colour = colour[:len(colour)-len(strings.TrimLeft(colour, "0123456789abcdefABCDEF/"))]
	parts := strings.Split(colour, "/")
	if len(parts) < 3 {
		return false, false
	}
	brightness := 0.0
	for i, weight := range []float64{0.299, 0.587, 0.114} {
		value, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil {
			return false, false
		}
		brightness += weight * float64(value) / float64(uint64(1)<<(4*len(parts[i]))-1)
	}
	return brightness < 0.5, true
}
