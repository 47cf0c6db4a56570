package auth

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

func newLogout(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Forget the secret and the token",
		Long: "Forget the secret, in the keyring and in the file, and the token of the profile in use. The profile itself stays, for\n" +
			"the next login.",
		Example: "  perksctl auth logout\n  perksctl auth logout --profile staging",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runLogout(cmd.Context(), s) },
	}
}

func runLogout(ctx context.Context, s *session.Session) error {
	printer, err := output.New[account](s.Output, s.Streams, accountView)
	if err != nil {
		return err
	}
	c, err := s.LoadConfig()
	if err != nil {
		return err
	}
	name, _ := s.ProfileName(c)
	profile, known := c.Profiles[name]
	if !known {
		return session.UnknownProfile(name, c)
	}
	forgotten, err := s.Logout(ctx, name, profile)
	if err != nil {
		return err
	}
	forgotten.Warn(s.Streams)
	if what := forgotten.String(); what != "" {
		s.Streams.Note("Logged out of %s as %s (profile %s): forgot %s.", profile.APIURL, profile.ClientID, name, what)
	} else {
		s.Streams.Note("Profile %s (%s) was not logged in.", name, profile.APIURL)
	}
	for _, variable := range []string{session.EnvToken, session.EnvClientSecret} {
		if s.Env(variable) != "" {
			s.Streams.Warn("%s is still set: commands go on with it.", variable)
		}
	}
	return printer.Done(ctx, account{Profile: name, APIURL: profile.APIURL, ClientID: profile.ClientID, Sandbox: profile.Sandbox})
}
