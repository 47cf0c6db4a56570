// Package auth is the commands about who perksctl is to the service, and which service that is: login, logout, status, token,
// and profiles.
package auth

import (
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// account is a login as it is shown.
type account struct {
	Profile    string     `json:"profile"`
	APIURL     string     `json:"api_url"`
	ClientID   string     `json:"client_id"`
	Sandbox    bool       `json:"sandbox"`
	LoggedIn   bool       `json:"logged_in"`
	SecretIn   string     `json:"secret_in"`   // keyring, file or environment; "" if no secret is known
	SecretFile string     `json:"secret_file"` // its path, if the secret is in a file
	Scopes     []string   `json:"scopes"`      // of the token; null if the server does not tell
	ExpiresAt  *time.Time `json:"expires_at"`  // of the token; null if that is not known
}

var accountView = output.View{ID: "profile"}

// New makes the group.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:   "auth",
		Short: "Log in and out",
		Long: "Log in with the id and secret of a client. Where " + session.EnvAPIURL + ", " + session.EnvClientID + " and\n" +
			session.EnvClientSecret + " are set, or " + session.EnvToken + " in the place of the last two, no login is needed.\n\n" +
			"Secrets are kept in the keyring of the operating system; where none answers within 3 seconds, or with\n" +
			session.EnvKeyring + "=off, in a file that only you can read.",
		Example: "  perksctl auth login --api-url https://perks.example/v2 --client-id acme\n  perksctl auth status",
	}, NewLogin(s), newLogout(s), newStatus(s), newToken(s))
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}
