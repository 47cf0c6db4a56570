// Package cli is perksctl: the tree of its commands and how a run of it begins and ends. Each noun has a package of its
// own, each verb a file in it.
//
// It knows the service only through api/client, and imports neither the server nor the store.
package cli

import (
	"github.com/spf13/cobra"

	"example.com/perks/cli/auth"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/doctor"
	"example.com/perks/cli/perk"
	"example.com/perks/cli/property"
	"example.com/perks/cli/session"
	"example.com/perks/cli/tuicmd"
)

// NewRoot makes the tree of commands for one session.
func NewRoot(s *session.Session) *cobra.Command {
	root := command.Group(cobra.Command{
		Use:   "perksctl",
		Short: "Browse and redeem perks, and look after properties",
		Long: "perksctl browses and redeems perks, and reads, updates and deletes properties.\n\n" +
			"Data goes to standard output, everything else to standard error. A setting is taken from its flag, then from the\n" +
			"environment, then from the profile.",
		Example:           "  perksctl auth login --api-url https://perks.example/v2\n  perksctl perk list --city Berlin\n  perksctl perk redeem coffee-2for1 --user alice",
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return s.Prepare() },
	},
		auth.New(s), auth.NewLogin(s), auth.NewProfile(s),
		perk.New(s), perk.NewUser(s), property.New(s), tuicmd.New(s),
		newAPI(s), doctor.New(s), newVersion(s),
	)
	completion.Attach(root, s)
	explain(root)
	root.SetFlagErrorFunc(command.FlagError)
	root.SetIn(s.Streams.In)
	root.SetOut(s.Streams.Out)
	root.SetErr(s.Streams.Err)
	s.Bind(root.PersistentFlags())
	return root
}
