// Package tuicmd is the tui command: it gives the terminal UI the profiles, secrets and tokens that all commands share, what
// is remembered between its sessions, and its settings from flags, environment and configuration.
//
// It knows nothing of what the terminal UI shows. The terminal UI knows nothing of this package.
package tuicmd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/muesli/termenv"
	"github.com/spf13/cobra"

	_ "example.com/perks/tui/background" // before bubbletea, see there

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/tui"
	"example.com/perks/tui/accessible"
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
	told := newNotices()
	folder, err := folderOf(s)
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
		Notices:  told.texts,
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

// folderOf returns the folder of everything that perksctl keeps.
func folderOf(s *session.Session) (string, error) {
	file, err := s.Config()
	if err != nil {
		return "", err
	}
	return filepath.Dir(string(file)), nil
}
