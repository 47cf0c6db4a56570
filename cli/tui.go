package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muesli/cancelreader"
	"github.com/muesli/termenv"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/tui"
	"example.com/perks/tui/accessible"
	"example.com/perks/tui/actions"
	_ "example.com/perks/tui/background" // before bubbletea, see there
	"example.com/perks/tui/theme"
)

type tuiOptions struct {
	session    *session.Session
	flags      *pflag.FlagSet
	theme      string
	mouse      bool
	accessible bool
	listKeys   bool
}

func newTUI(s *session.Session) *cobra.Command {
	o := &tuiOptions{session: s}
	themes := themeNames()
	cmd := &cobra.Command{
		Use:   "tui",
		Short: "Work in a terminal UI",
		Long: "Work in a terminal UI: find and redeem perks, and edit properties, with the profiles and secrets of all other\n" +
			"commands. ? shows the keys, ctrl+k finds a command, ctrl+c quits.\n\n" +
			"--accessible prints lines instead of drawing, for screen readers and braille displays.\n\n" +
			"You can set these flags, and the keys, in config.yaml too:\n\n" +
			"  tui:\n    theme: light\n    mouse: true\n    accessible: false\n    keys:\n      record.redeem: [r, f5]\n\n" +
			"--list-keys lists the actions and their keys. --timeout limits each request, not the whole session.",
		Example: "  perksctl tui\n  perksctl tui --profile staging --theme high-contrast\n  perksctl tui --list-keys",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runTUI(cmd.Context(), o) },

		// Replaces the root's, which cancels the command on an interrupt.
		PersistentPreRunE: func(*cobra.Command, []string) error { return s.Prepare() },
	}
	o.flags = cmd.Flags()
	o.flags.StringVar(&o.theme, "theme", "", "use this `theme`: "+strings.Join(themes, ", ")+` (default "auto")`)
	o.flags.BoolVar(&o.mouse, "mouse", false, "use the mouse, which then cannot select text")
	o.flags.BoolVar(&o.accessible, "accessible", false, "print lines instead of drawing")
	o.flags.BoolVar(&o.listKeys, "list-keys", false, "list the actions and their keys")
	_ = cmd.RegisterFlagCompletionFunc("theme", completion.Fixed(themes...)) // fails only for a flag that does not exist
	return cmd
}

func themeNames() (names []string) {
	for _, name := range theme.Names() {
		names = append(names, string(name))
	}
	return names
}

func runTUI(ctx context.Context, o *tuiOptions) error {
	s := o.session
	printer, err := output.New[binding](s.Output, s.Streams, output.View{ID: "action"})
	if err != nil {
		return err
	}
	settings, err := o.settings()
	if o.listKeys {
		if err != nil {
			s.Streams.Warn("%s These are the keys without that setting.", err)
		}
		return printer.List(ctx, output.Each(bindings(settings.keys)))
	}
	if err == nil {
		err = o.checkTerminal(settings.accessible)
	}
	if err != nil {
		return err
	}
	if _, err := s.Connection(); err != nil && !errors.As(err, new(*command.NotLoggedIn)) {
		return err // such as an unknown profile: logging in would not help
	}
	return o.show(ctx, settings)
}

// checkTerminal refuses a terminal that the UI cannot be shown on, and flags that mean nothing to it.
func (o *tuiOptions) checkTerminal(accessible bool) error {
	s := o.session
	draws := !accessible
	switch {
	case draws && !(s.Streams.InTTY && s.Streams.OutTTY):
		return command.Usagef("The terminal UI needs a terminal. In scripts, use commands such as perksctl perk list, " +
			"perksctl perk redeem and perksctl property update.")
	case draws && s.Env("TERM") == "dumb":
		return command.Usagef("This terminal (TERM=dumb) cannot be drawn on: use perksctl tui --accessible, which prints lines.")
	case draws && s.Flags.Debug && s.Streams.ErrTTY:
		return command.Usagef("--debug would corrupt the screen: send it to a file with 2>debug.log.")
	case s.Output.Format != "" || s.Output.JQ != "" || s.Output.Template != "" || len(s.Output.Fields) > 0:
		return command.Usagef("--output, --fields, --jq and --template need --list-keys.")
	}
	return nil
}

func (o *tuiOptions) show(ctx context.Context, settings tuiSettings) error {
	s := o.session
	messages, notices := newNotices()
	folder, err := s.Folder()
	if err != nil {
		folder = "" // nothing is saved
	}
	ui := tui.Options{
		Accounts: newAccounts(s, o.flags.Changed("sandbox"), messages),
		Memory:   newMemory(folder, messages),
		Desktop:  tui.NewDesktop(s.Streams.Out, s.Env),
		Theme:    theme.None,
		Colours:  termenv.Ascii,
		Keys:     settings.keys,
		Mouse:    settings.mouse,
		Notices:  notices,
		Crash:    func(report string) (string, error) { return saveCrash(folder, s.Version, report) },
	}
	signals := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signals = append(signals, syscall.SIGHUP)
	}
	if settings.accessible { // in which ctrl+c only cancels a question
		ctx, stop := signal.NotifyContext(ctx, signals...)
		defer stop()
		interrupts := make(chan os.Signal, 1)
		signal.Notify(interrupts, os.Interrupt)
		defer signal.Stop(interrupts)
		return accessible.Run(ctx, s.Streams.In, s.Streams.Out, interrupts, ui)
	}
	ui.Theme, ui.Colours = o.colours(settings.theme)
	ctx, stop := signal.NotifyContext(ctx, append(signals, os.Interrupt)...)
	defer stop()
	return tui.Run(ctx, s.Streams.In, s.Streams.Out, ui)
}

// tuiSettings is what flags and configuration say. The theme is empty if neither names one.
type tuiSettings struct {
	theme      theme.Name
	mouse      bool
	accessible bool
	keys       *actions.Registry
}

// settings reads the configuration, which a process without a home folder does not have. The keys are valid even with an error.
func (o *tuiOptions) settings() (tuiSettings, error) {
	chosen := tuiSettings{mouse: o.mouse, accessible: o.accessible, keys: actions.Default()}
	file, err := o.session.Config()
	if err != nil {
		file = ""
	}
	c, err := file.Load()
	if err != nil {
		return chosen, err
	}
	saved := c.TUI
	if !o.flags.Changed("mouse") {
		chosen.mouse = saved.Mouse
	}
	if !o.flags.Changed("accessible") {
		chosen.accessible = saved.Accessible
	}
	keys, problem := registry(saved.Keys)
	if problem != "" {
		return chosen, command.Usagef("%s: the setting tui.keys is wrong: %s See perksctl tui --list-keys.", file, problem)
	}
	if saved.Theme != "" {
		if chosen.theme, err = theme.Parse(saved.Theme); err != nil {
			return chosen, command.Usagef("%s: the setting tui.theme is wrong: %s.", file, err)
		}
	}
	if o.theme != "" {
		if chosen.theme, err = theme.Parse(o.theme); err != nil {
			return chosen, command.Usagef("--theme: %s.", err)
		}
	}
	chosen.keys = keys
	return chosen, nil
}

// spaceKey is how the space bar is written, which would not be seen as " ".
const spaceKey = "space"

// registry gives the actions their keys. problem is a sentence.
func registry(saved map[string]session.KeySettings) (keys *actions.Registry, problem string) {
	var known []string
	for _, action := range actions.Default().Actions() {
		known = append(known, string(action.ID))
	}
	overrides := map[actions.ID][]string{}
	for _, id := range slices.Sorted(maps.Keys(saved)) {
		if !slices.Contains(known, id) {
			return nil, fmt.Sprintf("there is no action %q.%s", id, command.DidYouMean(id, known))
		}
		overrides[actions.ID(id)] = replaced(saved[id], spaceKey, " ")
	}
	keys, err := actions.NewRegistry(overrides)
	if err != nil {
		return nil, err.Error() + "."
	}
	return keys, ""
}

type binding struct {
	Action string   `json:"action"`
	Keys   []string `json:"keys"`
	Does   string   `json:"does"`
}

func bindings(keys *actions.Registry) []binding {
	var list []binding
	for _, action := range keys.Actions() {
		list = append(list, binding{string(action.ID), replaced(action.Keys, " ", spaceKey), action.Name})
	}
	return list
}

// replaced returns a copy, empty rather than nil, with one key name replaced by another.
func replaced(keys []string, from, to string) []string {
	copied := append([]string{}, keys...)
	for i, key := range copied {
		if key == from {
			copied[i] = to
		}
	}
	return copied
}

// maxNotices is how many wait to be shown; more are dropped.
const maxNotices = 32

// newNotices returns a writer that replaces standard error, which would corrupt the screen: each line becomes a notice of the
// terminal UI. It never fails and never blocks.
func newNotices() (messages io.Writer, notices chan string) {
	notices = make(chan string, maxNotices)
	return command.EachLine(func(line string) {
		if warning, ok := strings.CutPrefix(line, "warning: "); ok {
			line = "Warning: " + warning
		}
		if strings.TrimSpace(line) == "" {
			return
		}
		select {
		case notices <- line:
		default:
		}
	}), notices
}

// saveCrash replaces the last crash report. Only its owner can read it, because it may have what was on the screen.
func saveCrash(folder, version, report string) (string, error) {
	if folder == "" {
		return "", errors.New("there is no folder for it")
	}
	path := filepath.Join(folder, "tui-crash.txt")
	text := fmt.Sprintf("perksctl %s (%s, %s/%s) at %s\n\n%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		time.Now().UTC().Format(time.RFC3339), report)
	return path, command.WritePrivate(path, []byte(text))
}

// colours decides on theme and colours: first --theme, then --no-color, the configuration, NO_COLOR and the like. The terminal is
// asked whether it is light or dark only if none of them decides.
func (o *tuiOptions) colours(chosen theme.Name) (theme.Name, termenv.Profile) {
	s := o.session
	open := chosen == "" || chosen == theme.Auto && o.theme == ""
	switch {
	case o.theme == "" && s.Flags.NoColour, open && !s.Streams.ColourOut, chosen == theme.None:
		return theme.None, termenv.Ascii
	case open || chosen == theme.Auto:
		chosen = theme.Light
		if o.isDark() {
			chosen = theme.Dark
		}
	}
	return chosen, termenv.NewOutput(s.Streams.Out).ColorProfile()
}

// isDark asks the terminal, then the environment. Most terminals are dark, so an unknown one counts as dark.
func (o *tuiOptions) isDark() bool {
	s := o.session
	in, isFile := s.Streams.In.(*os.File)
	if out, ok := s.Streams.Out.(*os.File); ok && isFile {
		if dark, known := parseDarkness(queryTerminal(in, out, queryTime)); known {
			return dark
		}
	}
	_, background, _ := strings.Cut(s.Env("COLORFGBG"), ";")
	colour, err := strconv.Atoi(background[strings.LastIndex(background, ";")+1:])
	return err != nil || colour < 7 || colour == 8
}

// queryTime is how long a terminal may take to reply. Every terminal that replies at all replies to the second query, so only the
// silent ones cost this time.
const queryTime = time.Second

// The queries: the colour of the background (OSC 11), and what the terminal is (DA1).
const (
	queryBackground = "\x1b]11;?\x1b\\"
	queryKind       = "\x1b[c"
)

// queryTerminal returns what the terminal has replied within the time.
func queryTerminal(in, out *os.File, within time.Duration) string {
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
	if _, err := out.WriteString(queryBackground + queryKind); err != nil {
		return ""
	}
	reply, part := "", make([]byte, 256)
	for len(reply) < 4096 {
		n, err := reader.Read(part)
		reply += string(part[:n])
		// The reply to the second query is ESC [ ? numbers c.
		_, kind, begun := strings.Cut(reply, "\x1b[?")
		if err != nil || begun && strings.HasPrefix(strings.TrimLeft(kind, "0123456789;"), "c") {
			break
		}
	}
	return reply
}

// parseDarkness reads a reply such as ESC ] 11 ; rgb:ffff/ffff/ffff ESC \.
func parseDarkness(reply string) (dark, known bool) {
	_, colour, ok := strings.Cut(reply, "\x1b]11;rgb")
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
