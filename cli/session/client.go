package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
)

// How long a single command waits between the attempts of a request: as long as a person may who is told about it. Where
// the server has not asked for it, it may not be there at all, and the person would rather know.
const (
	defaultPatience = 30 * time.Second
	defaultUnasked  = 3 * time.Second
)

// Connect returns a client of the service with a token behind it, and where it goes. Nothing is sent yet.
func (s *Session) Connect() (*client.Client, Connection, error) {
	connection, err := s.Connection()
	if err != nil {
		return nil, Connection{}, err
	}
	tokens, err := s.tokens(connection)
	if err != nil {
		return nil, Connection{}, err
	}
	config, err := s.clientConfig(connection)
	if err != nil {
		return nil, Connection{}, err
	}
	config.Tokens = tokens
	c, err := client.New(config)
	return c, connection, err
}

func (s *Session) clientConfig(connection Connection) (client.Config, error) {
	roots, err := s.Roots(connection.CACert)
	if err != nil {
		return client.Config{}, err
	}
	if s.deadline.IsZero() && s.Flags.Timeout > 0 && !s.Open {
		s.deadline = time.Now().Add(s.Flags.Timeout)
	}
	config := client.Config{
		BaseURL:   connection.APIURL,
		Sandbox:   connection.Sandbox,
		Roots:     roots,
		Timeout:   s.Flags.Timeout,
		Deadline:  s.deadline,
		UserAgent: "perksctl/" + s.Version,
		Patience:  s.Patience,
		Unasked:   s.Unasked,
		Waiting:   s.tellWaits(time.Now),
	}
	if s.Patience == 0 {
		config.Patience, config.Unasked = defaultPatience, defaultUnasked
	}
	if s.Flags.Debug {
		config.Trace = s.trace()
	}
	return config, nil
}

func (s *Session) trace() io.Writer {
	if s.Trace != nil {
		return display.Writer(s.Trace)
	}
	return s.Streams.Lines("debug")
}

func (s *Session) tokens(connection Connection) (client.TokenSource, error) {
	if connection.token != "" {
		return client.StaticToken(connection.token), nil
	}
	path, err := s.tokenPath(connection.Key())
	if err != nil && connection.secret == "" {
		return nil, err // there is neither a place for a kept secret nor one from the environment
	}
	return &tokenCache{
		path:   path,
		check:  checkOf(connection.secret),
		obtain: func(ctx context.Context) (api.Token, error) { return s.obtain(ctx, connection) },
		warn:   s.Streams.Warn,
		now:    time.Now,
	}, nil
}

// obtain exchanges the secret for a token.
func (s *Session) obtain(ctx context.Context, connection Connection) (api.Token, error) {
	secret, err := s.secret(ctx, connection)
	if err != nil {
		return api.Token{}, err
	}
	config, err := s.clientConfig(connection)
	if err != nil {
		return api.Token{}, err
	}
	c, err := client.New(config)
	if err != nil {
		return api.Token{}, err
	}
	return c.Token(ctx, client.Credentials{ID: connection.ClientID, Secret: secret})
}

func (s *Session) secret(ctx context.Context, connection Connection) (string, error) {
	if connection.secret != "" {
		if connection.ClientID == "" {
			return "", &command.NotLoggedIn{Message: EnvClientSecret + " is set, but no client id is known: set " + EnvClientID + " too."}
		}
		return connection.secret, nil
	}
	secrets, err := s.Secrets()
	if err != nil {
		return "", err
	}
	secret, err := secrets.Get(ctx, connection.Key())
	if errors.Is(err, ErrNoSecret) && s.env(EnvClientID) != "" {
		return "", &command.NotLoggedIn{Message: EnvClientID + " is set, but no secret is known for it: set " + EnvClientSecret + " too, or unset both to use a profile."}
	}
	if errors.Is(err, ErrNoSecret) {
		return "", &command.NotLoggedIn{Message: fmt.Sprintf("Not logged in at %s. Run: perksctl auth login", connection)}
	}
	return secret, err
}
