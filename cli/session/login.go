package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// LoggedIn is what a login has obtained and saved.
type LoggedIn struct {
	Token  Token
	Secret SavedSecret
}

// Login obtains a token, and only then saves the secret, the token and the profile, which becomes the current one. It deletes what an
// earlier login under the same name saved.
func (s *Session) Login(ctx context.Context, name string, profile Profile, secret string) (LoggedIn, error) {
	connection := Connection{Profile: profile, ProfileName: name, secret: secret}
	token, err := s.obtain(ctx, connection)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound { // the usual mistake
		advice := fmt.Sprintf("Is %s the address of the API? It ends with the path of the version, such as /v2.", profile.APIURL)
		return LoggedIn{}, &command.Advised{Err: err, Advice: advice}
	}
	if err != nil {
		return LoggedIn{}, err
	}
	secrets, err := s.Secrets()
	if err != nil {
		return LoggedIn{}, err
	}
	// The secret comes first: a token without it could not be renewed.
	saved, err := secrets.Set(ctx, connection.Key(), secret)
	if err != nil {
		return LoggedIn{}, err
	}
	connection.secret = "" // later commands have the saved one
	cache, err := s.tokenCache(connection)
	if err != nil {
		return LoggedIn{}, err
	}
	cache.current = cache.local(token)
	if err := command.WritePrivateJSON(cache.path, cache.current); err != nil {
		return LoggedIn{}, err
	}
	var before Profile
	_, err = s.UpdateConfig(ctx, func(c *Config) error {
		before = c.Profiles[name]
		c.Profiles[name] = profile
		c.Current = name
		return nil
	})
	if err != nil {
		return LoggedIn{}, err
	}
	if old := before.Key(name); before != (Profile{}) && old != connection.Key() {
		forgotten, err := s.Logout(ctx, old)
		if err != nil { // the login itself is done
			s.Streams.Warn("Of the former login, %s.", err)
		} else {
			forgotten.Warn(s.Streams)
		}
	}
	return LoggedIn{cache.current, saved}, nil
}

// Forgotten is what a logout has deleted.
type Forgotten struct {
	Secret        []Place // where it was
	Token         bool
	LeftInKeyring bool // because the keyring is switched off
}

// String names what was deleted, "" if there was nothing.
func (f Forgotten) String() string {
	var things []string
	for _, place := range f.Secret {
		things = append(things, "the secret in the "+string(place))
	}
	if f.Token {
		things = append(things, "the token")
	}
	return strings.Join(things, " and ")
}

// Warn says what could not be deleted.
func (f Forgotten) Warn(s *command.Streams) {
	if f.LeftInKeyring {
		s.Warn("%s is off: the secret that the keyring holds stays there.", EnvKeyring)
	}
}

// Logout deletes a token and then its secret, wherever it is. The profile stays, for the next login.
func (s *Session) Logout(ctx context.Context, key SecretKey) (Forgotten, error) {
	secrets, err := s.Secrets()
	if err != nil {
		return Forgotten{}, err
	}
	path, err := s.tokenPath(key)
	if err != nil {
		return Forgotten{}, err
	}
	removed := os.Remove(path)
	if removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		return Forgotten{}, removed
	}
	places, left, err := secrets.Delete(ctx, key)
	return Forgotten{places, removed == nil, left}, err
}
