package auth

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

func newShow(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "show",
		Short:   "Show the profile in use",
		Long:    "Show the profile that commands use: the one of --profile, of " + session.EnvProfile + ", or the current one.",
		Example: "  perksctl profile show\n  perksctl profile show --profile staging --output yaml",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runShow(cmd.Context(), s) },
	}
}

func runShow(ctx context.Context, s *session.Session) error {
	printer, err := output.New[entry](s.Output, s.Streams, view())
	if err != nil {
		return err
	}
	c, err := s.LoadConfig()
	if err != nil {
		return err
	}
	name, _ := s.ProfileName(c)
	if _, known := c.Profiles[name]; !known {
		return session.UnknownProfile(name, c)
	}
	return printer.One(ctx, newEntry(s, c, name))
}
