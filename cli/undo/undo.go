// Package undo is the command that takes back what a run with --file has done.
package undo

import (
	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/perk"
	"example.com/perks/cli/property"
	"example.com/perks/cli/session"
)

// New makes the command.
func New(s *session.Session) *cobra.Command {
	var reason string
	u := &bulk.Undo{}
	cmd := session.Writes[bulk.Summary](s, &cobra.Command{
		Use:   "undo {FILE | --job NAME}",
		Short: "Undo a run with --file",
		Long: "Undo a run with --file: change properties and perks back, delete the properties that it created, " +
			`and restore those
that it deleted; a perk that it created stays. Void the redemptions that are approved, and reject those that are
pending: their units return to the stock, and the users can redeem again. On a terminal, perksctl asks first; in a
script, add --yes.

What somebody else changed since the run stays: the row fails, and says what the run left and what is there now.
Exit code 7 says that some rows were not undone. FILE.undo.results.jsonl gets the result of each row. Run the same
command again to resume. The run still counts its rows as done: to carry them out again, name another run with
--job.

You can undo an undo: perksctl bulk undo FILE.undo. A redemption that was voided or rejected stays so.`,
		Example: "  perksctl bulk undo prices.csv --dry-run\n" +
			"  perksctl bulk undo winners.csv --reason 'sent to the wrong list'\n" +
			"  perksctl bulk undo --job winners-2026-01-31 --reason 'sent twice' --yes",

		ValidArgsFunction: bulk.CompleteRun(),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.Check = func(done bulk.Actions) error { return check(done, reason, cmd.Flags().Changed("reason")) }
			ofProperty, ofPerk := property.Kind.Undo(), perk.Kind.Undo()
			u.Task = func(made bulk.Result) (operation.Task, error) {
				switch {
				case made.Outcome == bulk.Unknown:
					return nil, errRowUnknown
				case made.Action == operation.Redeemed:
					return &redemption{made, reason}, nil
				case made.Kind == perk.Kind.InResults:
					return ofPerk(made)
				}
				return ofProperty(made)
			}
			return u.Run(cmd.Context(), s, cmd, args)
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&reason, "reason", "", "why, for those who look at the redemption later")
	flags.BoolVar(&u.DryRun, "dry-run", false, "show what each row would do; change nothing")
	flags.BoolVarP(&u.Yes, "yes", "y", false, "do not ask")
	u.Bind(cmd)
	return cmd
}

var errRowUnknown = api.Errorf(api.CodeConflict,
	"It is unknown whether this row was done. Resume the run to find out, and undo again.")

// check refuses what cannot be undone, and redemptions without a reason.
func check(done bulk.Actions, reason string, isGiven bool) error {
	switch problem := api.ReasonRule(reason, true); {
	case done[operation.Voided]+done[operation.Rejected] > 0:
		return command.Usagef("Redemptions that were voided or rejected stay so: an undo cannot bring them back. " +
			"To redeem the rows again, give the run another name: --job NAME")
	case done[operation.Redeemed] == 0:
	case !isGiven:
		return command.Usagef("--reason is missing. Say why, for those who look at the redemptions later.")
	case problem != "":
		return command.Usagef("--reason %s.", problem)
	}
	return nil
}
