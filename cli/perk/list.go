package perk

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type listOptions struct {
	session *session.Session
	flags   ListFlags
	filters ListFilters
	perks   client.PerkListOptions
}

func newList(s *session.Session) *cobra.Command {
	o := &listOptions{session: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List perks",
		Long: "List perks, one page unless --limit or --all says otherwise.\n\n" +
			"With --all the perks are written as they come; --output jsonl then needs little memory for any number of them.",
		Example: "  perksctl perk list --category \"Food & Drink\" --sort title\n" +
			"  perksctl perk list --near 51.5072,-0.1276 --radius 5 --sort distance\n" +
			"  perksctl perk list --all --output jsonl > perks.jsonl",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := o.flags.Check(cmd); err != nil {
				return err
			}
			if err := o.flags.CheckSort(s.Streams, api.PerkSortFields()); err != nil {
				return err
			}
			if err := o.flags.CheckDistance(o.filters); err != nil {
				return err
			}
			if o.perks, err = o.filters.Apply(cmd, o.flags.Options()); err != nil {
				return err
			}
			return runList(cmd.Context(), o)
		},
	}
	o.flags.Bind(cmd, api.PerkSortFields())
	o.filters.Bind(cmd)
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	printer, err := output.New[api.Perk](o.session.Output, o.session.Streams, View)
	if err != nil {
		return err
	}
	c, _, err := o.session.Connect()
	if err != nil {
		return err
	}
	return ShowList(ctx, o.session.Streams, printer, o.flags, c.PerkPages(ctx, o.perks))
}
