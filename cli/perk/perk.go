// Package perk is the commands about perks and the users who redeem them: browse, read, redeem.
package perk

import (
	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// View is how perks are shown, here and wherever else a list of them appears.
var View = output.View{
	Columns: []string{"id", "title", "category", "merchant_name", "discount_text", "city", "valid_to"},
	Least:   []string{"category", "merchant_name", "city"},
	ID:      "id",
}

// New makes the group.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "perk",
		Aliases: []string{"perks"},
		Short:   "Browse, read and redeem perks",
		Example: "  perksctl perk list --city Berlin\n  perksctl perk redeem coffee-2for1 --user alice",
	}, newList(s), newGet(s), newCategories(s), newRedeem(s))
}
