package perk

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"example.com/perks/api/client"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

const redeemFileHelp = "With --file, redeem every row of a CSV file or of JSON lines. The columns are perk_id and user_id, or perk and user,\n" +
	"and either metadata, a JSON object, or columns such as metadata.ticket, whose cells are texts. The other columns of\n" +
	"an export of redemptions are passed over. Each row has an idempotency key of its own, so that no row is redeemed\n" +
	"twice. If the service ignores these keys, a redemption found after a lost reply may be somebody else's: the row stays\n" +
	"unknown, unless you say with --assume-mine that nobody else redeems for these users.\n\n" + command.FileHelp

const redeemFileExample = "  perksctl perk redeem --file winners.csv --failed again.csv\n" +
	"  perksctl perk redeem --file winners.csv --dry-run\n" +
	"  jq -c '.[] | {perk, user}' orders.json | perksctl perk redeem --file - --results done.jsonl"

// checkRedeemFile refuses flags that do not go with --file, and those that do not go without it.
func checkRedeemFile(cmd *cobra.Command, flags *bulk.Flags) error {
	if flags.File != "" && cmd.Flags().Changed("idempotency-key") {
		return command.Usagef("--idempotency-key names one request; with --file each row has a key of its own.")
	}
	if flags.File == "" && cmd.Flags().Changed("assume-mine") {
		return command.Usagef("--assume-mine is for a run over many rows; name them with --file.")
	}
	if err := command.NotWithFile(cmd, flags.File, "user", "metadata"); err != nil {
		return err
	}
	return flags.Check(cmd)
}

func runRedeemFile(ctx context.Context, s *session.Session, options bulk.Options, assumeMine bool) error {
	r := newRedeemer(sync.OnceValues(func() (*client.Client, error) {
		c, _, err := s.Connect()
		return c, err
	}))
	r.assumeMine = assumeMine
	return bulk.Run(ctx, s, options, r.work())
}
