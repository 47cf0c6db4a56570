package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitDone    = 0
	exitFailure = 1
	exitUsage   = 2
)

// program is what the commands need of the world. Tests give them another world.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string // "" for a variable that is not set
	now            func() time.Time
	newID          func() string
	random         io.Reader // for secrets

	database string // --database
}

// run carries out one command line and returns its exit code. When ctx ends, a server drains and anything else gives up.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{
		stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv,
		now:    time.Now,
		newID:  func() string { return uuid.Must(uuid.NewV7()).String() },
		random: rand.Reader,
	}
	return p.run(ctx, args)
}

func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(p.stderr, "perksd:", err)
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailure
}

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
	)
	root.Long = "Serve perks and rental listings, and operate the service.\n\n" +
		"Every flag can be given in the environment too, under the name in brackets; the flag wins."
	root.Version = version
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usagef(cmd, "%w", err) })
	root.PersistentFlags().StringVar(&p.database, "database", "sqlite:perks.db", "the database: `sqlite:PATH`")
	nameVariables(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return readVariables(cmd, p.getenv) }
	return root
}
