package auth

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

func newStatus(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Show where you are logged in, and as whom",
		Long:    "Show where commands go and as whom. A token is obtained if none is at hand; if that fails, so does the command.",
		Example: "  perksctl auth status\n  perksctl auth status --output json --jq .expires_at",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), s) },
	}
}

func runStatus(ctx context.Context, s *session.Session) error {
	printer, err := output.New[account](s.Output, s.Streams, accountView)
	if err != nil {
		return err
	}
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	_, expires, err := s.BearerToken(ctx, connection)
	if err != nil {
		return err
	}
	return printer.One(ctx, account{connection.Profile, connection.APIURL, connection.ClientID, connection.Sandbox, true, instant(expires)})
}
