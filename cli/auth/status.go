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
		Use:   "status",
		Short: "Show where you are logged in, and as whom",
		Long: "Show where commands go and as whom, where the secret is kept, and what the token allows and until when. A token is\n" +
			"obtained if none is at hand; if that fails, so does the command.",
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
	token, err := s.Token(ctx, connection)
	if err != nil {
		return err
	}
	place, file, err := s.SecretPlace(connection)
	if err != nil {
		return err
	}
	tell(s, connection, place, token)
	return printer.One(ctx, account{
		Profile: connection.Profile, APIURL: connection.APIURL, ClientID: connection.ClientID, Sandbox: connection.Sandbox, LoggedIn: true,
		SecretIn: string(place), SecretFile: file, Scopes: token.Scopes, ExpiresAt: instant(token.ExpiresAt),
	})
}

// tell explains what is empty in the status.
func tell(s *session.Session, connection session.Connection, place session.Place, token session.Token) {
	switch {
	case connection.HasToken():
		s.Streams.Note("The token is that of %s: its scopes and its end are not known here, nor whether the server takes it. See perksctl doctor.", session.EnvToken)
	case place == "":
		s.Streams.Warn("No secret is kept: when the token ends, log in again.")
	case token.Scopes == nil:
		s.Streams.Note("The server does not tell which scopes the token has.")
	}
}
