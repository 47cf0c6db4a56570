package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"example.com/perks/api/build"
	"example.com/perks/api/display"
	"example.com/perks/cli/usage"
	"example.com/perks/store"
)

// The exit codes mean the same as those of perksctl.
const (
	exitDone    = 0
	exitFailure = 1 // the command failed, or rows of a file are not valid
	exitUsage   = 2 // the command line, a variable or a file as a whole is wrong; nothing was done
)

// program is what the commands need of the world. Tests give them another world.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string // "" for a variable that is not set
	now            func() time.Time
	newID          func() string
	random         io.Reader   // for secrets
	operator       store.Actor // who types
	every          func(time.Duration) (ticks <-chan time.Time, stop func())
	hangUps        func() (came <-chan os.Signal, stop func())

	canAsk          bool   // there is a person who sees stderr and types into stdin
	database        string // --database
	sandboxDatabase string // --sandbox-database
	sandbox         bool   // --sandbox: work on that one
}

// run carries out one command line and returns its exit code. When ctx ends, a server drains and anything else gives up.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{
		stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv,
		now:      time.Now,
		newID:    func() string { return uuid.Must(uuid.NewV7()).String() },
		random:   rand.Reader,
		operator: whoOperates(getenv),
		every:    everyTime,
		hangUps: func() (<-chan os.Signal, func()) {
			came := make(chan os.Signal, 1)
			signal.Notify(came, syscall.SIGHUP)
			return came, func() { signal.Stop(came) }
		},
	}
	return p.run(ctx, args)
}

func (p *program) run(ctx context.Context, args []string) int {
	p.canAsk = isTerminal(p.stdin) && isTerminal(p.stderr)
	p.stdout, p.stderr = neutral(p.stdout), neutral(p.stderr)
	root := p.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(p.stderr, "perksd:", display.Text(usage.AboutFile(err)))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailure
}

// neutral strips from what is written to a terminal all that could control it. Files and pipes get everything as it is.
func neutral(out io.Writer) io.Writer {
	if isTerminal(out) {
		return display.Writer(out)
	}
	return out
}

// databaseHelp says what --database takes.
const databaseHelp = "The database is a SQLite file, sqlite:PATH, or one of PostgreSQL, postgres://USER@HOST:PORT/DATABASE, which has to be made with createdb first.\n" +
	"What an address of PostgreSQL leaves out comes from where psql takes it: PGHOST, PGUSER, PGPASSWORD, PGSSLROOTCERT and the like, and ~/.pgpass.\n" +
	"Passwords are best kept there: others on the machine can read a command line. Several hosts, HOST1,HOST2, follow a failover;\n" +
	"behind a pooler of transactions, such as PgBouncer, add ?default_query_exec_mode=simple_protocol.\n\n" +
	"The commands serve, migrate, import, demo-data and client create prepare an empty database and bring an older one to this program's version.\n" +
	"All others refuse both, and leave the database as it is."

func (p *program) root() *cobra.Command {
	root := group("perksd", "Serve perks and rental listings, and operate the service",
		p.serveCommand(),
		p.migrateCommand(),
		p.clientCommand(),
		p.importCommand(),
		p.exportCommand(),
		p.redemptionCommand(),
		p.propertyCommand(),
		p.auditCommand(),
		p.keysCommand(),
		p.demoDataCommand(),
		p.backupCommand(),
		p.restoreCommand(),
		p.sandboxCommand(),
		p.versionCommand(),
		p.completionCommand(),
		p.manCommand(),
	)
	root.Long = "Serve perks and rental listings, and operate the service.\n\n" +
		"The name in brackets behind a flag is an environment variable that sets it; the flag wins.\n\n" + databaseHelp
	root.Version = build.Read().Version
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(misused)
	root.PersistentFlags().StringVar(&p.database, "database", "sqlite:perks.db", "the database's `ADDRESS`: sqlite:PATH or postgres://USER@HOST/DATABASE")
	root.PersistentFlags().StringVar(&p.sandboxDatabase, "sandbox-database", "", "the `ADDRESS` of the database behind the sandbox addresses; without one they are not there")
	p.catchSandboxFlag(root)
	nameVariables(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		sandboxDatabaseTyped := cmd.Flags().Changed("sandbox-database")
		if err := readVariables(cmd, p.getenv, p.stderr); err != nil {
			return err
		}
		return p.checkSandboxFlag(cmd, sandboxDatabaseTyped)
	}
	return root
}
