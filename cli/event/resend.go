package event

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

func newResend(s *session.Session) *cobra.Command {
	var f forwarding
	var after string
	cmd := session.Writes[delivery](s, &cobra.Command{
		Use:   "resend ID",
		Short: "Deliver one event again",
		Long: "Deliver one event to a URL as a webhook, or to a program, once and without retrying; 'perksctl events\n" +
			"--help' says how. The exit code is 0 if it is delivered, and 1 if not.\n\n" +
			fmt.Sprintf("The event is looked for among the newest %d, or with --after among all behind a position.",
				api.MaxPerPage),
		Example: "  perksctl events resend redemption/0199d8c4-5b7e-7c8a-9d10-2f6b8e4a1c33 " +
			"--forward-to http://localhost:3000/webhooks\n" +
			"  perksctl events resend \"$(perksctl events --last 1 -o id)\" --exec ./print-receipt",
		Args:              command.Exactly("ID"),
		ValidArgsFunction: completion.InOrder(completion.Events(s)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkTarget(cmd); err != nil {
				return err
			}
			switch {
			case !f.isGiven():
				return command.Usagef("Say where to: --forward-to URL or --exec COMMAND.")
			case cmd.Flags().Changed("after") && after == "":
				return command.Usagef("--after must not be empty. Leave it out to search the newest events.")
			}
			return f.resend(cmd.Context(), s, args[0], after)
		},
	})
	f.bind(cmd)
	cmd.Flags().StringVar(&after, "after", "", "search the events after the one with this `cursor`")
	return cmd
}

func (f *forwarding) resend(ctx context.Context, s *session.Session, id, after string) error {
	show, err := writer(s, func(p *output.Printer[delivery], d delivery) error { return p.One(ctx, d) })
	if err != nil {
		return err
	}
	c, connection, err := s.Connect()
	if err != nil {
		return err
	}
	e, err := find(ctx, c, id, after)
	if err != nil {
		return err
	}
	t, err := f.open(ctx, s, connection)
	if err != nil {
		return err
	}
	defer t.close()
	at := time.Now()
	given := t.deliver(ctx, e, at, 1)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	line := given.delivery(e, at, 1, time.Since(at))
	if err := show(line, e); err != nil || line.Error == nil {
		return err
	}
	return notDelivered(e, line)
}

// find reads events until the one with the id.
func find(ctx context.Context, c *client.Client, id, after string) (api.Event, error) {
	where := fmt.Sprintf("among the newest %d events. Search from an earlier position with --after CURSOR",
		api.MaxPerPage)
	if after != "" {
		where = "among the events after that cursor"
	}
	for more := true; more; {
		page, err := c.Events(ctx, after, api.MaxPerPage, 0)
		if err != nil {
			return api.Event{}, err
		}
		if i := slices.IndexFunc(page.Data, func(e api.Event) bool { return e.ID == id }); i >= 0 {
			return page.Data[i], nil
		}
		more, after = page.More && after != "", page.Next
	}
	return api.Event{}, &api.Error{Code: api.CodeNotFound,
		Message: fmt.Sprintf("Event %q is not listed %s.", id, where)}
}
