package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/store"
)

var redemptionViewColumns = []string{"ID", "PERK", "USER", "STATUS", "REDEEMED_AT"}

func (p *program) redemptionCommand() *cobra.Command {
	return group("redemption", "See and decide redemptions",
		p.redemptionListCommand(),
		p.redemptionDecideCommand("approve", "Approve a pending redemption", api.StatusApproved),
		p.redemptionDecideCommand("reject", "Reject a pending redemption", api.StatusRejected),
	)
}

func redemptionCells(r api.Redemption) []string {
	return []string{r.ID, r.PerkID, r.UserID, string(r.Status), timeText(r.RedeemedAt)}
}

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
