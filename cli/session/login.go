package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/config"
	"example.com/perks/cli/exit"
)

// Login proves the credentials by obtaining a token with them, and only then keeps the secret, the token and the profile,
// which becomes the current one. What an earlier login under the same name left behind is forgotten.
func (s *Session) Login(ctx context.Context, name string, profile config.Profile, secret string) (api.Token, error) {
	connection := Connection{
		Profile: name, APIURL: profile.APIURL, ClientID: profile.ClientID,
		Sandbox: profile.Sandbox, InsecureHTTP: profile.InsecureHTTP, secret: secret,
	}
	token, err := s.obtain(ctx, connection)
	if err != nil {
		return api.Token{}, notFoundAdvice(err, profile.APIURL)
	}
	if err := s.keep(ctx, connection, token, secret); err != nil {
		return api.Token{}, err
	}
	file, err := s.Config()
	if err != nil {
		return api.Token{}, err
	}
	var before config.Profile
	err = file.Update(ctx, func(c *config.Config) error {
		before = c.Profiles[name]
		c.Profiles[name] = profile
		c.Current = name
		return nil
	})
	if err != nil {
		return api.Token{}, err
	}
	old := SecretKey{name, before.APIURL, before.ClientID}
	if before != (config.Profile{}) && old != connection.Key() {
		err = s.forget(ctx, old)
	}
	return token, err
}

// notFoundAdvice points at the usual slip: an address that lacks the path of the API.
func notFoundAdvice(err error, address string) error {
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return &exit.Advised{Err: err, Advice: fmt.Sprintf("Is %s the address of the API? It ends with the path of the version, such as /v2.", address)}
	}
	return err
}

// keep writes secret and token down. The secret comes first: a token without it would end in a login that cannot renew.
func (s *Session) keep(ctx context.Context, connection Connection, token api.Token, secret string) error {
	secrets, err := s.Secrets()
	if err != nil {
		return err
	}
	if err := secrets.Set(ctx, connection.Key(), secret); err != nil {
		return err
	}
	connection.secret = "" // later commands find the secret where it is kept, not in the environment
	source, err := s.tokens(connection)
	if err != nil {
		return err
	}
	cache := source.(*tokenCache)
	cache.current = cache.kept(token)
	return cache.save()
}

// Logout forgets the profile's secret and token; the profile stays, for the next login. It tells whether there was a
// secret.
func (s *Session) Logout(ctx context.Context, name string, profile config.Profile) (bool, error) {
	key := SecretKey{name, profile.APIURL, profile.ClientID}
	secrets, err := s.Secrets()
	if err != nil {
		return false, err
	}
	_, err = secrets.Get(ctx, key)
	if err != nil && !errors.Is(err, ErrNoSecret) {
		return false, err
	}
	return err == nil, s.forget(ctx, key)
}

func (s *Session) forget(ctx context.Context, key SecretKey) error {
	secrets, err := s.Secrets()
	if err != nil {
		return err
	}
	if err := secrets.Delete(ctx, key); err != nil {
		return err
	}
	path, err := s.tokenPath(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
