package main

import (
	"github.com/spf13/cobra"

	"example.com/perks/api"
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
