package main

import (
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
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !status {
			if err := p.withStore(cmd.Context(), func(store.Store) error { return nil }); err != nil {
				return err
			}
		}
		db, err := p.target(cmd.Context())
		if err != nil {
			return err
		}
		list, err := db.migrations(cmd.Context())
		if err != nil {
			return err
		}
		err = migrationListing.print(p.stdout, output.value, each(list...))
		if err == nil && p.sandbox && output.value == "table" {
			_, err = fmt.Fprintf(p.stdout, "This is the sandbox %s.\n", db.name())
		}
		return err
	}
	return cmd
}
