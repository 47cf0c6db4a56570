package cli

import (
	"cmp"
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

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/tui"
	"example.com/perks/tui/accessible"
	"example.com/perks/tui/actions"
	_ "example.com/perks/tui/background" // before bubbletea, see there
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

type tuiOptions struct {
	session    *session.Session
	flags      *pflag.FlagSet
	theme      string
	mouse      bool
	accessible bool
	listKeys   bool
	start      screen.Route // nil is the list of perks
}

// routeTo returns the screen of a record.
func routeTo(kind, id string) (screen.Route, error) {
	if !slices.Contains(tui.Kinds(), kind) {
		return nil, command.Usagef("There is no %q to start with.%s Use %s, with an id.", kind,
			command.DidYouMean(kind, tui.Kinds()), strings.Join(tui.Kinds(), ", "))
	}
	to, why := tui.RouteTo(kind, id)
	if why != "" {
		return nil, command.Usagef("The id %q of a %s %s.", id, kind, why)
	}
	return to, nil
}

func newTUI(s *session.Session) *cobra.Command {
	o := &tuiOptions{session: s}
	themes := api.Texts(theme.Names())
	cmd := session.Command(s, output.View{ID: "action"}, cobra.Command{
		Use:   "tui [KIND ID]",
		Short: "Work in a terminal UI",
		Long: "Work in a terminal UI: find and redeem perks, and edit properties, with the profiles and secrets of\n" +
			"all other commands. ? shows the keys, ctrl+k finds everything, ctrl+c quits. KIND is perk, user,\n" +
			"property or redemption, to start there.\n\n" +
			"--accessible prints lines instead of drawing, for screen readers and braille displays.\n\n" +
			"Theme, mouse, preview, order and columns stay as you left them. Flags and config.yaml win. It can also\n" +
			"change keys and add commands:\n\n" +
			"  tui:\n    theme: light\n    mouse: false\n    accessible: false\n" +
			"    notify: desktop   # or bell: a new redemption waits for approval\n    keys:\n" +
			"      record.redeem: [r, f5]\n" +
			"      perks.sort: {keys: [o], override: true}   # take o from the action that has it\n    commands:\n" +
			"      - {key: ctrl+g, name: Open ticket, command: [open, \"https://tickets.example/{{.ID}}\"]}" +
			"   # .ID, .Kind, .Profile\n\n" +
			"--list-keys lists the actions and their keys. --timeout limits each request, not the whole session.",
		Example: "  perksctl tui\n" +
			"  perksctl tui --profile staging --theme high-contrast\n" +
			"  perksctl tui user alice\n" +
			"  perksctl tui --list-keys",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return command.Exactly("KIND", "ID")(cmd, args)
		},
		ValidArgsFunction: completion.InOrder(completion.Fixed(tui.Kinds()...)),
		// Replaces the root's, which cancels the command on an interrupt.
		PersistentPreRunE: func(*cobra.Command, []string) error { return s.Prepare() },
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[binding]) (err error) {
		if len(args) > 0 {
			if o.start, err = routeTo(args[0], args[1]); err != nil {
				return err
			}
		}
		return runTUI(cmd.Context(), o, printer)
	})
	o.flags = cmd.Flags()
	o.flags.StringVar(&o.theme, "theme", "", "use this `theme`: "+strings.Join(themes, ", ")+` (default "auto")`)
	o.flags.BoolVar(&o.mouse, "mouse", false, "use the mouse; shift selects text then (default true)")
	o.flags.BoolVar(&o.accessible, "accessible", false, "print lines instead of drawing")
	o.flags.BoolVar(&o.listKeys, "list-keys", false, "list the actions and their keys")
	completion.Flag(cmd, "theme", completion.Fixed(themes...))
	return cmd
}

func runTUI(ctx context.Context, o *tuiOptions, printer *output.Printer[binding]) error {
	s := o.session
	settings, err := o.settings()
	if o.listKeys {
		if err != nil {
			s.Streams.Warn("%s These are the keys without that setting.", err)
		}
		if settings.warning != "" {
			s.Streams.Warn("%s", settings.warning)
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
		return command.Usagef("The terminal UI needs a terminal. In scripts, use commands such as " +
			"perksctl perk list, perksctl perk redeem and perksctl property update.")
	case draws && s.Env("TERM") == "dumb":
		return command.Usagef("TERM=dumb cannot show the terminal UI. Try perksctl tui --accessible.")
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
	dir, err := s.Dir()
	if err != nil {
		dir = "" // nothing is saved
	}
	memory := newMemory(dir, messages)
	defer memory.close()
	if settings.warning != "" {
		fmt.Fprintln(messages, "warning: "+settings.warning)
	}
	ui := tui.Options{
		Accounts: &accounts{s, o.flags.Changed("sandbox"), messages},
		Memory:   memory,
		Desktop:  tui.NewDesktop(s.Streams.Out, s.Env),
		Theme:    theme.None,
		Colours:  termenv.Ascii,
		Keys:     settings.keys,
		Commands: settings.commands,
		Start:    o.start,
		Notify:   settings.notify,
		Notices:  notices,
		Crash:    func(report string) (string, error) { return saveCrash(dir, s.Version, report) },
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
	ui.Theme, ui.Colours = o.colours(settings.theme, memory.Setting(screen.SettingTheme))
	ui.Mouse = usesMouse(settings.mouse, memory.Setting(screen.SettingMouse))
	ui.Hint = memory.Setting(screen.SettingHint) == ""
	ctx, interrupts, end := command.HandleInterrupts(ctx)
	defer end()
	ui.Suspend = interrupts.Suspend
	ctx, stop := signal.NotifyContext(ctx, signals...)
	defer stop()
	return tui.Run(ctx, s.Streams.In, s.Streams.Out, ui)
}

// tuiSettings is what flags and configuration say. The theme is empty if neither names one.
type tuiSettings struct {
	theme      theme.Name
	mouse      *bool // nil if neither says
	accessible bool
	notify     tui.Notify
	keys       *actions.Registry
	warning    string // which settings are wrong or clash, in sentences; "" if none
	commands   []*tui.Command
}

// usesMouse decides on the mouse: what flags or configuration say, or as it was last. At first it is on.
func usesMouse(chosen *bool, remembered string) bool {
	if chosen != nil {
		return *chosen
	}
	return remembered != screen.Off
}

// settings reads the configuration, which a process without a home directory does not have. The keys are valid even
// with an error.
func (o *tuiOptions) settings() (tuiSettings, error) {
	chosen := tuiSettings{accessible: o.accessible, keys: actions.Default()}
	file, err := o.session.Config()
	if err != nil {
		file = ""
	}
	c, err := file.Load()
	if err != nil {
		return chosen, err
	}
	saved := c.TUI
	if chosen.mouse = saved.Mouse; o.flags.Changed("mouse") {
		chosen.mouse = &o.mouse
	}
	if !o.flags.Changed("accessible") {
		chosen.accessible = saved.Accessible
	}
	keys, commands, clashes, wrong := registry(saved)
	if saved.Theme != "" {
		if chosen.theme, err = theme.Parse(saved.Theme); err != nil {
			wrong = append(wrong, wrongSetting{[]string{"theme"}, err.Error() + "."})
		}
	}
	if chosen.notify, err = tui.ParseNotify(saved.Notify); err != nil {
		wrong = append(wrong, wrongSetting{[]string{"notify"}, err.Error() + "."})
	}
	if o.theme != "" {
		if chosen.theme, err = theme.Parse(o.theme); err != nil {
			return chosen, command.Usagef("--theme: %s.", err)
		}
	}
	chosen.keys, chosen.commands, chosen.warning = keys, commands, strings.TrimSpace(ignored(file, wrong)+" "+clashes)
	return chosen, nil
}

// wrongSetting is a setting below tui that the terminal UI starts without.
type wrongSetting struct {
	path    []string
	problem string // with its full stop
}

// ignored names all wrong settings with their lines; "" if there are none.
func ignored(file session.ConfigFile, wrong []wrongSetting) string {
	if len(wrong) == 0 {
		return ""
	}
	line := func(w wrongSetting) int { return file.Line(append([]string{"tui"}, w.path...)...) }
	slices.SortStableFunc(wrong, func(w, other wrongSetting) int { return cmp.Compare(line(w), line(other)) })
	text := "Ignored in " + filepath.Base(string(file)) + "."
	for _, w := range wrong {
		text += fmt.Sprintf(" Line %d: %s", line(w), w.problem)
	}
	return text
}

// spaceKey is how the space bar is written, which would not be seen as " ".
const spaceKey = "space"

// registry gives the actions their keys, and reads the user's own commands, without the wrong ones.
// Clashes is a sentence.
func registry(saved session.TUISettings) (
	keys *actions.Registry, commands []*tui.Command, clashes string, wrong []wrongSetting,
) {
	var known []string
	for _, action := range actions.Default().Actions() {
		known = append(known, string(action.ID))
	}
	overrides := map[actions.ID]actions.Override{}
	for _, id := range slices.Sorted(maps.Keys(saved.Keys)) {
		own := actions.Override{Keys: replaced(saved.Keys[id].Keys, spaceKey, " "), Takes: saved.Keys[id].Override}
		_, _, err := actions.Configure(map[actions.ID]actions.Override{actions.ID(id): own})
		switch path := []string{"keys", id}; {
		case !slices.Contains(known, id):
			problem := fmt.Sprintf("there is no action %q.%s", id, command.DidYouMean(id, known))
			wrong = append(wrong, wrongSetting{path, problem})
		case err != nil:
			wrong = append(wrong, wrongSetting{path, err.Error() + "."})
		default:
			overrides[actions.ID(id)] = own
		}
	}
	var own []actions.Action
	for n, c := range saved.Commands {
		action := actions.Command(len(own), replaced([]string{c.Key}, spaceKey, " ")[0], c.Name)
		read, err := tui.NewCommand(c.Command)
		if strings.TrimSpace(c.Name) == "" {
			err = errors.New("it has no name")
		}
		if err == nil {
			_, _, err = actions.Configure(nil, action)
		}
		if err != nil {
			problem := fmt.Sprintf("command %s: %s.", cmp.Or(c.Name, c.Key), err)
			wrong = append(wrong, wrongSetting{[]string{"commands", strconv.Itoa(n)}, problem})
			continue
		}
		own, commands = append(own, action), append(commands, read)
	}
	keys, twice, err := actions.Configure(overrides, own...)
	if err != nil { // of all together, such as when two actions take the keys of one that needs one
		wrong = append(wrong, wrongSetting{[]string{"keys"}, err.Error() + "."})
		return actions.Default(), nil, "", wrong
	}
	if twice != nil {
		clashes = "In tui.keys, " + strings.Join(twice, "; ") + ". These actions have their default keys."
	}
	return keys, commands, clashes, wrong
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

// newNotices returns a writer that replaces standard error, which would corrupt the screen: each line becomes a notice
// of the terminal UI. It never fails and never blocks.
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

// saveCrash replaces the last crash report. Only its owner can read it, because it may hold what the screen showed.
func saveCrash(dir, version, report string) (string, error) {
	if dir == "" {
		return "", errors.New("there is no directory for it")
	}
	path := filepath.Join(dir, "tui-crash.txt")
	text := fmt.Sprintf("perksctl %s (%s, %s/%s) at %s\n\n%s\n", version, runtime.Version(), runtime.GOOS,
		runtime.GOARCH,
		time.Now().UTC().Format(time.RFC3339), report)
	return path, command.WritePrivate(path, []byte(text))
}

// colours decides on theme and colours: first --theme, then --no-color, the configuration, NO_COLOR and the like, and
// the theme that is remembered. The terminal is asked whether it is light or dark only if none of them decides.
func (o *tuiOptions) colours(chosen theme.Name, remembered string) (theme.Name, termenv.Profile) {
	s := o.session
	open := chosen == "" || chosen == theme.Auto && o.theme == ""
	switch {
	case o.theme == "" && s.Flags.NoColour, open && !s.Streams.ColourOut, chosen == theme.None:
		return theme.None, termenv.Ascii
	case chosen == "" && slices.Contains(theme.Names(), theme.Name(remembered)):
		chosen = theme.Name(remembered)
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

// queryTime is how long a terminal may take to reply. Every terminal that replies at all replies to the second query,
// so only the silent ones cost this time.
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
