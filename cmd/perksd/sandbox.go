package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/store"
)

const sandboxFlagName = "sandbox"

// sandboxFlag declares --sandbox for a command that works on either database.
func (p *program) sandboxFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.sandbox, sandboxFlagName, false,
		"work on the sandbox, the database of --sandbox-database, instead of the live one")
}

// acceptSandboxFlag are the commands for the sandbox only, and those that use no database. PERKSD_SANDBOX in the
// environment must not stop them.
var acceptSandboxFlag = []string{"perksd sandbox", "perksd version", "perksd completion"}

// sandboxRefusals are the reasons why commands or groups don't work on the sandbox. The last is for all others.
var sandboxRefusals = []struct{ path, text string }{
	{"perksd serve", "serve uses both databases"},
	{"perksd dev", "dev has a sandbox of its own"},
	{"perksd client", "clients are only in the live database, and may use the sandbox too"},
	{"perksd keys", "signing keys are only in the live database, and sign tokens for the sandbox too"},
	{"perksd property", "the sandbox has no properties"},
	{"perksd import properties", "the sandbox has no properties"},
	{"perksd export properties", "the sandbox has no properties"},
	{"perksd restore", "restore works on the file that --database names, which may be the sandbox's"},
	{"perksd", "this command does not use it"},
}

// addHiddenSandboxFlag makes all other commands parse --sandbox, so that they can refuse it with a reason.
func (p *program) addHiddenSandboxFlag(cmd *cobra.Command) {
	if cmd.Flags().Lookup(sandboxFlagName) == nil {
		p.sandboxFlag(cmd)
		cmd.Flags().Lookup(sandboxFlagName).Hidden = true
	}
	for _, child := range cmd.Commands() {
		p.addHiddenSandboxFlag(child)
	}
}

// checkSandboxFlag refuses --sandbox where it would be ignored. It also refuses --sandbox-database without --sandbox on
// a command line that would change the live database: in the environment it is for all commands, but who types it means
// the sandbox.
func (p *program) checkSandboxFlag(cmd *cobra.Command, databaseTyped bool) error {
	flag := cmd.Flags().Lookup(sandboxFlagName)
	if flag == nil || cmd.HasSubCommands() && flag.Hidden { // a group, or cobra's own commands have no such flag
		return nil
	}
	isBelow := func(path string) bool { return strings.HasPrefix(cmd.CommandPath()+" ", path+" ") }
	accepted := !flag.Hidden
	switch {
	case p.sandbox && !accepted && !slices.ContainsFunc(acceptSandboxFlag, isBelow):
		i := slices.IndexFunc(sandboxRefusals,
			func(refusal struct{ path, text string }) bool { return isBelow(refusal.path) })
		return usagef(cmd, "--sandbox: %s; leave it out, and PERKSD_SANDBOX too", sandboxRefusals[i].text)
	case databaseTyped && accepted && !p.sandbox:
		return usagef(cmd, "--sandbox-database only says where the sandbox is: add --sandbox to work on it, or leave "+
			"both out to work on the live database")
	}
	return nil
}

// ifSandbox returns the words if the command works on the sandbox.
func (p *program) ifSandbox(words string) string {
	if p.sandbox {
		return words
	}
	return ""
}

// target returns the database of --database, or with --sandbox that of --sandbox-database.
func (p *program) target(ctx context.Context) (database, error) {
	live, err := parseDatabase(p.database)
	if err != nil || !p.sandbox {
		return live, err
	}
	if p.sandboxDatabase == "" {
		return nil, command.Usagef("there is no sandbox: name its database with --sandbox-database or " +
			"PERKSD_SANDBOX_DATABASE")
	}
	return p.sandboxBeside(ctx, live)
}

// sandboxBeside returns the database of --sandbox-database, which must not be the live one.
func (p *program) sandboxBeside(ctx context.Context, live database) (sandboxDatabase, error) {
	apart, err := parseDatabase(p.sandboxDatabase)
	if err == nil {
		err = requireApart(ctx, live, apart)
	}
	return sandboxDatabase{apart, live}, err
}

// openStores opens the live database, with standbys at an address unless that is "", and with --sandbox-database the
// sandbox. It refuses one with unsafe settings, or that another server has. end closes what it has opened.
func (p *program) openStores(ctx context.Context, standbys string, allowFsyncOff bool, log *slog.Logger) (
	stores []store.Store, end func() error, err error,
) {
	main, err := parseDatabase(p.database)
	if err == nil && standbys != "" {
		err = readFrom(main, standbys)
	}
	if err != nil {
		return nil, nil, err
	}
	databases := []database{main}
	if p.sandboxDatabase != "" {
		apart, err := p.sandboxBeside(ctx, main)
		if err == nil {
			err = requireNotLive(ctx, apart.database) // before either is migrated
		}
		if err != nil {
			return nil, nil, err
		}
		databases = append(databases, apart)
	}
	for _, db := range databases {
		if err := requireSafeSettings(ctx, db, allowFsyncOff, log); err != nil {
			return nil, nil, err
		}
	}
	var ends []func() error
	end = func() (err error) {
		for _, one := range slices.Backward(ends) {
			err = errors.Join(err, one())
		}
		return err
	}
	for _, db := range databases { // all are marked as served before any is migrated
		endServing, err := db.serve(ctx, log)
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		ends = append(ends, func() error { endServing(); return nil })
	}
	for _, db := range databases {
		opened, err := db.open(ctx, log)
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		stores, ends = append(stores, opened), append(ends, opened.Close)
	}
	return stores, end, nil
}

// sandboxDatabase is the database of --sandbox-database. It can't be opened if it is a live database.
type sandboxDatabase struct {
	database
	live database
}

// open also checks what the database contains. That two addresses lead to different databases doesn't say which is
// which, but a live one has clients and keys.
func (d sandboxDatabase) open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if err := requireNotLive(ctx, d.database); err != nil { // before it is migrated
		return nil, err
	}
	opened, err := d.database.open(ctx, log)
	if err != nil {
		return nil, err
	}
	err = requireApart(ctx, d.live, d.database)
	if err == nil {
		err = requireNotLive(ctx, d.database)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// requireNotLive fails if the database has records that only a live one has.
func requireNotLive(ctx context.Context, sandbox database) error {
	if setUp, err := isSetUp(ctx, sandbox); err != nil || !setUp {
		return err
	}
	found, err := sandbox.liveRecords(ctx)
	if err == nil && found.Any() {
		err = command.Usagef("--sandbox-database names a live database, %s: it has %s, which a sandbox never "+
			"has; if --database and --sandbox-database are swapped, swap them back, else give the sandbox a new "+
			"database", sandbox.name(), found)
	}
	return err
}

// requireApart fails if both addresses lead to the same tables.
func requireApart(ctx context.Context, live, sandbox database) error {
	same, err := haveSameTables(ctx, live, sandbox)
	switch {
	case err != nil:
		return fmt.Errorf("comparing the sandbox with the live database: %w", err)
	case same:
		return command.Usagef("the sandbox needs a database of its own: --sandbox-database names the same one " +
			"as --database")
	}
	return nil
}

func haveSameTables(ctx context.Context, a, b database) (bool, error) {
	for _, db := range []database{a, b} {
		if setUp, err := isSetUp(ctx, db); err != nil || !setUp { // then it has none
			return false, err
		}
	}
	return a.sameAs(ctx, b)
}

func (p *program) sandboxCommand() *cobra.Command {
	return group("sandbox", "Manage the sandbox", p.sandboxResetCommand())
}

func (p *program) sandboxResetCommand() *cobra.Command {
	var refill bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Empty the sandbox",
		Long: "Delete all perks, categories, users, redemptions and idempotency keys of the sandbox, the database\n" +
			"of --sandbox-database, also while servers use it. Its audit log is kept, and records who emptied it,\n" +
			"when, and how much there was.\n\n" +
			"It refuses the live database, by whatever name, and any database with a client, a signing key or a\n" +
			"property. It asks for confirmation on a terminal; elsewhere it needs --yes.",
		Example: "  perksd sandbox reset\n  perksd sandbox reset --yes --demo-data",
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.sandbox = true
			if err := p.resetSandbox(cmd.Context()); err != nil || !refill {
				return err
			}
			return p.fillWithDemoData(cmd.Context(), defaultDemoData)
		},
	}
	p.yesFlag(cmd, "empty the sandbox")
	cmd.Flags().BoolVar(&refill, "demo-data", false,
		"fill it with sample records afterwards, as 'perksd demo-data --sandbox' does")
	return cmd
}

func (p *program) resetSandbox(ctx context.Context) error {
	db, err := p.target(ctx)
	if err != nil {
		return err
	}
	return p.withExistingStore(ctx, func(sandbox store.Store) error {
		if err := p.confirm(ctx,
			"This deletes every perk, category, user and redemption of the sandbox "+db.name()+"."); err != nil {
			return err
		}
		emptied, err := sandbox.Reset(ctx, p.operator, p.now())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Out, "Emptied the sandbox %s of %s.\n", db.name(), emptied)
		return err
	})
}
