package perk

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

const propertiesStay = "Updates and deletions of properties cannot be undone: change the properties again, and ask the operator to bring " +
	"deleted ones back, with perksd property restore ID."

// NewUndo makes the command that takes back what perk redeem --file made.
func NewUndo(s *session.Session) *cobra.Command {
	var reason string
	u := &bulk.Undoing{Of: redeemRun, Not: map[string]string{"property update": propertiesStay,
		"property delete": propertiesStay}}
	cmd := session.Writes[bulk.Summary](s, &cobra.Command{
		Use:   "undo {FILE | --job NAME}",
		Short: "Undo a run of perk redeem --file",
		Long: "Undo a run of perk redeem --file: void the redemptions that are approved, and reject those that are pending. Their units\n" +
			"return to the stock, and the users can redeem again. Redemptions of other runs stay. On a terminal, perksctl asks\n" +
			"first; in a script, add --yes.\n\n" +
			"FILE.undo.results.jsonl gets the result of each row. Run the same command again to resume. Exit code 7 says that some\n" +
			"rows were not undone. The run still counts its rows as done: to redeem them again, name another run with --job.\n" +
			"You cannot undo updates and deletions of properties.",
		Example: "  perksctl bulk undo winners.csv --reason 'sent to the wrong list' --dry-run\n" +
			"  perksctl bulk undo --job winners-2026-01-31 --reason 'sent twice' --yes",

		ValidArgsFunction: bulk.CompleteRun(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if problem := api.ReasonRule(reason, true); !cmd.Flags().Changed("reason") {
				return command.Usagef("--reason is missing. Say why, for those who look at the redemptions later.")
			} else if problem != "" {
				return command.Usagef("--reason %s.", problem)
			}
			u.Work = bulk.Work{Name: "bulk undo", Parse: func(row rows.Row) (operation.Task, error) {
				t := &undoTask{reason: reason}
				return t, json.Unmarshal(row.Object, &t.made) // a line of results always is one
			}}
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

// undoTask takes back what a row of a run made.
type undoTask struct {
	made   bulk.Result
	reason string
}

// Subject is the redemption, or the row if nobody knows whether there is one.
func (t *undoTask) Subject() string {
	if t.made.Outcome == bulk.Unknown {
		return t.made.Key
	}
	return api.LowerUUID(t.made.ID)
}

var errRowUnknown = api.Errorf(api.CodeConflict,
	"It is unknown whether this row was redeemed. Resume the run to find out, and undo again.")

// Send voids the redemption, or rejects it if it is pending. Either changes nothing if it is repeated.
func (t *undoTask) Send(ctx context.Context, c *client.Client, _ string) (operation.Outcome, bool, error) {
	if t.made.Outcome == bulk.Unknown {
		return operation.Outcome{}, false, errRowUnknown
	}
	_, _, err := c.Decide(ctx, t.made.ID, api.StatusVoided, t.reason, "")
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusConflict {
		err = t.reject(ctx, c, err)
	}
	return t.outcome(), false, err
}

// reject rejects a redemption that could not be voided if it is pending.
func (t *undoTask) reject(ctx context.Context, c *client.Client, failure error) error {
	record, _, err := c.Redemption(ctx, t.made.ID)
	switch {
	case err != nil || isTakenBack(record):
		return err
	case record.Status != api.StatusPending:
		return failure
	}
	_, _, err = c.Decide(ctx, t.made.ID, api.StatusRejected, t.reason, "")
	if api.CodeOf(err) == api.CodeInsufficientScope { // which does not keep other rows from being voided
		return api.Errorf(api.CodeForbidden,
			"It is pending, and your client may not reject it: that needs the scope %s.", api.ScopeRedemptionsDecide)
	}
	return err
}

func (t *undoTask) outcome() operation.Outcome {
	return operation.Outcome{ID: t.made.ID, Status: http.StatusOK}
}

func isTakenBack(record api.RedemptionRecord) bool {
	return record.Status == api.StatusVoided || record.Status == api.StatusRejected
}

// LookUp finds the redemption taken back, whoever did that.
func (t *undoTask) LookUp(
	ctx context.Context, c *client.Client, _ time.Time, _ func(string) bool,
) (operation.Outcome, operation.Event, error) {
	record, err := t.read(ctx, c)
	switch {
	case err != nil:
		return operation.Outcome{}, operation.Unread, err
	case isTakenBack(record):
		return t.outcome(), operation.Found, nil
	}
	return operation.Outcome{}, operation.Absent, nil
}

func (t *undoTask) read(ctx context.Context, c *client.Client) (api.RedemptionRecord, error) {
	if t.made.Outcome == bulk.Unknown {
		return api.RedemptionRecord{}, errRowUnknown
	}
	record, _, err := c.Redemption(ctx, t.made.ID)
	return record, err
}

// Predict tells what would become of the redemption.
func (t *undoTask) Predict(ctx context.Context, c *client.Client) operation.Prediction {
	record, err := t.read(ctx, c)
	if err != nil {
		return operation.Prediction{Err: err}
	}
	after := api.StatusVoided
	switch {
	case isTakenBack(record):
		return operation.Prediction{Message: "Redemption " + record.ID + " is " + string(record.Status) + " already."}
	case record.Status == api.StatusPending:
		after = api.StatusRejected
	}
	from, _ := json.Marshal(record.Status) // a string always marshals
	to, _ := json.Marshal(after)
	return operation.Prediction{
		Message: "Redemption " + record.ID + " of " + record.PerkID + " by " + record.UserID + " would be " +
			string(after) + ".",
		Changes: []operation.FieldChange{{Field: "status", From: from, To: to}},
	}
}

// After allows a redemption to be taken back twice.
func (t *undoTask) After(int) error { return nil }
