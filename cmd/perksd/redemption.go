package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/store"
)

var decidedTable = table[api.Redemption]{
	columns: []string{"ID", "PERK", "USER", "STATUS", "REDEEMED_AT"},
	cells: func(r api.Redemption) []string {
		return []string{r.ID, r.PerkID, r.UserID, string(r.Status), timeText(r.RedeemedAt)}
	},
}

var redemptionTable = table[store.RedemptionRecord]{
	columns: append(decidedTable.columns, "CLIENT"),
	cells:   func(r store.RedemptionRecord) []string { return append(decidedTable.cells(r.Redemption), r.ClientID) },
}

func (p *program) redemptionCommand() *cobra.Command {
	return group("redemption", "List and decide redemptions",
		p.redemptionListCommand(),
		p.redemptionDecideCommand("approve", "Approve a pending redemption", api.StatusApproved),
		p.redemptionDecideCommand("reject", "Reject a pending redemption", api.StatusRejected),
	)
}

func (p *program) redemptionListCommand() *cobra.Command {
	status := &enumFlag{allowed: []string{string(api.StatusPending), string(api.StatusApproved), string(api.StatusRejected)}}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List redemptions, oldest first",
		Example: "  perksd redemption list --status pending",
		Args:    arguments(),
	}
	cmd.Flags().Var(status, "status", "only redemptions with this status")
	output := outputFlag(cmd, "table", "json", "jsonl")
	p.sandboxFlag(cmd)
	cmd.RunE = p.onStore(func(ctx context.Context, db store.Store, _ []string) error {
		return redemptionTable.print(p.stdout, output.value, db.ExportRedemptions(ctx, api.RedemptionStatus(status.value)))
	})
	return cmd
}

func (p *program) redemptionDecideCommand(verb, short string, status api.RedemptionStatus) *cobra.Command {
	cmd := &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Long:  short + ", and print it. A decision is final; rejecting frees the stock, and lets the user redeem again.",
		Args:  arguments("ID"),
	}
	output := outputFlag(cmd, "table", "json")
	p.sandboxFlag(cmd)
	cmd.RunE = p.onStore(func(ctx context.Context, db store.Store, args []string) error {
		decided, err := db.DecideRedemption(ctx, api.LowerUUID(args[0]), status, p.operator, p.now())
		if err != nil {
			return err
		}
		err = decidedTable.printOne(p.stdout, output.value, decided)
		if err == nil && p.sandbox && output.value == "table" {
			_, err = fmt.Fprintln(p.stdout, "This was done in the sandbox.")
		}
		return err
	})
	return cmd
}

func (p *program) propertyCommand() *cobra.Command {
	return group("property", "Restore rental listings", p.propertyRestoreCommand())
}

func (p *program) propertyRestoreCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "restore ID", Short: "Restore a deleted property", Args: arguments("ID")}
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || id <= 0 {
			return usagef(cmd, "a property's id is a whole number above 0, not %q", args[0])
		}
		return p.withExistingStore(cmd.Context(), func(db store.Store) error {
			restored, err := db.RestoreProperty(cmd.Context(), id, p.operator, p.now())
			switch {
			case err != nil:
				return err
			case output.value == "json":
				return printJSON(p.stdout, restored)
			}
			_, err = fmt.Fprintf(p.stdout, "Restored property %d. It belongs to client %s.\n", restored.ID, restored.Owner)
			return err
		})
	}
	return cmd
}
