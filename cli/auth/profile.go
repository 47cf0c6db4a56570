package auth

import (
	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// entry is a profile as it is shown.
type entry struct {
	Name         string `json:"name"`
	Current      bool   `json:"current"`
	APIURL       string `json:"api_url"`
	ClientID     string `json:"client_id"`
	Sandbox      bool   `json:"sandbox"`
	InsecureHTTP bool   `json:"insecure_http"`
	CACert       string `json:"ca_cert"`   // a file, "" if only the system's certificates are trusted
	SecretIn     string `json:"secret_in"` // keyring, file or unknown; "" if none is kept
}

func view() output.View {
	return output.View{Columns: []string{"name", "current", "api_url", "client_id", "sandbox", "secret_in"}, ID: "name"}
}

func newEntry(s *session.Session, c session.Config, name string) entry {
	p := c.Profiles[name]
	return entry{name, name == c.CurrentName(), p.APIURL, p.ClientID, p.Sandbox, p.InsecureHTTP, p.CACert, secretIn(s, name, p)}
}

// secretIn says "unknown" where the record of the secrets cannot be read: the rest of the profile is still worth showing.
func secretIn(s *session.Session, name string, p session.Profile) string {
	secrets, err := s.Secrets()
	if err != nil {
		return "unknown"
	}
	place, _, err := secrets.Place(session.SecretKey{Profile: name, APIURL: p.APIURL, ClientID: p.ClientID})
	if err != nil {
		return "unknown"
	}
	return string(place)
}

// New makes the group.
func NewProfile(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "profile",
		Aliases: []string{"profiles"},
		Short:   "Switch between services and clients",
		Long: "A profile is an address of the API and a client id. perksctl auth login makes one; the current one is used\n" +
			"where neither --profile nor " + session.EnvProfile + " names another.",
		Example: "  perksctl auth login --profile staging\n  perksctl profile use staging",
	}, newList(s), newUse(s), newShow(s), newDelete(s))
}
