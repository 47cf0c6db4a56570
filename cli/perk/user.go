package perk

import (
	"iter"
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
			return listPerks(cmd, s, flags, func(c *client.Client, options client.PerkListOptions) iter.Seq2[api.Page[api.Perk], error] {
				return c.UserPerkPages(cmd.Context(), args[0], options)
			})
		},
	}
	cmd.Flags().StringVar(&kind, "type", available, "what to list: available or redeemed")
	flags.Bind(cmd, api.PerkSortFields())
	BindFilters(cmd)
	return cmd
}

func listRedeemed(cmd *cobra.Command, s *session.Session, userID string, flags ListFlags) error {
	for _, field := range api.PerkFilterFields {
		if cmd.Flags().Changed(field.Flag) {
			return command.Usagef("--%s filters perks; it does not go with --type redeemed.", field.Flag)
		}
	}
	if err := flags.Check(cmd); err != nil {
		return err
	}
	if err := flags.CheckSort(s.Streams, api.RedemptionSortFields(), api.PerkFilter{}); err != nil {
		return err
	}
	view := output.View{Columns: []string{"id", "perk_id", "status", "redeemed_at"}, ID: "id"}
	return showPages(cmd, s, flags, view, func(c *client.Client) iter.Seq2[api.Page[api.Redemption], error] {
		return c.UserRedemptionPages(cmd.Context(), userID, flags.Options())
	})
}
