package auth

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type useOptions struct {
	session *session.Session
	name    string
}

func newUse(s *session.Session) *cobra.Command {
	o := &useOptions{session: s}
	return &cobra.Command{
		Use:     "use NAME",
		Short:   "Make a profile the current one",
		Example: "  perksctl profile use staging",
		Args:    command.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runUse(cmd.Context(), o)
		},
	}
}

func runUse(ctx context.Context, o *useOptions) error {
	s := o.session
	printer, err := output.New[entry](s.Output, s.Streams, view())
	if err != nil {
		return err
	}
	file, err := s.Config()
	if err != nil {
		return err
	}
	var used entry
	err = file.Update(ctx, func(c *session.Config) error {
		if _, known := c.Profiles[o.name]; !known {
			return session.UnknownProfile(o.name, *c)
		}
		c.Current = o.name
		used = newEntry(s, *c, o.name)
		return nil
	})
	if err != nil {
		return err
	}
	noteCurrent(s, used)
	if other := s.Env(session.EnvProfile); other != "" && other != o.name {
		s.Streams.Warn("%s is set to %s and goes before it.", session.EnvProfile, other)
	}
	return printer.Done(ctx, used)
}

func noteCurrent(s *session.Session, e entry) {
	where := ""
	if e.Sandbox {
		where = "the sandbox of "
	}
	s.Streams.Note("Profile %s is current now: %s%s as %s.", e.Name, where, e.APIURL, e.ClientID)
}
