package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// LoggedIn is what a login has obtained and kept.
type LoggedIn struct {
	Token  api.Token
	Secret Kept
}

// Login proves the credentials by obtaining a token with them, and only then keeps the secret, the token and the profile,
// which becomes the current one. What an earlier login under the same name left behind is forgotten.
func (s *Session) Login(ctx context.Context, name string, profile Profile, secret string) (LoggedIn, error) {
	connection := Connection{
		Profile: name, APIURL: profile.APIURL, ClientID: profile.ClientID,
		Sandbox: profile.Sandbox, InsecureHTTP: profile.InsecureHTTP, CACert: profile.CACert, secret: secret,
	}
	token, err := s.obtain(ctx, connection)
	if err != nil {
		return LoggedIn{}, notFoundAdvice(err, profile.APIURL)
	}
	kept, err := s.keep(ctx, connection, token, secret)
	if err != nil {
		return LoggedIn{}, err
	}
	file, err := s.Config()
	if err != nil {
		return LoggedIn{}, err
	}
	var before Profile
	err = file.Update(ctx, func(c *Config) error {
		before = c.Profiles[name]
		c.Profiles[name] = profile
		c.Current = name
		return nil
	})
	if err != nil {
		return LoggedIn{}, err
	}
	old := SecretKey{name, before.APIURL, before.ClientID}
	if before != (Profile{}) && old != connection.Key() {
		s.forgetFormer(ctx, old)
	}
	return LoggedIn{token, kept}, nil
}

// forgetFormer only warns when it fails: the login itself is done.
func (s *Session) forgetFormer(ctx context.Context, key SecretKey) {
	forgotten, err := s.forget(ctx, key)
	if err != nil {
		s.Streams.Warn("Of the former login, %s.", err)
		return
	}
	forgotten.Warn(s.Streams)
}

// notFoundAdvice points at the usual slip: an address that lacks the path of the API.
func notFoundAdvice(err error, address string) error {
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return &command.Advised{Err: err, Advice: fmt.Sprintf("Is %s the address of the API? It ends with the path of the version, such as /v2.", address)}
	}
	return err
}

// keep writes secret and token down. The secret comes first: a token without it would end in a login that cannot renew.
func (s *Session) keep(ctx context.Context, connection Connection, token api.Token, secret string) (Kept, error) {
	secrets, err := s.Secrets()
	if err != nil {
		return Kept{}, err
	}
	kept, err := secrets.Set(ctx, connection.Key(), secret)
	if err != nil {
		return Kept{}, err
	}
	connection.secret = "" // later commands find the secret where it is kept, not in the environment
	source, err := s.tokens(connection)
	if err != nil {
		return Kept{}, err
	}
	cache := source.(*tokenCache)
	cache.current = cache.kept(token)
	return kept, cache.save()
}

// Forgotten is what a logout has removed.
type Forgotten struct {
	Secret        []Place // the places that the secret was in
	Token         bool
	LeftInKeyring bool // because the keyring is switched off
}

// String names what is forgotten, "" if there was nothing.
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

// Warn tells what could not be forgotten.
func (f Forgotten) Warn(s *command.Streams) {
	if f.LeftInKeyring {
		s.Warn("%s is off: the secret that the keyring holds stays there.", EnvKeyring)
	}
}

// Logout forgets the profile's secret, wherever it is, and its token; the profile stays, for the next login.
func (s *Session) Logout(ctx context.Context, name string, profile Profile) (Forgotten, error) {
	return s.forget(ctx, SecretKey{name, profile.APIURL, profile.ClientID})
}

// forget removes the token even if the keyring does not let go of the secret.
func (s *Session) forget(ctx context.Context, key SecretKey) (Forgotten, error) {
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
