package main

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/store"
)

var redemptionListing = listing[store.RedemptionRecord]{
	columns: append(redemptionViewColumns, "CLIENT"),
	cells:   func(r store.RedemptionRecord) []string { return append(redemptionCells(r.Redemption), r.ClientID) },
}

func (p *program) redemptionListCommand() *cobra.Command {
	status := &choice{allowed: []string{string(api.StatusPending), string(api.StatusApproved), string(api.StatusRejected)}}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List redemptions, in the order of their ids, which is that of their making",
		Example: "  perksd redemption list --status pending",
		Args:    arguments(),
	}
	cmd.Flags().Var(status, "status", "only those with this status")
	output := outputFlag(cmd, "table", "json", "jsonl")
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.listRedemptions(cmd.Context(), api.RedemptionStatus(status.value), output.value)
	}
	return cmd
}

func (p *program) listRedemptions(ctx context.Context, status api.RedemptionStatus, format string) error {
	return p.withExistingStore(ctx, func(db store.Store) error {
		return redemptionListing.print(p.stdout, format, db.ExportRedemptions(ctx, status))
	})
}
