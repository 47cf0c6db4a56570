package perk

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type getOptions struct {
	session *session.Session
	ids     []string
}

func newGet(s *session.Session) *cobra.Command {
	o := &getOptions{session: s}
	return &cobra.Command{
		Use:     "get ID...",
		Short:   "Show perks by their ids",
		Long:    "Show one perk, or several as a list. If one of them cannot be read, none is shown.",
		Example: "  perksctl perk get coffee-2for1\n  perksctl perk get coffee-2for1 spa-day --output json",
		Args:    command.AtLeastOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ids = args
			return runGet(cmd.Context(), o)
		},
	}
}

func runGet(ctx context.Context, o *getOptions) error {
	printer, err := output.New[api.Perk](o.session.Output, o.session.Streams, View)
	if err != nil {
		return err
	}
	c, _, err := o.session.Connect()
	if err != nil {
		return err
	}
	perks := make([]api.Perk, len(o.ids))
	for i, id := range o.ids {
		if perks[i], err = c.Perk(ctx, id); err != nil {
			return command.Among(len(o.ids), "perk "+id, err)
		}
	}
	return printer.Few(ctx, perks)
}
