// Package webhook is the commands about webhooks: endpoints, their secrets and their deliveries.
package webhook

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

var view = output.View{
	Columns: []string{"id", "url", "types", "enabled", "failing_since", "disabled_reason", "description"},
	Least:   []string{"description", "disabled_reason", "failing_since"},
	ID:      "id",
}

const exampleID = "0199d8c4-5b7e-7c8a-9d10-2f6b8e4a1c33"

// New makes the group.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "webhook",
		Aliases: []string{"webhooks"},
		Short:   "Have the service post events to your own, and check what it posts",
		Example: "  perksctl webhook create --url https://till.example/perks --type redemption.made\n" +
			"  perksctl webhook deliveries " + exampleID,
	}, newCreate(s), newList(s), newGet(s), newUpdate(s), newDelete(s), newTest(s), newDeliveries(s), newRedeliver(s),
		newRotate(s), newVerify(s))
}

func newList(s *session.Session) *cobra.Command {
	return list.Kind[struct{}, api.Webhook]{
		View: view,
		Pages: func(
			c *client.Client, ctx context.Context, _ struct{}, options client.ListOptions,
		) client.Pages[api.Webhook] {
			return c.WebhookPages(ctx, options)
		},
	}.Command(s, cobra.Command{
		Use:   "list",
		Short: "List the webhooks of your client",
		Long: "List the webhooks of your client. It needs the scope webhooks:write, as every command about webhooks\n" +
			"does, except verify. disabled_reason says why the service has disabled one, and failing_since when the\n" +
			"oldest delivery failed that it still retries.",
		Example: "  perksctl webhook list\n  perksctl webhook list --output json",
	})
}

func newGet(s *session.Session) *cobra.Command {
	return list.Getter[api.Webhook]{View: view, Noun: "webhook", Get: func(
		ctx context.Context, c *client.Client, id string,
	) (api.Webhook, error) {
		return c.Webhook(ctx, id)
	}}.Command(s, cobra.Command{
		Use:               "get ID...",
		Short:             "Show webhooks by their ids",
		Long:              "Show one webhook, or several as a list. If one of them cannot be read, none is shown.",
		Example:           "  perksctl webhook get " + exampleID,
		ValidArgsFunction: completion.Webhooks(s),
	})
}

// oneOf makes a command about one webhook that returns a record of its own, and can be tried.
func oneOf[T any](
	s *session.Session, view output.View, cmd cobra.Command,
	do func(ctx context.Context, c *client.Client, args []string) (T, error),
	show func(ctx context.Context, printer *output.Printer[T], done T, connection session.Connection) error,
) *cobra.Command {
	var dryRun bool
	made := session.Command(s, view, cmd, func(cmd *cobra.Command, args []string, printer *output.Printer[T]) error {
		ctx := cmd.Context()
		if dryRun {
			return s.DryRun(ctx, func(c *client.Client) error {
				_, err := do(ctx, c, args)
				return err
			})
		}
		c, connection, err := s.ConnectToChange(ctx)
		if err != nil {
			return err
		}
		done, err := do(ctx, c, args)
		if err != nil {
			return err
		}
		return show(ctx, printer, done, connection)
	})
	bindDryRun(made, &dryRun)
	return made
}

func bindDryRun(cmd *cobra.Command, dryRun *bool) {
	cmd.Flags().BoolVar(dryRun, "dry-run", false, "show the request and send nothing")
}
