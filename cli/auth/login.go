package auth

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type loginOptions struct {
	session      *session.Session
	apiURL       string
	clientID     string
	secretStdin  bool
	insecureHTTP bool
	sandbox      bool

	insecureGiven, sandboxGiven bool
}

// NewLogin makes the command, which stands in this group and at the root.
func NewLogin(s *session.Session) *cobra.Command {
	o := &loginOptions{session: s}
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in with a client's id and secret",
		Long: "Log in: prove the id and secret by obtaining a token, then keep them as a profile, which becomes the current one.\n" +
			"What is not given by flags or environment is asked for. The secret is never a flag, because others could see it.\n" +
			"The profile keeps the file of --ca-cert as well, by its whole path; --ca-cert \"\" takes it out again.",
		Example: "  perksctl auth login --api-url https://perks.example/v2 --client-id acme\n" +
			"  perksctl auth login --profile staging --secret-stdin < secret.txt\n" +
			"  perksctl auth login --api-url https://perks.internal/v2 --ca-cert company-ca.pem",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.insecureGiven = cmd.Flags().Changed("insecure-http")
			o.sandboxGiven = cmd.Flags().Changed("sandbox")
			o.sandbox = s.Flags.Sandbox
			return runLogin(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.apiURL, "api-url", "", "the `address` of the API, such as https://perks.example/v2 (env "+session.EnvAPIURL+")")
	flags.StringVar(&o.clientID, "client-id", "", "the `id` of the client (env "+session.EnvClientID+")")
	flags.BoolVar(&o.secretStdin, "secret-stdin", false, "read the secret from standard input (else env "+session.EnvClientSecret+", or you are asked)")
	flags.BoolVar(&o.insecureHTTP, "insecure-http", false, "allow http to this address even if it is another computer; others on the network can read the secret")
	return cmd
}

func runLogin(ctx context.Context, o *loginOptions) error {
	s := o.session
	printer, err := output.New[account](s.Output, s.Streams, accountView)
	if err != nil {
		return err
	}
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
	done, err := s.Login(ctx, name, profile, secret)
	if err != nil {
		return err
	}
	o.tell(name, profile, done.Secret)
	return printer.Done(ctx, account{
		Profile: name, APIURL: profile.APIURL, ClientID: profile.ClientID, Sandbox: profile.Sandbox, LoggedIn: true,
		SecretIn: string(done.Secret.Place), SecretFile: done.Secret.File,
		Scopes: session.ScopesOf(done.Token.Scope), ExpiresAt: instant(done.Token.ExpiresAt),
	})
}

// profile gathers the profile from flags, environment, an earlier login under the same name, and the person.
func (o *loginOptions) profile(ctx context.Context) (string, session.Profile, error) {
	s := o.session
	c, err := s.LoadConfig()
	if err != nil {
		return "", session.Profile{}, err
	}
	name, _ := s.ProfileName(c)
	if err := session.CheckName(name); err != nil {
		return "", session.Profile{}, command.Usagef("%s.", err)
	}
	profile := c.Profiles[name]
	if o.sandboxGiven {
		profile.Sandbox = o.sandbox
	}
	address, err := o.value(ctx, o.apiURL, session.EnvAPIURL, profile.APIURL, "--api-url", "Address of the API, such as https://perks.example/v2: ")
	if err != nil {
		return "", session.Profile{}, err
	}
	profile.InsecureHTTP = profile.AllowsHTTP(address)
	if o.insecureGiven {
		profile.InsecureHTTP = o.insecureHTTP
	}
	profile.APIURL = strings.TrimRight(address, "/")
	if err := session.CheckAddress(profile.APIURL, profile.InsecureHTTP); err != nil {
		return "", session.Profile{}, err
	}
	if profile.CACert, err = s.KeptCACert(profile); err != nil {
		return "", session.Profile{}, err
	}
	if _, err := s.Roots(profile.CACert); err != nil {
		return "", session.Profile{}, err // before anybody is asked for the secret
	}
	profile.ClientID, err = o.value(ctx, o.clientID, session.EnvClientID, profile.ClientID, "--client-id", "Client id: ")
	return name, profile, err
}

// value takes what the flag, the environment or the profile says, in this order, and asks where none of them does.
func (o *loginOptions) value(ctx context.Context, given, variable, known, flag, prompt string) (string, error) {
	for _, text := range []string{given, o.session.Env(variable), known} {
		if text != "" {
			return text, nil
		}
	}
	if !o.session.Streams.CanAsk() || o.secretStdin {
		return "", command.Usagef("%s is missing; the environment's %s would do too.", flag, variable)
	}
	return answered(o.session.Streams.Ask(ctx, prompt))
}

func (o *loginOptions) secret(ctx context.Context, profile session.Profile) (string, error) {
	s := o.session
	switch {
	case o.secretStdin:
		return answered(s.Streams.ReadPiped(ctx))
	case s.Env(session.EnvClientSecret) != "":
		return s.Env(session.EnvClientSecret), nil
	case !s.Streams.CanAsk():
		return "", command.Usagef("The secret is missing, and there is nobody to ask: pipe it in with --secret-stdin, or set %s.", session.EnvClientSecret)
	}
	return answered(s.Streams.AskSecret(ctx, "Secret of "+profile.ClientID+" (not shown): "))
}

// answered refuses an empty answer.
func answered(text string, err error) (string, error) {
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", command.Usagef("Nothing was entered.")
	}
	return text, nil
}

func (o *loginOptions) tell(name string, profile session.Profile, kept session.Kept) {
	s := o.session
	where := ""
	if profile.Sandbox {
		where = "the sandbox of "
	}
	s.Streams.Note("Logged in to %s%s as %s; profile %s is current now.", where, profile.APIURL, profile.ClientID, name)
	s.Streams.Note("%s", kept)
	if s.Env(session.EnvToken) != "" {
		s.Streams.Warn("%s is set and goes before this login.", session.EnvToken)
	}
	s.Streams.Note("Next: perksctl perk list")
}
