package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// bearer is a token as it is shown, here alone.
type bearer struct {
	AccessToken string     `json:"access_token"`
	ExpiresAt   *time.Time `json:"expires_at"`
}

func newToken(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "token",
		Short:   "Print a bearer token for other programs",
		Long:    "Print a token that can be used now, obtained if none is at hand. Whoever reads it can act as this client until it ends.",
		Example: "  curl -H \"Authorization: Bearer $(perksctl auth token)\" https://perks.example/v2/partners/perks",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runToken(cmd.Context(), s) },
	}
}

func runToken(ctx context.Context, s *session.Session) error {
	printer, err := output.New[bearer](s.Output, s.Streams, output.View{ID: "access_token"})
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
	if s.Output.IsTable() && len(s.Output.Fields) == 0 {
		_, err := fmt.Fprintln(s.Streams.Out, token.Value)
		return err
	}
	return printer.One(ctx, bearer{token.Value, instant(token.ExpiresAt)})
}
