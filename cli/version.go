package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/api/build"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// New makes the command.
func newVersion(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Example: "  perksctl version\n  perksctl version --output json",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return showVersion(cmd.Context(), s) },

		// In the place of the root's, which prepares for more than this command needs.
		PersistentPreRunE: func(*cobra.Command, []string) error { return s.Prepare() },
	}
}

// run does no more than it must for people: version is what scripts and shells call to see that the program is there.
func showVersion(ctx context.Context, s *session.Session) error {
	if s.Output.IsTable() && len(s.Output.Fields) == 0 {
		_, err := fmt.Fprintln(s.Streams.Out, build.Read().Line("perksctl"))
		return err
	}
	printer, err := output.New[build.Info](s.Output, s.Streams, output.View{ID: "version"})
	if err != nil {
		return err
	}
	return printer.One(ctx, build.Read())
}
