// Package auth is the commands login, logout, status, token and profile.
package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type account struct {
	Profile    string     `json:"profile"`
	APIURL     string     `json:"api_url"`
	ClientID   string     `json:"client_id"`
	Actor      string     `json:"actor"` // who sits at the client; "" if nobody is named
	Sandbox    bool       `json:"sandbox"`
	LoggedIn   bool       `json:"logged_in"`
	SecretIn   string     `json:"secret_in"`   // keyring, file or environment; "" if no secret is known
	SecretFile string     `json:"secret_file"` // its path, if the secret is in a file
	Scopes     []string   `json:"scopes"`      // of the token; null if the server does not say
	ExpiresAt  *time.Time `json:"expires_at"`  // of the token; null if that is not known
}

var accountView = output.View{ID: "profile"}

// newAccount describes a profile, and the token and the secret of a login; the zero Token means not logged in.
func newAccount(name string, p session.Profile, token session.Token, secretIn, secretFile string) account {
	return account{
		Profile: name, APIURL: p.APIURL, ClientID: p.ClientID, Actor: p.Actor,
		Sandbox: p.Sandbox, LoggedIn: token.AccessToken != "", SecretIn: secretIn, SecretFile: secretFile,
		Scopes: token.Scopes(), ExpiresAt: instant(token.ExpiresAt),
	}
}

// New makes the group auth.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:   "auth",
		Short: "Log in and out",
		Long: "Log in with the id and secret of a client. With " + session.EnvAPIURL + ",\n" +
			session.EnvClientID + " and " + session.EnvClientSecret + " set, or " + session.EnvToken +
			"\ninstead of the last two, no login is needed.\n\n" +
			"Secrets are saved in the keyring of the operating system; if none replies within 3 seconds, or with\n" +
			session.EnvKeyring + "=off, in a file that only you can read.",
		Example: "  perksctl auth login --api-url https://perks.example/v2 --client-id acme\n  perksctl auth status",
	}, NewLogin(s), NewLogout(s), newStatus(s, "status"), newToken(s))
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}

type loginOptions struct {
	session      *session.Session
	flags        *pflag.FlagSet
	apiURL       string
	clientID     string
	actor        string
	secretStdin  bool
	insecureHTTP bool
}

// NewLogin makes the command, which is in this group and at the root.
func NewLogin(s *session.Session) *cobra.Command {
	o := &loginOptions{session: s}
	cmd := session.Command(s, accountView, cobra.Command{
		Use:   "login",
		Short: "Log in with a client's id and secret",
		Long: "Log in: obtain a token with the id and secret, then save them as a profile, which becomes the\n" +
			"current one. It asks for what flags and environment do not give. The secret is never a flag, because\n" +
			"others could see it. The profile also saves the absolute path of the --ca-cert file; --ca-cert \"\"\n" +
			"removes it.",
		Example: "  perksctl auth login --api-url https://perks.example/v2 --client-id acme\n" +
			"  perksctl auth login --profile staging --secret-stdin < secret.txt\n" +
			"  perksctl auth login --api-url https://perks.internal/v2 --ca-cert company-ca.pem",
		Args: command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[account]) error {
		return runLogin(cmd.Context(), o, printer)
	})
	o.flags = cmd.Flags()
	o.flags.StringVar(&o.apiURL, "api-url", "",
		"the `address` of the API, such as https://perks.example/v2 (env "+session.EnvAPIURL+")")
	o.flags.StringVar(&o.clientID, "client-id", "", "the `id` of the client (env "+session.EnvClientID+")")
	o.flags.StringVar(&o.actor, "actor", "", "the `name` of who sits at the client, kept with what is done; \"\" for "+
		"nobody (env "+session.EnvActor+")")
	o.flags.BoolVar(&o.secretStdin, "secret-stdin", false,
		"read the secret from standard input (else env "+session.EnvClientSecret+", or you are asked)")
	o.flags.BoolVar(&o.insecureHTTP, "insecure-http", false,
		"allow http to this address even if it is another computer; others on the network can read the secret")
	return cmd
}

func runLogin(ctx context.Context, o *loginOptions, printer *output.Printer[account]) error {
	s := o.session
	if err := s.CheckVariables(); err != nil {
		return err
	}
	name, profile, err := o.profile(ctx)
	if err != nil {
		return err
	}
	secret, err := o.secret(ctx, profile)
	if err != nil {
		return err
	}
	var ask func(offered string) (string, error)
	if o.flags.Changed("actor") {
		profile.Actor = strings.TrimSpace(o.actor)
	} else if s.Streams.CanAsk() && !o.secretStdin {
		ask = o.askName(ctx)
	}
	done, err := s.Login(ctx, name, profile, secret, ask)
	if err != nil {
		return err
	}
	profile = done.Profile
	as := profile.ClientID
	if profile.Actor != "" {
		as += " (" + display.Line(profile.Actor) + ")"
	}
	s.Streams.Note("Logged in to %s as %s; profile %s is now current.", profile, as, name)
	s.Streams.Note("%s", done.Secret)
	warnOfOther(s, name)
	if s.Env(session.EnvToken) != "" {
		s.Streams.Warn("%s is set and overrides this login.", session.EnvToken)
	}
	s.Streams.Note("Next: perksctl perk list")
	a := newAccount(name, profile, done.Token, string(done.Secret.Location), done.Secret.File)
	return printer.Done(ctx, a)
}

// profile gathers the profile from flags, environment, an earlier login under the same name, and the person.
func (o *loginOptions) profile(ctx context.Context) (name string, profile session.Profile, err error) {
	s := o.session
	c, err := s.LoadConfig()
	if err != nil {
		return "", profile, err
	}
	name, _ = s.ProfileName(c)
	if err := session.CheckName("profile", name); err != nil {
		return "", profile, command.Usagef("%s.", err)
	}
	profile = c.Profiles[name]
	if o.flags.Changed("sandbox") {
		profile.Sandbox = s.Flags.Sandbox
	}
	address, err := o.value(ctx, o.apiURL, session.EnvAPIURL, profile.APIURL, "--api-url",
		"Address of the API, such as https://perks.example/v2: ")
	if err != nil {
		return "", profile, err
	}
	profile.InsecureHTTP = profile.AllowsHTTP(address)
	if o.flags.Changed("insecure-http") {
		profile.InsecureHTTP = o.insecureHTTP
	}
	profile.APIURL = strings.TrimRight(address, "/")
	err = session.CheckAddress(profile.APIURL, profile.InsecureHTTP)
	if err == nil {
		profile.CACert, err = s.AbsoluteCACert(profile)
	}
	if err == nil {
		_, err = s.Roots(profile.CACert) // before anybody is asked for the secret
	}
	if err == nil {
		profile.ClientID, err = o.value(ctx, o.clientID, session.EnvClientID, profile.ClientID, "--client-id",
			"Client id: ")
	}
	return name, profile, err
}

// value takes what the flag, the environment or the profile says, in this order, and asks where none of them does.
func (o *loginOptions) value(ctx context.Context, given, variable, known, flag, prompt string) (string, error) {
	if text := cmp.Or(given, o.session.Env(variable), known); text != "" {
		return text, nil
	}
	if !o.session.Streams.CanAsk() || o.secretStdin {
		return "", command.Usagef("%s is missing. Give it, or set %s.", flag, variable)
	}
	return entered(o.session.Streams.Ask(ctx, prompt))
}

func (o *loginOptions) secret(ctx context.Context, profile session.Profile) (string, error) {
	s := o.session
	switch {
	case o.secretStdin:
		return entered(s.Streams.ReadPiped(ctx))
	case s.Env(session.EnvClientSecret) != "":
		return s.Env(session.EnvClientSecret), nil
	case !s.Streams.CanAsk():
		return "", command.Usagef("The secret is missing: pipe it in with --secret-stdin, or set %s.",
			session.EnvClientSecret)
	}
	return entered(s.Streams.AskSecret(ctx, "Secret of "+profile.ClientID+" (not shown): "))
}

// askName asks who sits at the client.
func (o *loginOptions) askName(ctx context.Context) func(offered string) (string, error) {
	return func(offered string) (string, error) {
		choice := "Enter for none"
		if offered != "" {
			choice = fmt.Sprintf("Enter for %s, - for none", offered)
		}
		typed, err := o.session.Streams.Ask(ctx, "Your name, to be kept with what you do ("+choice+"): ")
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if typed = strings.TrimSpace(typed); typed == "-" {
			return "", nil
		}
		return cmp.Or(typed, offered), nil
	}
}

func entered(text string, err error) (string, error) {
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", command.Usagef("Nothing was entered.")
	}
	return text, nil
}

// NewLogout makes the command logout, of the group auth and by itself.
func NewLogout(s *session.Session) *cobra.Command {
	return session.Command(s, accountView, cobra.Command{
		Use:   "logout",
		Short: "Delete the saved secret and token",
		Long: "Delete the secret of the profile in use, from the keyring and the file, and its token. The profile\n" +
			"stays for the next login.",
		Example: "  perksctl auth logout\n  perksctl auth logout --profile staging",
		Args:    command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[account]) error {
		c, err := s.LoadConfig()
		if err != nil {
			return err
		}
		name, profile, err := s.Profile(c)
		if err != nil {
			return err
		}
		deleted, err := s.Logout(cmd.Context(), profile.Key(name))
		if err != nil {
			return err
		}
		deleted.Warn(s.Streams)
		if what := deleted.String(); what != "" {
			s.Streams.Note("Logged out of %s as %s (profile %s): deleted %s.",
				profile.APIURL, profile.ClientID, name, what)
		} else {
			s.Streams.Note("Profile %s (%s) was not logged in.", name, profile.APIURL)
		}
		for _, variable := range []string{session.EnvToken, session.EnvClientSecret} {
			if s.Env(variable) != "" {
				s.Streams.Warn("%s is still set: commands still use it.", variable)
			}
		}
		return printer.Done(cmd.Context(), newAccount(name, profile, session.Token{}, "", ""))
	})
}

// NewWhoami makes the command whoami, which is auth status by another name.
func NewWhoami(s *session.Session) *cobra.Command { return newStatus(s, "whoami") }

func newStatus(s *session.Session, name string) *cobra.Command {
	return session.Command(s, accountView, cobra.Command{
		Use:   name,
		Short: "Show where you are logged in, and as whom",
		Long: "Show where commands go and as whom, where the secret is saved, and the scopes and expiry of the\n" +
			"token. It obtains a token if none is saved, and fails if it cannot.",
		Example: "  perksctl auth status\n  perksctl auth status --output json --jq .expires_at",
		Args:    command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[account]) error {
		connection, token, err := currentToken(cmd.Context(), s)
		if err != nil {
			return err
		}
		location, file, err := s.SecretLocation(connection)
		if err != nil {
			return err
		}
		switch {
		case connection.HasToken():
			s.Streams.Note("The token comes from %s: its scopes and expiry are unknown. Check it with perksctl doctor.",
				session.EnvToken)
		case location == "":
			s.Streams.Warn("No secret is saved: log in again when the token expires.")
		case token.Scopes() == nil:
			s.Streams.Note("The server does not say which scopes the token has.")
		}
		a := newAccount(connection.ProfileName, connection.Profile, token, string(location), file)
		return printer.One(cmd.Context(), a)
	})
}

// currentToken returns a valid token, and whose it is.
func currentToken(ctx context.Context, s *session.Session) (session.Connection, session.Token, error) {
	connection, err := s.Connection()
	if err != nil {
		return connection, session.Token{}, err
	}
	token, err := s.Token(ctx, connection)
	return connection, token, err
}

// bearer is a token as only this command shows it.
type bearer struct {
	AccessToken string     `json:"access_token"`
	ExpiresAt   *time.Time `json:"expires_at"`
}

func newToken(s *session.Session) *cobra.Command {
	return session.Command(s, output.View{ID: "access_token"}, cobra.Command{
		Use:   "token",
		Short: "Print a bearer token for other programs",
		Long: "Print a valid token, obtained if none is saved. Anyone who has it can act as this client until it\n" +
			"expires.",
		Example: "  curl -H \"Authorization: Bearer $(perksctl auth token)\" https://perks.example/v2/partners/perks",
		Args:    command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[bearer]) error {
		_, token, err := currentToken(cmd.Context(), s)
		if err != nil {
			return err
		}
		return printer.Text(cmd.Context(), token.AccessToken+"\n", bearer{token.AccessToken, instant(token.ExpiresAt)})
	})
}
