// Command perksd is the server, and the operator's tools, which use the database directly: they manage clients and
// keys, import and export records, decide redemptions and read the audit log.
//
// Each command is in the file of its noun. Only database.go and backup.go know which databases there are.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/store"
)

func main() { newProgram().main() }

// newProgram returns the program in the environment of this process.
func newProgram() *program {
	return &program{
		Streams: *command.SystemStreams(), getenv: os.Getenv, now: time.Now,
		newID:    func() string { return uuid.Must(uuid.NewV7()).String() },
		random:   rand.Reader,
		operator: currentOperator(os.Getenv),
		every: func(d time.Duration) (<-chan time.Time, func()) {
			ticker := time.NewTicker(d)
			return ticker.C, ticker.Stop
		},
		reloads: func() (<-chan os.Signal, func()) {
			came := make(chan os.Signal, 1)
			signal.Notify(came, syscall.SIGHUP)
			return came, func() { signal.Stop(came) }
		},
	}
}

func (p *program) main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal, restore the default handling, so that a second one ends a program that drains too slowly.
	context.AfterFunc(ctx, stop)
	os.Exit(p.run(ctx, os.Args[1:]))
}

// program is the environment of the commands. Tests replace it.
type program struct {
	command.Streams
	getenv   func(string) string // "" for an unset variable
	now      func() time.Time
	newID    func() string
	random   io.Reader   // for secrets
	operator store.Actor // who runs the command
	every    func(time.Duration) (ticks <-chan time.Time, stop func())
	reloads  func() (came <-chan os.Signal, stop func())

	database        string // --database
	sandboxDatabase string // --sandbox-database
	sandbox         bool   // --sandbox
	yes             bool   // --yes
}

// run executes a command line and returns its exit code. When ctx ends, a server drains, and other commands stop.
func (p *program) run(ctx context.Context, args []string) int {
	if p.OutTTY { // files and pipes get the exact output
		p.Out = display.Writer(p.Out)
	}
	if p.ErrTTY {
		p.Err = display.Writer(p.Err)
	}
	root := p.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return command.ExitOK
	}
	fmt.Fprintln(p.Err, "perksd:", display.Text(command.Plain(err)))
	if errors.As(err, new(*command.UsageError)) {
		return command.ExitUsage
	}
	return command.ExitFailed
}

// databaseHelp explains --database.
const databaseHelp = "The database is a SQLite file, sqlite:PATH, or a PostgreSQL database,\n" +
	"postgres://USER@HOST:PORT/DATABASE, which createdb has to create first. What a PostgreSQL address leaves out\n" +
	"comes from the same sources as for psql: PGHOST, PGUSER, PGPASSWORD, PGSSLROOTCERT and so on, and ~/.pgpass.\n" +
	"Keep passwords there, because other users can read a command line. Name several hosts, HOST1,HOST2, to follow\n" +
	"a failover; behind a transaction pooler such as PgBouncer, add ?default_query_exec_mode=simple_protocol.\n\n" +
	"The commands serve, migrate, import, demo-data and client create set up an empty database, and migrate an\n" +
	"older one to this program's version. All others refuse both, and don't change the database."

func (p *program) root() *cobra.Command {
	root := group("perksd", "Serve perks and rental listings, and operate the service",
		p.serveCommand(), p.healthCommand(), p.doctorCommand(), p.migrateCommand(), p.clientCommand(),
		p.importCommand(), p.exportCommand(), p.redemptionCommand(),
		p.propertyCommand(), p.auditCommand(), p.keysCommand(), p.demoDataCommand(), p.devCommand(), p.backupCommand(),
		p.restoreCommand(),
		p.sandboxCommand(), p.versionCommand(), p.completionCommand(),
	)
	root.Long = "Serve perks and rental listings, and operate the service.\n\n" +
		"The name in brackets after a flag is the environment variable that sets it; the flag wins.\n\n" + databaseHelp
	root.Version = api.Build().Version
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.SetFlagErrorFunc(command.FlagError)
	command.SetHelp(root, "")
	root.PersistentFlags().StringVar(&p.database, "database", "sqlite:perks.db",
		"the database's `ADDRESS`: sqlite:PATH or postgres://USER@HOST/DATABASE")
	root.PersistentFlags().StringVar(&p.sandboxDatabase, "sandbox-database", "",
		"the `ADDRESS` of the sandbox's database; without one there is no sandbox")
	p.addHiddenSandboxFlag(root)
	nameVariables(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		sandboxDatabaseTyped := cmd.Flags().Changed("sandbox-database")
		if err := readVariables(cmd, p.getenv, p.Err); err != nil {
			return err
		}
		return p.checkSandboxFlag(cmd, sandboxDatabaseTyped)
	}
	return root
}

// usagef is command.Usagef with a pointer to the command's help.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return command.Usagef(format+" (see '%s --help')", append(args, cmd.CommandPath())...)
}

// group is command.Group whose command must be named: without one it would succeed, which hides mistakes in scripts.
func group(name, short string, members ...*cobra.Command) *cobra.Command {
	cmd := command.Group(cobra.Command{Use: name, Short: short}, members...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return command.Usagef("A command is missing. Run %s --help for the commands.", cmd.CommandPath())
		}
		return nil
	}
	return cmd
}

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "PERKSD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// hasVariable reports whether the environment may set the flag: those of serve, also where health has them, and those
// that choose the database. A variable for any other flag would change or break every command with a flag of that name.
func hasVariable(cmd *cobra.Command, f *pflag.Flag) bool {
	switch f.Name {
	case "help", "version":
		return false
	case "database", "sandbox-database", sandboxFlagName:
		return true
	}
	return cmd.CommandPath() == "perksd serve" || cmd.CommandPath() == "perksd health"
}

// nameVariables adds the variables to the help of flags, before cobra adds flags without one, such as --help.
func nameVariables(cmd *cobra.Command) {
	name := func(f *pflag.Flag) {
		if hasVariable(cmd, f) {
			f.Usage += " [" + variable(f.Name) + "]"
		}
	}
	cmd.PersistentFlags().VisitAll(name)
	cmd.LocalNonPersistentFlags().VisitAll(name)
	for _, child := range cmd.Commands() {
		nameVariables(child)
	}
}

// readVariables sets each flag that isn't on the command line from its variable. It warns of a variable that it
// ignores, because somebody may rely on it.
func readVariables(cmd *cobra.Command, getenv func(string) string, warnings io.Writer) error {
	var problem error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := getenv(variable(f.Name))
		switch {
		case problem != nil || f.Changed || value == "" || f.Name == "yes": // --yes never had a variable
		case !hasVariable(cmd, f):
			fmt.Fprintf(warnings, "perksd: %s is ignored; use --%s\n", variable(f.Name), f.Name)
		default:
			if err := cmd.Flags().Set(f.Name, value); err != nil {
				problem = usagef(cmd, "the environment variable %s is not valid: %s", variable(f.Name),
					command.ExplainFlag(err))
			}
		}
	})
	return problem
}

// completionCommand replaces cobra's, which prints help and succeeds if no shell is named.
func (p *program) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use:       "completion " + strings.Join(shells, "|"),
		Short:     "Print a shell's completion script",
		Example:   "  perksd completion bash > /etc/bash_completion.d/perksd",
		Args:      command.Exactly("SHELL"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(p.Out, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(p.Out)
			case "fish":
				return cmd.Root().GenFishCompletion(p.Out, true)
			}
			return usagef(cmd, "there is no script for %q; the shells are %s", args[0], strings.Join(shells, ", "))
		},
	}
}

func (p *program) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version and the commit",
		Example: "  perksd version\n  perksd version -o json",
		Args:    command.NoArgs,
	}
	output := outputFlag(cmd, "text", "json")
	cmd.RunE = func(*cobra.Command, []string) error {
		if output.value == "json" {
			return printJSON(p.Out, api.Build())
		}
		_, err := fmt.Fprintln(p.Out, api.Build().Line("perksd"))
		return err
	}
	return cmd
}
