package perk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/redemption"
	"example.com/perks/cli/session"
)

type redeemOptions struct {
	session  *session.Session
	perkID   string
	userID   string
	metadata []string
	key      command.IdempotencyKey
	dryRun   bool
	given    []string // the flags on the command line

	assumeMine bool // with --file
	wait       bool
}

// NewRedeem makes the command, which is in the group perk and at the root.
func NewRedeem(s *session.Session) *cobra.Command {
	o := &redeemOptions{session: s}
	file := &bulk.Flags{}
	cmd := session.Writes[api.Redemption](s, &cobra.Command{
		Use:   "redeem {PERK --user USER | --file FILE}",
		Short: "Redeem a perk for a user, or many",
		Long: "Redeem a perk for a user. Each request carries an idempotency key, so that running it again with " +
			"the same\n" +
			"key cannot redeem twice. If the reply is lost, perksctl looks for the redemption in the user's list " +
			"and confirms\n" +
			"it under the key; if the outcome stays unknown, it exits with code 8 and shows the command to run.\n\n" +
			redeemFileHelp,
		Example: "  perksctl perk redeem coffee-2for1 --user alice\n" +
			"  perksctl perk redeem spa-day --user bob --metadata ticket=4711 --metadata channel=phone\n" +
			"  perksctl perk redeem spa-day --user bob --metadata '{\"guests\": 2}'\n" +
			redeemFileExample,
		Args:              command.OrFile(&file.File, command.Exactly("PERK")),
		ValidArgsFunction: completion.InOrder(completion.Perks(s)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file.File == "" && cmd.Flags().Changed("assume-mine") {
				return command.Usagef("--assume-mine needs --file.")
			}
			if err := file.Check(cmd, "user", "metadata", "wait"); err != nil {
				return err
			}
			if file.File != "" {
				return o.runFile(cmd.Context(), *file)
			}
			if o.userID == "" {
				return command.Usagef("--user is missing. Give the id of the user who redeems the perk.")
			}
			var err error
			if o.given, err = o.key.Take(cmd); err != nil {
				return err
			}
			o.perkID, o.dryRun = args[0], file.DryRun
			return runRedeem(cmd.Context(), o)
		},
	})
	flags := cmd.Flags()
	flags.StringVarP(&o.userID, "user", "u", "", "the `id` of the user")
	flags.StringArrayVarP(&o.metadata, "metadata", "m", nil,
		"store this with the redemption: `key=value`, repeatable, or one JSON object")
	completion.Flag(cmd, "user", completion.Users(s))
	o.key.Bind(cmd)
	flags.BoolVar(&o.wait, "wait", false,
		"if the redemption is pending, wait until it is decided; exit with 1 if it is not approved")
	flags.BoolVar(&o.assumeMine, "assume-mine", false,
		"with --file: after a lost reply, count a redemption that is found as this run's, because nobody else "+
			"redeems for these users")
	file.Bind(cmd)
	file.BindResends(cmd)
	return cmd
}

func runRedeem(ctx context.Context, o *redeemOptions) error {
	s := o.session
	printer, err := output.New[api.Redemption](s.Output, s.Streams, output.View{ID: "id"})
	if err != nil {
		return err
	}
	metadata, err := parseMetadata(o.metadata)
	if err != nil {
		return err
	}
	request := api.RedeemRequest{UserID: o.userID, Metadata: metadata}
	if o.dryRun {
		return s.PredictedDryRun(ctx, func(c *client.Client) error {
			_, _, err := c.Redeem(ctx, o.perkID, request, o.key.Value)
			return err
		}, func(c *client.Client, _ int) operation.Prediction {
			t := &redeemTask{newRedeemer(), operation.Redeem{PerkID: o.perkID, Request: request}}
			return t.Predict(ctx, c)
		})
	}
	c, connection, err := s.ConnectToChange(ctx)
	if err != nil {
		return err
	}
	redeeming := operation.NewRedeeming(o.perkID, request, o.key.Value).Send(ctx, c, nil)
	if redeeming.State != operation.Made {
		return o.failure(ctx, c, redeeming)
	}
	o.report(redeeming, connection)
	if err := notInForce(redeeming.Result); err != nil {
		return errors.Join(err, printer.One(ctx, redeeming.Result))
	}
	if !o.wait || redeeming.Result.Status != api.StatusPending {
		return printer.One(ctx, redeeming.Result)
	}
	decided, err := redemption.Await(ctx, s, c, redeeming.Result.ID)
	if decided.ID != "" {
		redeeming.Result = decided.Specified()
	}
	return errors.Join(err, printer.One(ctx, redeeming.Result))
}

func (o *redeemOptions) report(r operation.Redeeming, connection session.Connection) {
	s := o.session.Streams
	if r.Earlier {
		s.Note("The reply was lost; the service confirmed the redemption under its idempotency key.")
	}
	if r.Replayed {
		s.Warn("Nothing was redeemed now: this key was used before, and this is the first response to it.")
		return
	}
	switch r.Result.Status {
	case api.StatusPending:
		s.Note("Redeemed %s for %s at %s; it is pending until someone approves it.", o.perkID, o.userID,
			connection.Target())
	case api.StatusApproved:
		s.Note("Redeemed %s for %s at %s.", o.perkID, o.userID, connection.Target())
	case "":
		s.Note("Redeemed %s for %s at %s. The service gives no status.", o.perkID, o.userID, connection.Target())
	}
}

// codeRejected is the code of a redemption that the service made and rejected at once.
const codeRejected api.Code = "rejected"

// notInForce says why a redemption that the service made is no success; nil if it is one. Some services leave the
// status out. Under one that perksctl doesn't know, the customer may have got something or nothing.
func notInForce(r api.Redemption) error {
	switch r.Status {
	case api.StatusApproved, api.StatusPending, "":
		return nil
	case api.StatusRejected, api.StatusVoided:
		return api.Errorf(codeRejected, "The service rejected the redemption: it has redemption %s with the status %s.",
			r.ID, r.Status)
	}
	return &client.Error{Status: http.StatusCreated, Code: "unknown_status", OutcomeUnknown: true, Message: fmt.Sprintf(
		"The service has redemption %s with the status %q, which perksctl does not know. "+
			"Ask its operator whether the perk is redeemed.", r.ID, r.Status)}
}

func parseMetadata(entries []string) (json.RawMessage, error) {
	metadata, at, err := api.ReadMetadata(entries)
	if err != nil {
		return nil, command.Usagef("--metadata %.60q %s.", entries[at], strings.TrimSuffix(err.Error(), "."))
	}
	return metadata, nil
}

const redeemFileHelp = "With --file, redeem every row of a CSV file or of JSON lines. The columns are perk_id and user_id, or perk and user,\n" +
	"and either metadata, a JSON object, or columns such as metadata.ticket for single members. The other columns " +
	"of an\n" +
	"export of redemptions are ignored. Each row has its own idempotency key, so no row is redeemed twice. If the " +
	"service\n" +
	"has not shown that it honours these keys, a row whose reply is lost is not sent again: it stays unknown, also\n" +
	"if a redemption is found, which may belong to another request. --assume-mine says that nobody else redeems for\n" +
	"these users, and --resend-unknown that it does not matter if one redeems twice.\n\n" + command.FileHelp

const redeemFileExample = "  perksctl perk redeem --file winners.csv --failed again.csv\n" +
	"  perksctl perk redeem --file winners.csv --dry-run\n" +
	"  jq -c '.[] | {perk, user}' orders.json | perksctl perk redeem --file - --results done.jsonl"

func (o *redeemOptions) runFile(ctx context.Context, flags bulk.Flags) error {
	r := newRedeemer()
	r.assumeMine, r.resends = o.assumeMine, flags.Resends
	return bulk.Run(ctx, o.session, flags, r.work())
}

// failure says why nothing was redeemed, or that the outcome is unknown: the server may still process the request, and
// a redemption in the user's list may belong to another request. An interrupted command could not look for one.
func (o *redeemOptions) failure(ctx context.Context, c *client.Client, r operation.Redeeming) error {
	if r.State == operation.NotMade {
		return r.Err
	}
	lost := r.Err
	if ctx.Err() != nil {
		lost = &client.Unreachable{Address: c.BaseURL(), Err: ctx.Err(), OutcomeUnknown: true}
	}
	again := append(o.session.CommandLine("perk", "redeem", o.perkID), o.given...)
	list := o.session.CommandLine("user", "perks", o.userID, "--type", "redeemed")
	advice := command.RetryAdvice(c.HonoursKeys(), "redeemed", command.Quote(again), command.Quote(list))
	if found := r.Candidate; found.ID != "" {
		made := ""
		if !found.RedeemedAt.IsZero() {
			made = ", made " + found.RedeemedAt.UTC().Format(time.RFC3339)
		}
		advice = fmt.Sprintf("%s has redemption %s%s. It may belong to this request or to another.\n",
			o.userID, found.ID, made) + advice
	}
	return &command.Advised{Err: lost, Advice: advice, Retry: command.Quote(again), Key: o.key.Value}
}
