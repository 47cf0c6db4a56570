// Package tuicmd is the tui command: it gives the terminal UI the profiles, secrets and tokens that all commands share, what
// is remembered between its sessions, and its settings from flags, environment and configuration.
//
// It knows nothing of what the terminal UI shows. The terminal UI knows nothing of this package.
package tuicmd

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	_ "example.com/perks/tui/background" // before bubbletea, see there

	"example.com/perks/cli/command"
	"example.com/perks/cli/exit"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/tui"
	"example.com/perks/tui/desktop"
)

type options struct {
	session      *session.Session
	theme        string
	mouse        bool
	listKeys     bool
	sandboxGiven bool
}

// New makes the command.
func New(s *session.Session) *cobra.Command {
	o := &options{session: s}
	cmd := &cobra.Command{
		Use:   "tui",
		Short: "Work in a terminal UI",
		Long: "Work in a terminal UI: find perks, redeem them, and edit properties, with the profiles and secrets of all other\n" +
			"commands. ? shows the keys, ctrl+k finds a command by its name, ctrl+c quits.\n\n" +
			"The theme, the mouse and the keys can be set in config.yaml:\n\n" +
			"  tui:\n" +
			"    theme: light\n" +
			"    mouse: true\n" +
			"    keys:\n" +
			"      record.redeem: [r, f5]\n\n" +
			"--list-keys lists what can stand under keys. --timeout ends each request here, not all of them together.",
		Example: "  perksctl tui\n  perksctl tui --profile staging --theme high-contrast\n  perksctl tui --list-keys",
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.sandboxGiven = cmd.Flags().Changed("sandbox")
			return run(cmd.Context(), o, cmd.Flags().Changed("mouse"))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.theme, "theme", "", "use this `theme`: "+themeNames()+` (default "auto")`)
	flags.BoolVar(&o.mouse, "mouse", false, "use the mouse, which then selects no text")
	flags.BoolVar(&o.listKeys, "list-keys", false, "list the actions and their keys, and end")
	return cmd
}

func run(ctx context.Context, o *options, mouseGiven bool) error {
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
	if mouseGiven {
		settings.mouse = o.mouse
	}
	if err := o.checkPlace(); err != nil {
		return err
	}
	_, err = o.session.Connection()
	var login *exit.NotLoggedIn
	if err != nil && !errors.As(err, &login) {
		return err // such as a profile that does not exist; a login would not help
	}
	return o.show(ctx, settings)
}

// checkPlace refuses what the terminal UI cannot be shown on, and flags that mean nothing to it.
func (o *options) checkPlace() error {
	s := o.session
	switch {
	case !s.Streams.InTTY || !s.Streams.OutTTY:
		return exit.Usagef("The terminal UI needs a terminal to read from and to draw on. In scripts, use commands such as perksctl perk list, " +
			"perksctl perk redeem and perksctl property update.")
	case s.Env("TERM") == "dumb":
		return exit.Usagef("This terminal (TERM=dumb) cannot be drawn on. Use commands such as perksctl perk list and perksctl perk redeem.")
	case s.Flags.Debug && s.Streams.ErrTTY:
		return exit.Usagef("--debug would write over the screen: send it to a file with 2>debug.log.")
	case s.Output.Format != "" || s.Output.JQ != "" || s.Output.Template != "" || len(s.Output.Fields) > 0:
		return exit.Usagef("The terminal UI writes no records: --output, --fields, --jq and --template go with --list-keys alone.")
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
	look, colours := o.look(settings.theme)
	return tui.Run(ctx, in, out, tui.Options{
		Accounts: newAccounts(s, o.sandboxGiven, told),
		Memory:   newMemory(folder, told),
		Desktop:  desktop.New(out, s.Env),
		Theme:    look,
		Colours:  colours,
		Keys:     settings.keys,
		Mouse:    settings.mouse,
		Notices:  told.texts,
		Crash:    func(report string) (string, error) { return keepCrash(folder, s.Version, report) },
	})
}

// folderOf returns the folder of everything that perksctl keeps.
func folderOf(s *session.Session) (string, error) {
	file, err := s.Config()
	if err != nil {
		return "", err
	}
	return filepath.Dir(string(file)), nil
}
