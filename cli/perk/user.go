package perk

import (
	"slices"

	"github.com/spf13/cobra"

	"example.com/perks/api"
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

func newPerks(s *session.Session) *cobra.Command {
	var kind string
	var flags ListFlags
	cmd := &cobra.Command{
		Use:   "perks USER",
		Short: "List what a user can redeem, or has redeemed",
		Long: "List the perks that a user can redeem now, or with --type redeemed the user's redemptions in every status.\n" +
			"Redemptions can be sorted by id, perk_id, user_id, redeemed_at and status; the filters are for perks alone.",
		Example: "  perksctl user perks alice --near 52.52,13.405\n  perksctl user perks alice --type redeemed --output json",
		Args:    command.Exactly("USER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if kinds := []string{available, redeemed}; !slices.Contains(kinds, kind) {
				return command.Usagef("--type is available or redeemed, not %q.%s", kind, command.DidYouMean(kind, kinds))
			}
			if kind == redeemed {
				return listRedeemed(cmd, s, args[0], flags)
			}
			perks, err := chosenPerks(cmd, s, &flags)
			if err != nil {
				return err
			}
			printer, c, err := session.Begin[api.Perk](s, View)
			if err != nil {
				return err
			}
			return ShowList(cmd.Context(), s.Streams, printer, flags, c.UserPerkPages(cmd.Context(), args[0], perks))
		},
	}
	cmd.Flags().StringVar(&kind, "type", available, "what to list: available or redeemed")
	flags.Bind(cmd, api.PerkSortFields())
	BindFilters(cmd)
	return cmd
}

func listRedeemed(cmd *cobra.Command, s *session.Session, userID string, flags ListFlags) error {
	if filter := usedFilter(cmd); filter != "" {
		return command.Usagef("--%s filters perks; it does not go with --type redeemed.", filter)
	}
	if err := flags.Check(cmd); err != nil {
		return err
	}
	if err := flags.CheckSort(s.Streams, api.RedemptionSortFields()); err != nil {
		return err
	}
	view := output.View{Columns: []string{"id", "perk_id", "status", "redeemed_at"}, ID: "id"}
	printer, c, err := session.Begin[api.Redemption](s, view)
	if err != nil {
		return err
	}
	return ShowList(cmd.Context(), s.Streams, printer, flags, c.UserRedemptionPages(cmd.Context(), userID, flags.Options()))
}
