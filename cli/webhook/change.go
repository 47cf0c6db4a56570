package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/record"
	"example.com/perks/cli/session"
)

// fields is the flags with what a webhook is.
type fields struct {
	url, description string
	types            []string
}

func (f *fields) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "url", "", "the `URL` that events are posted to")
	cmd.Flags().StringVar(&f.description, "description", "", "what it is for")
	cmd.Flags().StringSliceVar(&f.types, "type", nil,
		`only events of this `+"`type`"+`; separate several by commas; "" for all`)
	completion.Flag(cmd, "type", completion.Fixed(api.Texts(api.EventTypes())...))
}

// check refuses what the service would refuse. Which addresses it posts to is its own rule.
func (f *fields) check(cmd *cobra.Command) (types []api.EventType, err error) {
	types = []api.EventType{}
	known := api.Texts(api.EventTypes())
	for _, name := range f.types {
		if !slices.Contains(known, name) {
			return nil, command.Usagef("--type %q is not a type of events.%s The types are %s.", name,
				command.DidYouMean(name, known), strings.Join(known, ", "))
		}
		types = append(types, api.EventType(name))
	}
	if problem := api.WebhookURLRule(f.url); problem != "" && cmd.Flags().Changed("url") {
		return nil, command.Usagef("--url %s.", problem)
	}
	return types, nil
}

const secretHelp = "The secret signs what is posted, and is shown only now: keep it where the receiver finds it."

// showSecret writes a webhook with its secret.
func showSecret(
	ctx context.Context, s *session.Session, printer *output.Printer[api.WebhookSecret], made api.WebhookSecret,
) error {
	s.Streams.Note("The secret is shown only now. If it is lost: perksctl webhook rotate-secret %s", made.ID)
	return printer.One(ctx, made)
}

func newCreate(s *session.Session) *cobra.Command {
	var f fields
	var key command.IdempotencyKey
	var dryRun bool
	cmd := session.Command(s, view, cobra.Command{
		Use:   "create --url URL",
		Short: "Create a webhook, and print its secret once",
		Long: "Create a webhook: from now on the service posts each event that your client may see to the URL, which\n" +
			"must be https. " + secretHelp + "\n\n" +
			"The request carries an idempotency key: a retry with the same key cannot create a second one.",
		Example: "  perksctl webhook create --url https://till.example/perks --output json\n" +
			"  perksctl webhook create --url https://till.example/perks --type redemption.made,redemption.voided",
		Args: command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[api.WebhookSecret]) error {
		again, err := key.Take(cmd)
		if err != nil {
			return err
		}
		if f.url == "" {
			return command.Usagef("--url is missing. Say where to post the events.")
		}
		types, err := f.check(cmd)
		if err != nil {
			return err
		}
		ctx, hook := cmd.Context(), api.NewWebhook{URL: f.url, Types: types, Description: f.description}
		if dryRun {
			return s.DryRun(ctx, func(c *client.Client) error {
				_, _, err := c.CreateWebhook(ctx, hook, key.Value)
				return err
			})
		}
		c, connection, err := s.ConnectToChange(ctx)
		if err != nil {
			return err
		}
		made, replayed, err := c.CreateWebhook(ctx, hook, key.Value)
		if err != nil {
			return record.AdviseRetry(ctx, c, err, "created", key.Value,
				append(s.CommandLine("webhook", "create"), again...), s.CommandLine("webhook", "list"))
		}
		if replayed {
			s.Streams.Warn("Nothing was created now: this key was used before. This is the response from then.")
		} else {
			s.Streams.Note("Created webhook %s at %s.", made.ID, connection.Target())
		}
		return showSecret(ctx, s, printer, made)
	})
	f.bind(cmd)
	key.Bind(cmd)
	bindDryRun(cmd, &dryRun)
	return cmd
}

func newUpdate(s *session.Session) *cobra.Command {
	var f fields
	var enabled bool
	var patch api.WebhookPatch
	cmd := oneOf(s, view, cobra.Command{
		Use:   "update ID",
		Short: "Change, enable or disable a webhook",
		Long: "Change the fields of a webhook that are given. --enabled=false stops it; --enabled resumes it from\n" +
			"where it stopped, also after the service has disabled it.",
		Example: "  perksctl webhook update " + exampleID + " --url https://till.example/v2/perks\n" +
			"  perksctl webhook update " + exampleID + " --type redemption.made\n" +
			"  perksctl webhook update " + exampleID + " --enabled",
		Args:              command.Exactly("ID"),
		ValidArgsFunction: completion.InOrder(completion.Webhooks(s)),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			types, err := f.check(cmd)
			if err != nil {
				return err
			}
			changed, isAny := cmd.Flags().Changed, false
			for name, set := range map[string]func(){
				"url":         func() { patch.URL = api.Some(f.url) },
				"type":        func() { patch.Types = api.Some(types) },
				"description": func() { patch.Description = api.Some(f.description) },
				"enabled":     func() { patch.Enabled = api.Some(enabled) },
			} {
				if changed(name) {
					isAny = true
					set()
				}
			}
			if !isAny {
				return command.Usagef("Nothing to change: give --url, --type, --description or --enabled.")
			}
			return nil
		},
	}, func(ctx context.Context, c *client.Client, args []string) (api.Webhook, error) {
		return c.UpdateWebhook(ctx, args[0], patch)
	}, func(
		ctx context.Context, printer *output.Printer[api.Webhook], hook api.Webhook, connection session.Connection,
	) error {
		s.Streams.Note("Updated webhook %s at %s.", hook.ID, connection.Target())
		return printer.Done(ctx, hook)
	})
	f.bind(cmd)
	cmd.Flags().BoolVar(&enabled, "enabled", false, "post events, or with =false stop it")
	return cmd
}

// deleted is a webhook that is gone.
type deleted struct {
	ID string `json:"id"`
}

func newDelete(s *session.Session) *cobra.Command {
	var yes, dryRun bool
	cmd := session.Command(s, output.View{ID: "id"}, cobra.Command{
		Use:   "delete ID...",
		Short: "Delete webhooks",
		Long: "Delete webhooks in the order given, with their secrets and deliveries. On a terminal you are asked\n" +
			"first; elsewhere --yes is needed. The first failure ends the command, and the error says which were not\n" +
			"tried. To stop one for a while, use 'perksctl webhook update ID --enabled=false'.",
		Example:           "  perksctl webhook delete " + exampleID + " --yes",
		Args:              command.AtLeastOne("ID"),
		ValidArgsFunction: completion.Webhooks(s),
	}, func(cmd *cobra.Command, ids []string, printer *output.Printer[deleted]) error {
		ctx := cmd.Context()
		if dryRun {
			return s.DryRun(ctx, func(c *client.Client) error {
				for _, id := range ids {
					if _, err := c.DeleteWebhook(ctx, id); err != nil && !errors.Is(err, client.ErrDryRun) {
						return err
					}
				}
				return nil
			})
		}
		connection, err := s.Connection()
		if err != nil {
			return err
		}
		question := fmt.Sprintf("Delete webhook %s at %s?", strings.Join(ids, ", "), connection.Target())
		if err := command.Confirm(ctx, s.Streams, yes, question); err != nil {
			return err
		}
		c, connection, err := s.ConnectToChange(ctx)
		if err != nil {
			return err
		}
		return list.Each(ctx, printer, "webhook", ids, func(id string) (deleted, error) {
			if _, err := c.DeleteWebhook(ctx, id); err != nil {
				return deleted{}, err
			}
			s.Streams.Note("Deleted webhook %s at %s.", id, connection.Target())
			return deleted{id}, nil
		})
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	bindDryRun(cmd, &dryRun)
	return cmd
}

func newRotate(s *session.Session) *cobra.Command {
	return oneOf(s, view, cobra.Command{
		Use:   "rotate-secret ID",
		Short: "Make another secret for a webhook, and print it once",
		Long: "Make another secret for a webhook. For a day, what is posted has the signatures of both, so that the\n" +
			"receiver can change over meanwhile. " + secretHelp,
		Example:           "  perksctl webhook rotate-secret " + exampleID + " --jq .secret",
		Args:              command.Exactly("ID"),
		ValidArgsFunction: completion.InOrder(completion.Webhooks(s)),
	}, func(ctx context.Context, c *client.Client, args []string) (api.WebhookSecret, error) {
		return c.RotateWebhookSecret(ctx, args[0])
	}, func(
		ctx context.Context, printer *output.Printer[api.WebhookSecret], made api.WebhookSecret, _ session.Connection,
	) error {
		s.Streams.Note("The old secret of webhook %s signs too for %d hours.", made.ID,
			int(api.WebhookSecretOverlap.Hours()))
		return showSecret(ctx, s, printer, made)
	})
}
