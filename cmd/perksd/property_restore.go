package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"example.com/perks/store"
)

func (p *program) propertyCommand() *cobra.Command {
	return group("property", "Mend rental listings", p.propertyRestoreCommand())
}

func (p *program) propertyRestoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore ID",
		Short: "Bring a deleted property back as it was",
		Args:  arguments("ID"),
	}
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || id <= 0 {
			return usagef(cmd, "a property's id is a whole number above 0, not %q", args[0])
		}
		return p.restoreProperty(cmd.Context(), id, output.value)
	}
	return cmd
}

func (p *program) restoreProperty(ctx context.Context, id int64, format string) error {
	return p.withExistingStore(ctx, func(db store.Store) error {
		restored, err := db.RestoreProperty(ctx, id, p.operator, p.now())
		if err != nil {
			return err
		}
		if format == "json" {
			return printJSON(p.stdout, restored)
		}
		_, err = fmt.Fprintf(p.stdout, "Property %d is back. It belongs to client %s.\n", restored.ID, restored.Owner)
		return err
	})
}
