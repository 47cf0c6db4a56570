package perk

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// New makes the group.
func NewUser(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "user",
		Aliases: []string{"users"},
		Short:   "See what users can redeem and have redeemed",
		Example: "  perksctl user perks alice\n  perksctl user perks alice --type redeemed",
	}, newPerks(s))
}

const (
	available = "available"
	redeemed  = "redeemed"
)

type perksOptions struct {
	session *session.Session
	userID  string
	kind    string
	flags   ListFlags
	filters ListFilters
	perks   client.PerkListOptions
}

func newPerks(s *session.Session) *cobra.Command {
	o := &perksOptions{session: s}
	cmd := &cobra.Command{
		Use:   "perks USER",
		Short: "List what a user can redeem, or has redeemed",
		Long: "List the perks that a user can redeem now, or with --type redeemed the user's redemptions in every status.\n" +
			"Redemptions can be sorted by id, perk_id, user_id, redeemed_at and status; the filters are for perks alone.",
		Example: "  perksctl user perks alice --near 52.52,13.405\n  perksctl user perks alice --type redeemed --output json",
		Args:    command.Exactly("USER"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.userID = args[0]
			if err := o.check(cmd); err != nil {
				return err
			}
			if o.perks, err = o.filters.Apply(cmd, o.flags.Options()); err != nil {
				return err
			}
			if o.kind == redeemed {
				return runRedeemed(cmd.Context(), o)
			}
			return runAvailable(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.kind, "type", available, "what to list: available or redeemed")
	o.flags.Bind(cmd, api.PerkSortFields())
	o.filters.Bind(cmd)
	return cmd
}

func (o *perksOptions) check(cmd *cobra.Command) error {
	if kinds := []string{available, redeemed}; !slices.Contains(kinds, o.kind) {
		return command.Usagef("--type is available or redeemed, not %q.%s", o.kind, command.DidYouMean(o.kind, kinds))
	}
	if filter := o.filters.Used(cmd); o.kind == redeemed && filter != "" {
		return command.Usagef("--%s filters perks; it does not go with --type redeemed.", filter)
	}
	if err := o.flags.Check(cmd); err != nil {
		return err
	}
	if o.kind == redeemed {
		return o.flags.CheckSort(o.session.Streams, api.RedemptionSortFields())
	}
	if err := o.flags.CheckSort(o.session.Streams, api.PerkSortFields()); err != nil {
		return err
	}
	return o.flags.CheckDistance(o.filters)
}

func runAvailable(ctx context.Context, o *perksOptions) error {
	printer, err := output.New[api.Perk](o.session.Output, o.session.Streams, View)
	if err != nil {
		return err
	}
	c, _, err := o.session.Connect()
	if err != nil {
		return err
	}
	return ShowList(ctx, o.session.Streams, printer, o.flags, c.UserPerkPages(ctx, o.userID, o.perks))
}

func runRedeemed(ctx context.Context, o *perksOptions) error {
	view := output.View{Columns: []string{"id", "perk_id", "status", "redeemed_at"}, ID: "id"}
	printer, err := output.New[api.Redemption](o.session.Output, o.session.Streams, view)
	if err != nil {
		return err
	}
	c, _, err := o.session.Connect()
	if err != nil {
		return err
	}
	return ShowList(ctx, o.session.Streams, printer, o.flags, c.UserRedemptionPages(ctx, o.userID, o.perks.ListOptions))
}
