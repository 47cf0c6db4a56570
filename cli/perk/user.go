package perk

import (
	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
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
