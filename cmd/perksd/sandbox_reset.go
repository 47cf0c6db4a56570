package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/store"
)

func (p *program) sandboxCommand() *cobra.Command {
	return group("sandbox", "Look after the sandbox", p.sandboxResetCommand())
}

func (p *program) sandboxResetCommand() *cobra.Command {
	var yes, refill bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Empty the sandbox, so that trials begin anew",
		Long: "Empty the sandbox, the database of --sandbox-database: all of its perks, categories, users, redemptions and idempotency keys go at once,\n" +
			"beside servers that answer from it. Its audit log stays, and says who emptied it when, and how much there was.\n\n" +
			"A database that is the live one by whatever name is refused, and so is one that has a client, a signing key or a property.\n" +
			"On a terminal it asks first; elsewhere it needs --yes.",
		Example: "  perksd sandbox reset\n  perksd sandbox reset --yes --demo-data",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes && !p.canAsk {
				return usagef(cmd, "there is nobody to ask here whether the sandbox may be emptied: add --yes")
			}
			p.sandbox = true
			if err := p.resetSandbox(cmd.Context(), yes); err != nil || !refill {
				return err
			}
			return p.fillWithDemoData(cmd.Context(), defaultDemoData.withoutProperties())
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&refill, "demo-data", false, "fill it with sample records afterwards, as 'perksd demo-data --sandbox' does")
	return cmd
}

func (p *program) resetSandbox(ctx context.Context, yes bool) error {
	db, err := p.target(ctx)
	if err != nil {
		return err
	}
	return p.withExistingStore(ctx, func(sandbox store.Store) error {
		if !yes {
			question := fmt.Sprintf("This deletes every perk, category, user and redemption of the sandbox %s.", db.name())
			if err := p.confirm(ctx, question); err != nil {
				return err
			}
		}
		emptied, err := sandbox.Reset(ctx, p.operator, p.now())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "Emptied the sandbox %s of %s.\n", db.name(), emptied)
		return err
	})
}
