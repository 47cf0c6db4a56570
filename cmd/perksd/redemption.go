package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/store"
)

var redemptionTable = table[api.RedemptionRecord]{
	columns: []string{"ID", "PERK", "USER", "STATUS", "REDEEMED_AT", "CLIENT", "ACTOR"},
	cells: func(r api.RedemptionRecord) []string {
		actor := "-"
		if r.Actor != nil {
			actor = *r.Actor
		}
		return []string{r.ID, r.PerkID, r.UserID, string(r.Status), timeText(r.RedeemedAt), r.ClientID, actor}
	},
}

func (p *program) redemptionCommand() *cobra.Command {
	return group("redemption", "List and decide redemptions",
		p.redemptionListCommand(),
		p.redemptionDecideCommand("approve", "Approve a pending redemption", "", api.StatusApproved),
		p.redemptionDecideCommand("reject", "Reject a pending redemption", freesAgain, api.StatusRejected),
		p.redemptionDecideCommand("void", "Take back an approved redemption", freesAgain, api.StatusVoided),
	)
}

func (p *program) redemptionListCommand() *cobra.Command {
	status := &enumFlag{}
	for _, known := range api.RedemptionStatuses() {
		status.allowed = append(status.allowed, string(known))
	}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List redemptions, oldest first",
		Example: "  perksd redemption list --status pending",
		Args:    command.NoArgs,
	}
	cmd.Flags().Var(status, "status", "only redemptions with this status")
	output := outputFlag(cmd, "table", "json", "jsonl")
	p.sandboxFlag(cmd)
	cmd.RunE = p.onStore(func(ctx context.Context, db store.Store, _ []string) error {
		return redemptionTable.print(p.Out, output.value,
			db.ExportRedemptions(ctx, api.RedemptionStatus(status.value)))
	})
	return cmd
}

// freesAgain is what follows from a redemption that is not live any more.
const freesAgain = " That returns its unit to the stock, and the user can redeem again."

func (p *program) redemptionDecideCommand(verb, short, effect string, status api.RedemptionStatus) *cobra.Command {
	cmd := &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Long:  short + ", and print it." + effect + "\nDoing it again changes nothing.",
		Args:  command.Exactly("ID"),
	}
	reason := cmd.Flags().String("reason", "", "why, for the audit log and those who may read the redemption")
	output := outputFlag(cmd, "table", "json")
	p.sandboxFlag(cmd)
	decide := p.onStore(func(ctx context.Context, db store.Store, args []string) error {
		decided, err := db.DecideRedemption(ctx, api.LowerUUID(args[0]),
			store.Decision{Status: status, Reason: *reason}, p.operator, p.now())
		if err != nil {
			return err
		}
		err = redemptionTable.printOne(p.Out, output.value, decided)
		if err == nil && p.sandbox && output.value == "table" {
			_, err = fmt.Fprintln(p.Out, "This was done in the sandbox.")
		}
		return err
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if problem := api.ReasonRule(*reason, false); problem != "" {
			return usagef(cmd, "--reason %s", problem)
		}
		return decide(cmd, args)
	}
	return cmd
}

func (p *program) propertyCommand() *cobra.Command {
	return group("property", "Restore rental listings", p.propertyRestoreCommand())
}

func (p *program) propertyRestoreCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "restore ID", Short: "Restore a deleted property", Args: command.Exactly("ID")}
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || id <= 0 {
			return usagef(cmd, "a property's id is a whole number above 0, not %q", args[0])
		}
		return p.withExistingStore(cmd.Context(), func(db store.Store) error {
			restored, err := db.RestoreProperty(cmd.Context(),
				store.PropertyRestoration{ID: id, By: p.operator, At: p.now()})
			switch {
			case err != nil:
				return err
			case output.value == "json":
				return printJSON(p.Out, restored.PropertyRecord)
			}
			_, err = fmt.Fprintf(p.Out, "Restored property %d. It belongs to client %s.\n", restored.ID,
				restored.Owner)
			return err
		})
	}
	return cmd
}
