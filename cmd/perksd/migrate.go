package main

import (
	"context"
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
		Short: "Make the database, or bring it to the version of this program",
		Long: "Make the database, or bring it to the version of this program, and list its migrations.\n\n" +
			"Other commands do so too when they open the database. With --status nothing is changed.",
		Args: arguments(),
	}
	cmd.Flags().BoolVar(&status, "status", false, "only list the migrations, and which are pending")
	output := outputFlag(cmd, "table", "json", "jsonl")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.migrate(cmd.Context(), status, output.value) }
	return cmd
}

func (p *program) migrate(ctx context.Context, statusOnly bool, format string) error {
	if !statusOnly {
		if err := p.withStore(ctx, func(store.Store) error { return nil }); err != nil {
			return err
		}
	}
	list, err := migrations(ctx, p.database)
	if err != nil {
		return err
	}
	return migrationListing.print(p.stdout, format, each(list...))
}
