package webhook

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

var deliveryView = output.View{
	Columns: []string{"at", "type", "subject", "attempt", "status", "duration_ms", "error", "next_at", "event_id"},
	Least:   []string{"event_id", "next_at", "duration_ms"},
	ID:      "id",
}

func newTest(s *session.Session) *cobra.Command {
	return oneOf(s, deliveryView, cobra.Command{
		Use:   "test ID",
		Short: "Have the service post a test to a webhook, and show the answer",
		Long: "Have the service post a test to a webhook now, and show the answer. The exit code is 0 if the receiver\n" +
			"took it, and 1 if not.",
		Example:           "  perksctl webhook test " + exampleID,
		Args:              command.Exactly("ID"),
		ValidArgsFunction: completion.InOrder(completion.Webhooks(s)),
	}, func(ctx context.Context, c *client.Client, args []string) (api.WebhookDelivery, error) {
		return c.TestWebhook(ctx, args[0])
	}, showDelivery)
}

func newRedeliver(s *session.Session) *cobra.Command {
	return oneOf(s, deliveryView, cobra.Command{
		Use:   "redeliver ID EVENT",
		Short: "Have the service post an event to a webhook again, and show the answer",
		Long: "Have the service post an event to a webhook again, now and once, and show the answer. EVENT is the\n" +
			"event_id of a delivery. The exit code is 0 if the receiver took it, and 1 if not.",
		Example:           "  perksctl webhook redeliver " + exampleID + " redemption/" + exampleID,
		Args:              command.Exactly("ID", "EVENT"),
		ValidArgsFunction: completion.InOrder(completion.Webhooks(s), completion.Events(s)),
	}, func(ctx context.Context, c *client.Client, args []string) (api.WebhookDelivery, error) {
		return c.RedeliverWebhook(ctx, args[0], args[1])
	}, showDelivery)
}

// showDelivery fails if the receiver has not taken it.
func showDelivery(
	ctx context.Context, printer *output.Printer[api.WebhookDelivery], d api.WebhookDelivery, _ session.Connection,
) error {
	err := printer.One(ctx, d)
	if err == nil && d.Error != nil {
		err = &command.Failure{Exit: command.ExitFailed, Code: "not_delivered",
			Message: fmt.Sprintf("The receiver has not taken event %s: %s.", d.EventID, *d.Error)}
	}
	return err
}

func newDeliveries(s *session.Session) *cobra.Command {
	var flags list.Flags
	kind := list.Kind[struct{}, api.WebhookDelivery]{View: deliveryView}
	cmd := session.Writes[api.WebhookDelivery](s, &cobra.Command{
		Use:   "deliveries ID",
		Short: "List what was posted to a webhook, and the answers",
		Long: fmt.Sprintf("List the attempts of the last %d days to post to a webhook, newest first, with the beginning of "+
			"each\nanswer.", api.WebhookDeliveryDays),
		Example: "  perksctl webhook deliveries " + exampleID + "\n" +
			"  perksctl webhook deliveries " + exampleID + " --watch --output jsonl\n" +
			"  perksctl webhook deliveries " + exampleID + " --all --jq '.[] | select(.error)'",
		Args:              command.Exactly("ID"),
		ValidArgsFunction: completion.InOrder(completion.Webhooks(s)),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind.Pages = func(
				c *client.Client, ctx context.Context, _ struct{}, options client.ListOptions,
			) client.Pages[api.WebhookDelivery] {
				return c.WebhookDeliveryPages(ctx, args[0], options)
			}
			return kind.Show(cmd, s, flags)
		},
	})
	kind.Bind(cmd, &flags)
	return cmd
}
