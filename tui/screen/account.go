package screen

import (
	"context"

	"example.com/perks/api/client"
)

// Profile is one service and the client that calls it, as the commands keep it too.
type Profile struct {
	Name         string
	APIURL       string
	ClientID     string
	Sandbox      bool
	InsecureHTTP bool // allow http to other hosts than this computer
}

// Account is a profile that calls can be made with.
type Account struct {
	Profile Profile
	Client  *client.Client
}

// Accounts is where profiles, secrets and tokens are kept: the same as the commands use. Its methods read files, may ask a
// keyring and the service, and are called outside of Update only.
type Accounts interface {
	// Profiles returns all profiles by name, and the name of the current one.
	Profiles() (profiles []Profile, current string, err error)
	// Connect returns the account of a profile, of the one chosen by flags and environment if the name is empty. Nothing is
	// sent. NotLoggedIn is the error where somebody has to log in first.
	Connect(name string) (Account, error)
	// Login proves the secret, keeps it with the profile, and returns a note on where.
	Login(ctx context.Context, profile Profile, secret string) (account Account, note string, err error)
}

// NotLoggedIn says that no credentials are known.
type NotLoggedIn struct{ Message string }

func (n *NotLoggedIn) Error() string { return n.Message }

// LoggedIn tells the shell that there is an account to work with.
type LoggedIn struct{ Account Account }

// Memory is what is remembered from one session to the next, for the present account. Its methods read and write files and
// are called outside of Update only.
type Memory interface {
	// Recent returns the ids of a kind ("property", "user") that were opened last, the latest first.
	Recent(profile Profile, kind string) []string
	// Remember puts an id first among the recent ones.
	Remember(profile Profile, kind, id string) error
	// Draft returns a form's text that was kept; nil if none is.
	Draft(profile Profile, name string) map[string]string
	// KeepDraft keeps a form's text until it is dropped; nil drops it. Secrets are never given to it.
	KeepDraft(profile Profile, name string, values map[string]string) error
}

// Desktop is what lies outside of the terminal's own screen. Its methods are called outside of Update only.
type Desktop interface {
	// Copy puts a text on the clipboard.
	Copy(text string) error
	// Open shows an http or https address in a browser.
	Open(address string) error
}
