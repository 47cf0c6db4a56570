package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/store"
)

var decidedListing = listing[api.Redemption]{columns: redemptionViewColumns, cells: redemptionCells}

// redemptionDecideCommand is approve or reject.
func (p *program) redemptionDecideCommand(verb, short string, status api.RedemptionStatus) *cobra.Command {
	cmd := &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Long:  short + " and print it. A decision is final; a rejected redemption gives its stock and the user's place back.",
		Args:  arguments("ID"),
	}
	output := outputFlag(cmd, "table", "json")
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.decideRedemption(cmd.Context(), args[0], status, output.value)
	}
	return cmd
}

func (p *program) decideRedemption(ctx context.Context, id string, status api.RedemptionStatus, format string) error {
	return p.withExistingStore(ctx, func(db store.Store) error {
		decided, err := db.DecideRedemption(ctx, api.LowerUUID(id), status, p.operator, p.now())
		if err != nil {
			return err
		}
		if format == "json" {
			return printJSON(p.stdout, decided)
		}
		if err := decidedListing.print(p.stdout, format, each(decided)); err != nil || !p.sandbox {
			return err
		}
		_, err = fmt.Fprintln(p.stdout, "This was done in the sandbox.")
		return err
	})
}
