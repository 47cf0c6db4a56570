package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type entry struct {
	Name         string `json:"name"`
	Current      bool   `json:"current"`
	APIURL       string `json:"api_url"`
	ClientID     string `json:"client_id"`
	Actor        string `json:"actor"` // who sits at the client; "" if nobody is named
	Sandbox      bool   `json:"sandbox"`
	InsecureHTTP bool   `json:"insecure_http"`
	CACert       string `json:"ca_cert"` // a file, "" if only the system's certificates are trusted
	ReadOnly     bool   `json:"read_only"`
	Protected    bool   `json:"protected"`
	SecretIn     string `json:"secret_in"` // keyring, file or unknown; "" if none is saved
}

var profileView = output.View{
	Columns: []string{"name", "current", "api_url", "client_id", "sandbox", "secret_in"}, ID: "name",
}

func newEntry(s *session.Session, c session.Config, name string) entry {
	p := c.Profiles[name]
	return entry{name, name == c.CurrentName(), p.APIURL, p.ClientID, p.Actor, p.Sandbox, p.InsecureHTTP, p.CACert,
		p.ReadOnly, p.Protected, secretIn(s, name, p)}
}

// secretIn is "unknown" if the file of secrets cannot be read: the rest of the profile is still useful.
func secretIn(s *session.Session, name string, p session.Profile) string {
	if secrets, err := s.Secrets(); err == nil {
		if location, _, err := secrets.Location(p.Key(name)); err == nil {
			return string(location)
		}
	}
	return "unknown"
}

// NewProfile makes the group profile.
func NewProfile(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "profile",
		Aliases: []string{"profiles"},
		Short:   "Switch between services and clients",
		Long: "A profile is the address of an API and a client id. perksctl auth login creates one. Commands use\n" +
			"the current profile, unless --profile or " + session.EnvProfile + " names another.",
		Example: "  perksctl auth login --profile staging\n" +
			"  perksctl profile use staging\n" +
			"  perksctl profile set prod --protected",
	}, newList(s), newUse(s), newShow(s), newSet(s), newRename(s), newDelete(s))
}

func newList(s *session.Session) *cobra.Command {
	return session.Command(s, profileView, cobra.Command{
		Use:     "list",
		Short:   "List the profiles",
		Example: "  perksctl profile list\n  perksctl profile list --output id",
		Args:    command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[entry]) error {
		c, err := s.LoadConfig()
		if err != nil {
			return err
		}
		var entries []entry
		for _, name := range c.Names() {
			entries = append(entries, newEntry(s, c, name))
		}
		if len(entries) == 0 {
			s.Streams.Note("There are no profiles yet. Create one: perksctl auth login")
		}
		if name, chosen := s.ProfileName(c); chosen && name != c.CurrentName() {
			s.Streams.Note("Commands here use %s, which overrides the current profile.", name)
		}
		return printer.List(cmd.Context(), output.Each(entries))
	})
}

func newShow(s *session.Session) *cobra.Command {
	return session.Command(s, profileView, cobra.Command{
		Use:   "show",
		Short: "Show the profile in use",
		Long: "Show the profile that commands use: that of --profile, of " + session.EnvProfile + ", or the\n" +
			"current one.",
		Example: "  perksctl profile show\n  perksctl profile show --profile staging --output yaml",
		Args:    command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[entry]) error {
		c, err := s.LoadConfig()
		if err != nil {
			return err
		}
		name, _, err := s.Profile(c)
		if err != nil {
			return err
		}
		return printer.One(cmd.Context(), newEntry(s, c, name))
	})
}

func newUse(s *session.Session) *cobra.Command {
	return session.Command(s, profileView, cobra.Command{
		Use:     "use NAME",
		Short:   "Make a profile the current one",
		Example: "  perksctl profile use staging",
		Args:    command.Exactly("NAME"),

		ValidArgsFunction: completion.InOrder(completion.Profiles(s)),
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[entry]) error {
		name := args[0]
		c, err := s.UpdateConfig(cmd.Context(), func(c *session.Config) error { return c.Use(name) })
		if err != nil {
			return err
		}
		noteCurrent(s, c, name)
		warnOfOther(s, name)
		return printer.Done(cmd.Context(), newEntry(s, c, name))
	})
}

// warnOfOther warns that the environment names another profile than the current one.
func warnOfOther(s *session.Session, current string) {
	if other := s.Env(session.EnvProfile); other != "" && other != current {
		s.Streams.Warn("%s is set to %s and overrides it.", session.EnvProfile, other)
	}
}

func noteCurrent(s *session.Session, c session.Config, name string) {
	p := c.Profiles[name]
	s.Streams.Note("Profile %s is now current: %s as %s.", name, p, p.ClientID)
}

func newSet(s *session.Session) *cobra.Command {
	var readOnly, protected bool
	cmd := session.Command(s, profileView, cobra.Command{
		Use:   "set NAME",
		Short: "Make a profile read-only or protected",
		Long: "Make a profile read-only or protected. =false undoes that.\n\n" +
			"With a read-only profile, perksctl refuses every request that could change something, also in the\n" +
			"terminal UI. With a protected one, it asks for the profile's name before it changes live data: once\n" +
			"for a file of rows, and not in the sandbox or with --dry-run. The terminal UI asks each time. Off a\n" +
			"terminal, pass --confirm-profile NAME. This prevents slips. To limit what a client can do, limit its\n" +
			"scopes.",
		Example: "  perksctl profile set prod --protected\n" +
			"  perksctl profile set audit --read-only\n" +
			"  perksctl profile set audit --read-only=false",
		Args: command.Exactly("NAME"),

		ValidArgsFunction: completion.InOrder(completion.Profiles(s)),
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[entry]) error {
		name := args[0]
		flags := cmd.Flags()
		if !flags.Changed("read-only") && !flags.Changed("protected") {
			return command.Usagef("Nothing to set. Give --read-only or --protected, or one of them with =false.")
		}
		c, err := s.UpdateConfig(cmd.Context(), func(c *session.Config) error {
			return c.Change(name, func(p *session.Profile) {
				if flags.Changed("read-only") {
					p.ReadOnly = readOnly
				}
				if flags.Changed("protected") {
					p.Protected = protected
				}
			})
		})
		if err != nil {
			return err
		}
		says := map[bool]string{true: "is", false: "is not"}
		p := c.Profiles[name]
		s.Streams.Note("Profile %s %s read-only, and %s protected.", name, says[p.ReadOnly], says[p.Protected])
		return printer.Done(cmd.Context(), newEntry(s, c, name))
	})
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "refuse to change anything with this profile")
	cmd.Flags().BoolVar(&protected, "protected", false, "ask for the profile's name before live data is changed")
	return cmd
}

func newRename(s *session.Session) *cobra.Command {
	return session.Command(s, profileView, cobra.Command{
		Use:     "rename NAME NEW-NAME",
		Short:   "Give a profile another name",
		Long:    "Give a profile another name, with its settings and its saved secret.",
		Example: "  perksctl profile rename default staging",
		Args:    command.Exactly("NAME", "NEW-NAME"),

		ValidArgsFunction: completion.InOrder(completion.Profiles(s)),
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[entry]) error {
		c, err := s.Rename(cmd.Context(), args[0], args[1])
		if err != nil {
			return err
		}
		s.Streams.Note("Profile %s is now called %s.", args[0], args[1])
		warnOfOther(s, args[1])
		return printer.Done(cmd.Context(), newEntry(s, c, args[1]))
	})
}

func newDelete(s *session.Session) *cobra.Command {
	var yes bool
	cmd := session.Command(s, profileView, cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a profile and its secret",
		Long: "Delete a profile with its saved secret and token. It asks first on a terminal, and needs --yes\n" +
			"elsewhere. If the profile was current, the default profile is next, or the only one left.",
		Example: "  perksctl profile delete staging",
		Args:    command.Exactly("NAME"),

		ValidArgsFunction: completion.InOrder(completion.Profiles(s)),
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[entry]) error {
		return runDelete(cmd.Context(), s, printer, args[0], yes)
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func runDelete(
	ctx context.Context, s *session.Session, printer *output.Printer[entry], name string, yes bool,
) error {
	c, err := s.LoadConfig()
	if err != nil {
		return err
	}
	profile, known := c.Profiles[name]
	if !known {
		return session.UnknownProfile(name, c)
	}
	deleted, before := newEntry(s, c, name), c.CurrentName()
	lost := "which has no saved secret"
	switch deleted.SecretIn {
	case "unknown":
		lost = "with its secret and its token"
	case string(session.InKeyring), string(session.InFile):
		lost = "with its secret in the " + deleted.SecretIn + " and its token"
	}
	question := fmt.Sprintf("Delete profile %s (%s as %s), %s?", name, profile.APIURL, profile.ClientID, lost)
	if err := command.Confirm(ctx, s.Streams, yes, question); err != nil {
		return err
	}
	loggedOut, err := s.Logout(ctx, profile.Key(name))
	if err != nil {
		return err
	}
	c, err = s.UpdateConfig(ctx, func(c *session.Config) error {
		c.Remove(name)
		return nil
	})
	if err != nil {
		return err
	}
	what := ""
	if text := loggedOut.String(); text != "" {
		what = " with " + text
	}
	s.Streams.Note("Deleted profile %s (%s as %s)%s.", name, profile.APIURL, profile.ClientID, what)
	loggedOut.Warn(s.Streams)
	switch current := c.CurrentName(); {
	case before == current && !deleted.Current:
	case slices.Contains(c.Names(), current):
		noteCurrent(s, c, current)
	case len(c.Names()) == 0:
		s.Streams.Note("No profile is left. Create one: perksctl auth login")
	default:
		s.Streams.Note("No profile is current. Choose one of %s: perksctl profile use NAME",
			strings.Join(c.Names(), ", "))
	}
	return printer.Done(ctx, deleted)
}
