package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

func (x *examination) checkConfiguration(context.Context) finding {
	file, err := x.session.Config()
	if err != nil {
		return warn("", "%s", sentence(err.Error()))
	}
	path := string(file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fine("There is no %s.", path)
	}
	c, err := file.Load()
	if err != nil {
		return fail(command.Usagef("%s.", err), "")
	}
	for _, each := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(each); err == nil && info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows" {
			return warn("Run chmod go-w "+each, "%s can be changed by other users of this computer, who could send your secret elsewhere.", each)
		}
	}
	return fine("%s holds %s.", path, count(len(c.Profiles), "profile"))
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func (x *examination) checkProfile(context.Context) finding {
	connection, err := x.session.Connection()
	if err != nil {
		return fail(err, "")
	}
	base, err := client.ParseBaseURL(connection.APIURL)
	if err != nil {
		return fail(command.Usagef("%s.", err), "")
	}
	x.connection, x.base = connection, base
	as := ""
	if connection.ClientID != "" {
		as = " as " + connection.ClientID
	}
	return fine("Commands go to %s%s.%s", connection.Place(), as, x.overrides())
}

// overrides names the environment that goes before the profile.
func (x *examination) overrides() string {
	var set []string
	for _, name := range []string{session.EnvProfile, session.EnvAPIURL, session.EnvClientID, session.EnvClientSecret, session.EnvToken, session.EnvCACert} {
		if x.session.Env(name) != "" {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return ""
	}
	return " Set in the environment: " + strings.Join(set, ", ") + "."
}

// checkSecret asks the keyring only where a secret of this computer is needed.
func (x *examination) checkSecret(ctx context.Context) finding {
	if x.connection.FromEnvironment() {
		return fine("The environment gives what is needed; nothing that is kept here is used.")
	}
	secrets, err := x.session.Secrets()
	if err != nil {
		return fail(err, "")
	}
	place, _, err := secrets.Place(x.connection.Key())
	if err != nil {
		return fail(&command.NotLoggedIn{Message: sentence(err.Error())}, "")
	}
	off, err := secrets.KeyringState(ctx)
	where := x.kept(place, secrets.File())
	switch {
	case off:
		return fine("%s", join(session.EnvKeyring+" is off.", where))
	case err == nil:
		return fine("%s", join("The keyring answers.", where))
	case place == session.InKeyring:
		return fail(&command.NotLoggedIn{Message: fmt.Sprintf("The secret is in the keyring: %s.", err)}, keyringAdvice+", and log in again")
	case errors.Is(err, session.ErrNoKeyring):
		return fine("%s", join("There is no keyring here; secrets are kept in a file.", where))
	}
	return warn(keyringAdvice, "%s", join(sentence(err.Error()), where))
}

func join(sentences ...string) string { return strings.TrimSpace(strings.Join(sentences, " ")) }

const keyringAdvice = "Unlock or start the keyring; or set " + session.EnvKeyring + "=off to keep secrets in a file"

func (x *examination) kept(place session.Place, file string) string {
	switch place {
	case session.InKeyring:
		return "The secret is in the keyring."
	case session.InFile:
		return "The secret is in the file " + file + ", which only you can read."
	}
	if x.base == nil {
		return "" // no profile is known
	}
	return "No secret is kept for this profile."
}

func (x *examination) checkVersion(context.Context) finding {
	found := fmt.Sprintf("perksctl %s (%s, %s/%s)", x.session.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if x.server != "" {
		found += "; the server is version " + x.server
	}
	return fine("%s.", found)
}
