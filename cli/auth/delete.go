package auth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
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
		Use:   "delete NAME",
		Short: "Delete a profile and its secret",
		Long: "Delete a profile with the secret and the token that are kept for it. On a terminal you are asked first; elsewhere --yes\n" +
			"is needed. After the current profile the default one is current, or the only one that is left.",
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
	printer, err := output.New[entry](s.Output, s.Streams, view())
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
	deleted, before := newEntry(s, c, o.name), c.CurrentName()
	if err := command.Confirm(ctx, s.Streams, o.yes, question(deleted)); err != nil {
		return err
	}
	forgotten, err := s.Logout(ctx, o.name, profile)
	if err != nil {
		return err
	}
	err = file.Update(ctx, func(fresh *session.Config) error {
		fresh.Remove(o.name)
		c = *fresh
		return nil
	})
	if err != nil {
		return err
	}
	what := ""
	if text := forgotten.String(); text != "" {
		what = ", and forgot " + text
	}
	s.Streams.Note("Deleted profile %s (%s as %s)%s.", o.name, profile.APIURL, profile.ClientID, what)
	forgotten.Warn(s.Streams)
	if before != c.CurrentName() || deleted.Current {
		tellNext(s, c)
	}
	return printer.Done(ctx, deleted)
}

// question names what would be lost.
func question(e entry) string {
	lost := "for which no secret is kept"
	switch e.SecretIn {
	case "unknown":
		lost = "with its secret and its token"
	case string(session.InKeyring), string(session.InFile):
		lost = "with its secret in the " + e.SecretIn + " and its token"
	}
	return fmt.Sprintf("Delete profile %s (%s as %s), %s?", e.Name, e.APIURL, e.ClientID, lost)
}

// tellNext says which profile commands use from now on.
func tellNext(s *session.Session, c session.Config) {
	names := slices.Sorted(maps.Keys(c.Profiles))
	switch name := c.CurrentName(); {
	case slices.Contains(names, name):
		noteCurrent(s, newEntry(s, c, name))
	case len(names) == 0:
		s.Streams.Note("No profile is left. Make one: perksctl auth login")
	default:
		s.Streams.Note("No profile is current now. Choose one of %s: perksctl profile use NAME", strings.Join(names, ", "))
	}
}
