package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

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
	connection := Connection{Profile: profile, ProfileName: name, secret: secret}
	token, err := s.obtain(ctx, connection)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound { // the usual slip
		advice := fmt.Sprintf("Is %s the address of the API? It ends with the path of the version, such as /v2.", profile.APIURL)
		return LoggedIn{}, &command.Advised{Err: err, Advice: advice}
	}
	if err != nil {
		return LoggedIn{}, err
	}
	kept, err := s.keep(ctx, connection, token, secret)
	if err != nil {
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
	return LoggedIn{token, kept}, nil
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

// Logout forgets a secret, wherever it is, and its token, the latter even if the keyring does not let go of the secret. The
// profile stays, for the next login.
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

// early is how long before its end a token is replaced, so that it does not end on the way.
const early = 30 * time.Second

// lockTime is how long another process may take to obtain a token. One that was stopped while it held the lock must not stop
// all others.
const lockTime = time.Minute

// Token is a token that can be used now, and what is known of it.
type Token struct {
	Value     string
	ExpiresAt time.Time // zero if that is not known
	Scopes    []string  // nil if the server does not tell
}

// Token returns the token of a connection: the one from the environment, of which nothing else is known, the kept one, or a
// new one.
func (s *Session) Token(ctx context.Context, connection Connection) (Token, error) {
	tokens, err := s.tokens(connection)
	if err != nil {
		return Token{}, err
	}
	if cache, ok := tokens.(*tokenCache); ok {
		kept, err := cache.token(ctx)
		return Token{kept.AccessToken, kept.ExpiresAt, ScopesOf(kept.Scope)}, err
	}
	value, err := tokens.Token(ctx)
	return Token{Value: value}, err
}

// NewToken proves that a token can be had: it obtains one even where another is kept, and keeps none. A token from the
// environment is returned as it is.
func (s *Session) NewToken(ctx context.Context, connection Connection) (Token, error) {
	if connection.token != "" {
		return Token{Value: connection.token}, nil
	}
	token, err := s.obtain(ctx, connection)
	return Token{token.AccessToken, token.ExpiresAt, ScopesOf(token.Scope)}, err
}

// ScopesOf splits the scope of a token's answer. It returns nil for one that does not tell.
func ScopesOf(scope string) []string {
	if names := strings.Fields(scope); len(names) > 0 {
		return names
	}
	return nil
}

// tokenCache is a client.TokenSource that keeps its token in a file, from which later commands take it. Of several
// processes that need a token at once, one obtains it under a lock and the others take it from the file.
type tokenCache struct {
	path   string // "" where there is no place to keep anything
	check  string // must be the same for a kept token to be used
	obtain func(context.Context) (api.Token, error)
	warn   func(format string, args ...any)
	now    func() time.Time

	mu      sync.Mutex
	current keptToken
}

type keptToken struct {
	AccessToken string    `json:"access_token"`
	ExpiresAt   time.Time `json:"expires_at"`
	Scope       string    `json:"scope,omitempty"` // as the server wrote it; "" if it does not tell
	Check       string    `json:"check,omitempty"`
}

// Token returns the kept token, or obtains one.
func (c *tokenCache) Token(ctx context.Context) (string, error) {
	token, err := c.token(ctx)
	return token.AccessToken, err
}

func (c *tokenCache) token(ctx context.Context) (keptToken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh(c.current) {
		return c.current, nil
	}
	if kept := c.load(); c.fresh(kept) {
		c.current = kept
		return kept, nil
	}
	err := c.renew(ctx, "")
	return c.current, err
}

// Replace obtains a token in the place of the refused one, unless another process or goroutine has done so.
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

// renew obtains a token under the lock. Where nothing can be kept, the command still does its work.
func (c *tokenCache) renew(ctx context.Context, refused string) error {
	obtain := func() error {
		token, err := c.obtain(ctx)
		if err == nil {
			c.current = c.kept(token)
		}
		return err
	}
	if c.path == "" {
		return obtain()
	}
	waiting, stop := client.Waits(ctx)
	defer stop()
	patient, release := context.WithTimeout(waiting, lockTime)
	defer release()
	unlock, err := command.LockFile(patient, c.path)
	if err != nil {
		if waiting.Err() != nil {
			return err
		}
		c.warn("The token cannot be kept for the next command: %s.", err)
		return obtain()
	}
	defer unlock()
	if kept := c.load(); c.fresh(kept) && kept.AccessToken != refused {
		c.current = kept
		return nil
	}
	if err := obtain(); err != nil {
		return err
	}
	if err := c.save(); err != nil {
		c.warn("The token cannot be kept for the next command: %s.", err)
	}
	return nil
}

// kept prefers the lifetime to the instant, because this computer's clock may differ from the server's.
func (c *tokenCache) kept(token api.Token) keptToken {
	expires := token.ExpiresAt
	if token.ExpiresIn > 0 {
		expires = c.now().Add(time.Duration(token.ExpiresIn) * time.Second)
	}
	return keptToken{AccessToken: token.AccessToken, ExpiresAt: expires, Scope: token.Scope, Check: c.check}
}

func (c *tokenCache) fresh(token keptToken) bool {
	return token.AccessToken != "" && token.Check == c.check && c.now().Add(early).Before(token.ExpiresAt)
}

// load returns no token when there is none that can be read: a new one is easily had.
func (c *tokenCache) load() keptToken {
	text, err := command.ReadPrivate(c.path)
	var kept keptToken
	if err != nil || json.Unmarshal(text, &kept) != nil {
		return keptToken{}
	}
	return kept
}

func (c *tokenCache) save() error {
	text, err := json.Marshal(c.current) // #nosec G117 -- a file of tokens, which only its owner reads
	if err != nil {
		return err
	}
	return command.WritePrivate(c.path, text)
}

// tokenPath names the file after the profile, address and client, none of which need be fit for a file's name.
func (s *Session) tokenPath(key SecretKey) (string, error) {
	dir, err := s.Folder()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{key.Profile, key.APIURL, key.ClientID}, "\x00")))
	return filepath.Join(dir, "tokens", hex.EncodeToString(sum[:16])+".json"), nil
}

// checkOf tells secrets from the environment apart without giving them away: two bytes of a hash do not confirm a guess.
// A token that was obtained with one secret is then not used for another, wrong one.
func checkOf(secret string) string {
	if secret == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:2])
}
