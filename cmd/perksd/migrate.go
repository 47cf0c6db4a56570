package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"example.com/perks/store"
)

var migrationListing = listing[migration]{
	columns: []string{"VERSION", "NAME", "APPLIED_AT"},
	cells: func(m migration) []string {
		applied := "pending"
		if m.AppliedAt != nil {
			applied = timeText(*m.AppliedAt)
		}
		return []string{strconv.Itoa(m.Version), m.Name, applied}
	},
}

func (p *program) migrateCommand() *cobra.Command {
	var status bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Prepare the database, or bring it to the version of this program",
		Long: "Prepare the database, or bring it to the version of this program, and list its migrations.\n\n" +
			"A SQLite file that is missing is made; a database of PostgreSQL has to be made with createdb. Of several processes that migrate at once\n" +
			"one does the work and the others wait. With --status nothing is changed.",
		Args: arguments(),
	}
	cmd.Flags().BoolVar(&status, "status", false, "only list the migrations, and which are pending")
	output := outputFlag(cmd, "table", "json", "jsonl")
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.migrate(cmd.Context(), status, output.value) }
	return cmd
}

func (p *program) migrate(ctx context.Context, statusOnly bool, format string) error {
	if !statusOnly {
		if err := p.withStore(ctx, func(store.Store) error { return nil }); err != nil {
			return err
		}
	}
	db, err := p.target(ctx)
	if err != nil {
		return err
	}
	list, err := db.migrations(ctx)
	if err != nil {
		return err
	}
	if err := migrationListing.print(p.stdout, format, each(list...)); err != nil || !p.sandbox || format != "table" {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "This is the sandbox %s.\n", db.name())
	return err
}
