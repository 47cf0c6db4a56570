package perk

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type redeemOptions struct {
	session  *session.Session
	perkID   string
	userID   string
	metadata []string
	key      string
	dryRun   bool

	assumeMine bool // with --file
}

func newRedeem(s *session.Session) *cobra.Command {
	o := &redeemOptions{session: s}
	file := &bulk.Flags{}
	cmd := &cobra.Command{
		Use:   "redeem {PERK --user USER | --file FILE}",
		Short: "Redeem a perk for a user, or many",
		Long: "Redeem a perk for a user. Each request carries an idempotency key, so that running it again with the same\n" +
			"key cannot redeem twice. If the reply is lost, perksctl looks for the redemption in the user's list and confirms\n" +
			"it under the key; if the outcome stays unknown, it exits with code 8 and shows the command to run.\n\n" + redeemFileHelp,
		Example: "  perksctl perk redeem coffee-2for1 --user alice\n" +
			"  perksctl perk redeem spa-day --user bob --metadata ticket=4711 --metadata channel=phone\n" +
			"  perksctl perk redeem spa-day --user bob --metadata '{\"guests\": 2}'\n" +
			redeemFileExample,
		Args: command.OrFile(&file.File, command.Exactly("PERK")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkRedeemFile(cmd, file); err != nil {
				return err
			}
			if file.File != "" {
				return runRedeemFile(cmd.Context(), s, bulk.Options{Flags: *file, DryRun: o.dryRun}, o.assumeMine)
			}
			o.perkID = args[0]
			if o.userID == "" {
				return command.Usagef("--user is missing: say for whom the perk is redeemed.")
			}
			if o.key == "" && cmd.Flags().Changed("idempotency-key") {
				return command.Usagef("--idempotency-key must not be empty; leave it out for a new one.")
			}
			if problem := api.IdempotencyKeyRule(o.key); problem != "" {
				return command.Usagef("--idempotency-key %s.", problem)
			}
			if o.key == "" {
				o.key = uuid.NewString()
			}
			return runRedeem(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.userID, "user", "u", "", "the `id` of the user")
	flags.StringArrayVarP(&o.metadata, "metadata", "m", nil, "keep this with the redemption: `key=value`, repeatable, or one JSON object")
	flags.StringVar(&o.key, "idempotency-key", "", "name for this request; the same again is answered the same (default a new UUID)")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the request and what it would do, or with --file what each row would do; change nothing")
	flags.BoolVar(&o.assumeMine, "assume-mine", false, "with --file: count a redemption found after a lost reply as this run's, because nobody else redeems for these users")
	file.Bind(cmd)
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
		return s.RehearseWith(ctx, func(c *client.Client) error {
			_, _, err := c.Redeem(ctx, o.perkID, request, o.key)
			return err
		}, func(c *client.Client, _ int) (string, []session.Change, error) {
			return o.task(c, request).Check(ctx)
		})
	}
	c, connection, err := s.Connect()
	if err != nil {
		return err
	}
	redeeming := client.Redeeming{PerkID: o.perkID, Request: request, Key: o.key}.Send(ctx, c, nil)
	if redeeming.Known != client.Redeemed {
		return o.failure(ctx, c, redeeming)
	}
	o.tell(redeeming, connection)
	return printer.One(ctx, redeeming.Redemption)
}

// task is the same as a row of a file would be.
func (o *redeemOptions) task(c *client.Client, request api.RedeemRequest) *redeemTask {
	r := newRedeemer(func() (*client.Client, error) { return c, nil })
	return &redeemTask{r, redeemRow{o.perkID, request}}
}

func (o *redeemOptions) tell(r client.Redeeming, connection session.Connection) {
	s := o.session.Streams
	if r.Earlier {
		s.Note("The reply was lost; the service confirmed the redemption under its idempotency key.")
	}
	if r.Replayed {
		s.Warn("Nothing was redeemed now: this key was used before, and the answer is that of the first time.")
		return
	}
	switch r.Redemption.Status {
	case api.StatusRejected:
		s.Warn("The redemption of %s for %s was rejected at %s.", o.perkID, o.userID, connection.Place())
	case api.StatusPending:
		s.Note("Redeemed %s for %s at %s; it is pending until someone approves it.", o.perkID, o.userID, connection.Place())
	default:
		s.Note("Redeemed %s for %s at %s.", o.perkID, o.userID, connection.Place())
	}
}

// parseMetadata reads key=value entries, whose values are strings, or one JSON object. None is an empty message.
func parseMetadata(entries []string) (json.RawMessage, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	if strings.HasPrefix(strings.TrimSpace(entries[0]), "{") {
		if len(entries) > 1 {
			return nil, command.Usagef("--metadata is either one JSON object or key=value entries, not both.")
		}
		if _, err := api.ParseObject([]byte(entries[0])); err != nil {
			return nil, command.Usagef("--metadata cannot be read. %s", err)
		}
		return json.RawMessage(entries[0]), nil
	}
	object := map[string]string{}
	for _, entry := range entries {
		key, value, ok := strings.Cut(entry, "=")
		if !ok || key == "" {
			return nil, command.Usagef("--metadata %q is neither key=value nor a JSON object.", entry)
		}
		if _, twice := object[key]; twice {
			return nil, command.Usagef("--metadata has %q twice.", key)
		}
		object[key] = value
	}
	return json.Marshal(object)
}
