package profile

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/config"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type deleteOptions struct {
	session *session.Session
	name    string
	yes     bool
}

func newDelete(s *session.Session) *cobra.Command {
	o := &deleteOptions{session: s}
	cmd := &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a profile and its secret",
		Long:    "Delete a profile with the secret and the token that are kept for it. On a terminal you are asked first; elsewhere --yes is needed.",
		Example: "  perksctl profile delete staging",
		Args:    command.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runDelete(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func runDelete(ctx context.Context, o *deleteOptions) error {
	s := o.session
	printer, err := output.New[entry](s.Output, s.Streams, view)
	if err != nil {
		return err
	}
	file, err := s.Config()
	if err != nil {
		return err
	}
	c, err := file.Load()
	if err != nil {
		return err
	}
	profile, known := c.Profiles[o.name]
	if !known {
		return session.UnknownProfile(o.name, c)
	}
	question := fmt.Sprintf("Delete profile %s (%s as %s) with its secret?", o.name, profile.APIURL, profile.ClientID)
	if err := command.Confirm(ctx, s.Streams, o.yes, question); err != nil {
		return err
	}
	if _, err := s.Logout(ctx, o.name, profile); err != nil {
		return err
	}
	err = file.Update(ctx, func(c *config.Config) error {
		delete(c.Profiles, o.name)
		if c.Current == o.name {
			c.Current = ""
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.Streams.Note("Deleted profile %s.", o.name)
	return printer.Done(ctx, newEntry(c, o.name))
}
