package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// LoggedIn is what a login has obtained and saved.
type LoggedIn struct {
	Profile Profile // as it is saved
	Token   Token
	Secret  SavedSecret
}

// Login obtains a token, and only then saves the secret, the token and the profile, which becomes the current one. It
// deletes what an earlier login under the same name saved. ask, unless it is nil, asks for the name of who sits at the
// client if that may name somebody and nothing else does; it offers a name, or "".
func (s *Session) Login(
	ctx context.Context, name string, profile Profile, secret string, ask func(offered string) (string, error),
) (LoggedIn, error) {
	connection := Connection{Profile: profile, ProfileName: name, secret: secret}
	token, err := s.obtain(ctx, connection)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound { // the usual mistake
		advice := fmt.Sprintf("Is %s the address of the API? It ends with the path of the version, such as /v2.",
			profile.APIURL)
		if refused.CredentialsRefused { // some services find no such client
			advice = "Check the client's id and secret. " + advice
		}
		return LoggedIn{}, &command.Advised{Err: err, Advice: advice}
	}
	if err != nil {
		return LoggedIn{}, err
	}
	if profile.Actor == "" && token.NamesActors && ask != nil && s.env(EnvActor) == "" {
		if profile.Actor, err = ask(s.ownName()); err != nil {
			return LoggedIn{}, err
		}
	}
	if err := CheckActor(profile.Actor); err != nil {
		return LoggedIn{}, err
	}
	if profile.Actor != "" && !token.NamesActors {
		s.Streams.Warn("The service has not said that the client %[1]s may name %[2]q: perksd refuses its requests "+
			"until its operator allows it with 'perksd client update %[1]s --actors'.", profile.ClientID, profile.Actor)
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
		deleted, err := s.Logout(ctx, old)
		if err != nil { // the login itself is done
			s.Streams.Warn("From the earlier login: %s.", command.Plain(err))
		} else {
			deleted.Warn(s.Streams)
		}
	}
	return LoggedIn{profile, cache.current, saved}, nil
}

// ownName is the name of the account that runs the command, or "" if nobody can sit at a client under it.
func (s *Session) ownName() string {
	name := cmp.Or(s.env("USER"), s.env("LOGNAME"), s.env("USERNAME")) // the last on Windows
	if api.ActorRule(name) != "" {
		return ""
	}
	return name
}

// Rename gives a profile another name, with its secret. The next command obtains a new token.
func (s *Session) Rename(ctx context.Context, from, to string) (Config, error) {
	secrets, err := s.Secrets()
	if err != nil {
		return Config{}, err
	}
	var profile Profile
	c, err := s.UpdateConfig(ctx, func(c *Config) error {
		var known, taken bool
		profile, known = c.Profiles[from]
		_, taken = c.Profiles[to]
		invalid := CheckName("profile", to)
		switch {
		case !known:
			return UnknownProfile(from, *c)
		case invalid != nil:
			return command.Usagef("%s.", invalid)
		case taken:
			return command.Usagef("There is a profile %q already.", to)
		}
		secret, err := secrets.Get(ctx, profile.Key(from))
		if err == nil {
			_, err = secrets.Set(ctx, profile.Key(to), secret)
		}
		if err != nil && !errors.Is(err, ErrNoSecret) {
			return err
		}
		if c.CurrentName() == from {
			c.Current = to
		}
		c.Profiles[to] = profile
		delete(c.Profiles, from)
		return nil
	})
	if err != nil {
		return Config{}, err
	}
	_, err = s.Logout(ctx, profile.Key(from))
	return c, err
}

// Deleted is what a logout has deleted.
type Deleted struct {
	Secret        []Location // where it was
	Token         bool
	LeftInKeyring bool // because the keyring is switched off
}

// String names what was deleted, "" if there was nothing.
func (d Deleted) String() string {
	var things []string
	for _, location := range d.Secret {
		things = append(things, "the secret in the "+string(location))
	}
	if d.Token {
		things = append(things, "the token")
	}
	return strings.Join(things, " and ")
}

// Warn says what could not be deleted.
func (d Deleted) Warn(s *command.Streams) {
	if d.LeftInKeyring {
		s.Warn("%s is off: the keyring still has the secret.", EnvKeyring)
	}
}

// Logout deletes a token and then its secret, wherever it is. The profile stays, for the next login.
func (s *Session) Logout(ctx context.Context, key SecretKey) (Deleted, error) {
	secrets, err := s.Secrets()
	if err != nil {
		return Deleted{}, err
	}
	path, err := s.tokenPath(key)
	if err != nil {
		return Deleted{}, err
	}
	removed := os.Remove(path)
	_ = os.Remove(positionPath(path))
	// Like the token, the responses are of no use to anybody else.
	_ = os.RemoveAll(responsesDir(filepath.Dir(filepath.Dir(path)), key))
	if removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		return Deleted{}, removed
	}
	locations, left, err := secrets.Delete(ctx, key)
	return Deleted{locations, removed == nil, left}, err
}

// Token is a token that can be used now, as the file keeps it for later commands.
type Token struct {
	AccessToken string    `json:"access_token"`
	ExpiresAt   time.Time `json:"expires_at"`       // zero if that is not known
	Scope       string    `json:"scope,omitempty"`  // as the server wrote it; "" if it does not say
	NamesActors bool      `json:"actors,omitempty"` // the client may say who sits at it
	Check       string    `json:"check,omitempty"`
}

// Scopes returns the scopes of the token, nil if the server does not say.
func (t Token) Scopes() []string {
	if names := strings.Fields(t.Scope); len(names) > 0 {
		return names
	}
	return nil
}

// Token returns the token of a connection: that of the environment, of which nothing else is known, a saved one, or a
// new one.
func (s *Session) Token(ctx context.Context, connection Connection) (Token, error) {
	if connection.token != "" {
		return Token{AccessToken: connection.token}, nil
	}
	cache, err := s.tokenCache(connection)
	if err != nil {
		return Token{}, err
	}
	return cache.token(ctx)
}

// NewToken obtains a token even if another is saved, and does not save it. A token from the environment is returned as
// it is.
func (s *Session) NewToken(ctx context.Context, connection Connection) (Token, error) {
	cache, err := s.tokenCache(connection)
	if err != nil || connection.token != "" {
		return Token{AccessToken: connection.token}, err
	}
	token, err := cache.obtain(ctx)
	return cache.local(token), err
}

// tokens returns where the client of a connection gets its tokens.
func (s *Session) tokens(connection Connection) (client.TokenSource, error) {
	if connection.token != "" {
		return client.StaticToken(connection.token), nil
	}
	return s.tokenCache(connection)
}

func (s *Session) tokenCache(connection Connection) (*tokenCache, error) {
	path, err := s.tokenPath(connection.Key())
	if err != nil && connection.secret == "" && connection.token == "" {
		return nil, err // a secret can be neither saved nor read
	}
	return &tokenCache{
		path:   path,
		check:  checkOf(connection.secret),
		obtain: func(ctx context.Context) (api.Token, error) { return s.obtain(ctx, connection) },
		warn:   s.Streams.Warn,
		now:    time.Now,
	}, nil
}

// early is how long before a token expires it is replaced, so that it is valid when it arrives.
const early = 30 * time.Second

// tokenLockTime is how long another process may take to obtain a token. A process that was stopped while it had the
// lock must not stop all others.
const tokenLockTime = time.Minute

// tokenCache is a client.TokenSource that saves its token in a file for later commands. Of several processes that need
// a token, one obtains it under a lock and the others read the file.
type tokenCache struct {
	path   string // "" if nothing can be saved
	check  string // a saved token with another check is not used
	obtain func(context.Context) (api.Token, error)
	warn   func(format string, args ...any)
	now    func() time.Time

	mu      sync.Mutex
	current Token
	scopes  atomic.Pointer[[]string] // of the current token
}

// keep makes a token the current one.
func (c *tokenCache) keep(token Token) {
	c.current = token
	scopes := token.Scopes()
	c.scopes.Store(&scopes)
}

// Scopes returns those of the token that was used last, and nil before there is one, or if the service named none.
func (c *tokenCache) Scopes() []string {
	if scopes := c.scopes.Load(); scopes != nil {
		return *scopes
	}
	return nil
}

// Token returns the saved token, or obtains one.
func (c *tokenCache) Token(ctx context.Context) (string, error) {
	token, err := c.token(ctx)
	return token.AccessToken, err
}

func (c *tokenCache) token(ctx context.Context) (Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh(c.current) {
		return c.current, nil
	}
	if saved := c.load(); c.fresh(saved) {
		c.keep(saved)
		return saved, nil
	}
	err := c.renew(ctx, "")
	return c.current, err
}

// Replace obtains a token to replace a refused one, unless another process or goroutine has done so.
func (c *tokenCache) Replace(ctx context.Context, refused string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fresh(c.current) || c.current.AccessToken == refused {
		if err := c.renew(ctx, refused); err != nil {
			return "", err
		}
	}
	if c.current.AccessToken == refused {
		return "", client.ErrNoOtherToken
	}
	return c.current.AccessToken, nil
}

// renew obtains a token under the lock. It only warns if the token cannot be saved.
func (c *tokenCache) renew(ctx context.Context, refused string) error {
	var lockErr error
	if c.path != "" {
		waiting, stop := client.WaitContext(ctx)
		defer stop()
		limited, cancel := context.WithTimeout(waiting, tokenLockTime)
		defer cancel()
		var unlock func()
		if unlock, lockErr = command.LockFile(limited, c.path); lockErr == nil {
			defer unlock()
			if saved := c.load(); c.fresh(saved) && saved.AccessToken != refused {
				c.keep(saved)
				return nil
			}
		} else if waiting.Err() != nil {
			return lockErr
		}
	}
	token, err := c.obtain(ctx)
	if err != nil {
		return err
	}
	c.keep(c.local(token))
	if c.path != "" && lockErr == nil {
		lockErr = command.WritePrivateJSON(c.path, c.current)
	}
	if lockErr != nil {
		c.warn("The token cannot be saved for the next command: %s.", lockErr)
	}
	return nil
}

// local computes the expiry from the lifetime, because this computer's clock may differ from the server's.
func (c *tokenCache) local(token api.Token) Token {
	expires := token.ExpiresAt
	if token.ExpiresIn > 0 {
		expires = c.now().Add(time.Duration(token.ExpiresIn) * time.Second)
	}
	return Token{AccessToken: token.AccessToken, ExpiresAt: expires, Scope: token.Scope,
		NamesActors: token.NamesActors, Check: c.check}
}

func (c *tokenCache) fresh(token Token) bool {
	return token.AccessToken != "" && token.Check == c.check && c.now().Add(early).Before(token.ExpiresAt)
}

// load returns no token if the file cannot be read: a new one is cheap.
func (c *tokenCache) load() (saved Token) {
	if command.ReadPrivateJSON(c.path, &saved) != nil {
		return Token{}
	}
	return saved
}

// tokenPath hashes profile, address and client, because they may not be valid in a file's name.
func (s *Session) tokenPath(key SecretKey) (string, error) {
	dir, err := s.Dir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "tokens", HashOf(key.Profile, key.APIURL, key.ClientID)+".json"), nil
}

// checkOf tells secrets from the environment apart without revealing them: two bytes of a hash are too few to verify a
// secret. A token obtained with one secret is not used with another, wrong one.
func checkOf(secret string) string {
	if secret == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:2])
}
