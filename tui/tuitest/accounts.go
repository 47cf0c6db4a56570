package tuitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
)

// Accounts stores profiles and secrets in memory. Its tokens are real. A protected profile changes nothing before
// it is confirmed.
type Accounts struct {
	t         testing.TB
	transport http.RoundTripper // a handlerTransport accepts any token; nil is the network

	mu       sync.Mutex
	profiles []screen.Profile
	secrets  map[string]string // by the profile's name
	tokens   []*tokens
}

// NewAccounts returns an Accounts without profiles. A nil transport is the network.
func NewAccounts(t testing.TB, transport http.RoundTripper) *Accounts {
	return &Accounts{t: t, transport: transport, secrets: map[string]string{}}
}

// Add adds a profile, and its secret if there is one.
func (a *Accounts) Add(profile screen.Profile, secret string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.profiles = slices.DeleteFunc(a.profiles, func(p screen.Profile) bool { return p.Name == profile.Name })
	a.profiles = append(a.profiles, profile)
	if secret != "" {
		a.secrets[profile.Name] = secret
	}
}

// Expire expires every token and forgets the secrets, so that a new login is needed.
func (a *Accounts) Expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secrets = map[string]string{}
	for _, t := range a.tokens {
		t.mu.Lock()
		t.current = "an expired token"
		t.mu.Unlock()
	}
}

// Profiles returns the profiles; the first is the current one.
func (a *Accounts) Profiles() ([]screen.Profile, string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.profiles) == 0 {
		return nil, "", nil
	}
	return slices.Clone(a.profiles), a.profiles[0].Name, nil
}

// Connect returns the account of a profile with a secret.
func (a *Accounts) Connect(name string) (screen.Account, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, profile := range a.profiles {
		if name == "" || profile.Name == name {
			if a.secrets[profile.Name] == "" {
				break
			}
			return a.account(profile, a.secrets[profile.Name])
		}
	}
	return screen.Account{}, &screen.NotLoggedIn{Message: "Not logged in."}
}

// Login checks the secret with the service.
func (a *Accounts) Login(
	ctx context.Context, profile screen.Profile, secret string, ask screen.AskName,
) (screen.Account, string, error) {
	a.mu.Lock()
	account, err := a.account(profile, secret)
	a.mu.Unlock()
	if err != nil {
		return screen.Account{}, "", err
	}
	if a.transport == nil {
		token, err := account.Client.Token(ctx, client.Credentials{ID: profile.ClientID, Secret: secret})
		if err == nil && token.NamesActors && profile.Actor == "" {
			if profile.Actor, err = ask("tester"); err == nil {
				a.mu.Lock()
				account, err = a.account(profile, secret)
				a.mu.Unlock()
			}
		}
		if err != nil {
			return screen.Account{}, "", err
		}
	}
	a.Add(profile, secret)
	return account, fmt.Sprintf("The secret of %s is kept by this test.", profile.Name), nil
}

func (a *Accounts) account(profile screen.Profile, secret string) (screen.Account, error) {
	config := client.Config{BaseURL: profile.APIURL, Sandbox: profile.Sandbox, Transport: a.transport,
		ClientID: profile.ClientID, Actor: profile.Actor}
	if a.transport == nil {
		network := &http.Transport{} // a new one, because a connection kept from before may have lost its server
		a.t.Cleanup(network.CloseIdleConnections)
		config.Transport = network
	}
	service, err := client.New(config)
	if err != nil {
		return screen.Account{}, err
	}
	t := &tokens{credentials: client.Credentials{ID: profile.ClientID, Secret: secret}, service: service}
	if a.transport != nil {
		t.current = "a token"
	}
	config.Tokens = t
	account := screen.Account{Profile: profile}
	if profile.Protected {
		var confirmed atomic.Bool
		config.BeforeChange = func(context.Context) error {
			if !confirmed.Load() {
				return errors.New("a change that was not confirmed")
			}
			return nil
		}
		account.Confirm = func(typed string) error {
			if typed != profile.Name {
				return errors.New("that is not the profile's name")
			}
			confirmed.Store(true)
			return nil
		}
	}
	account.Client, err = client.New(config)
	a.tokens = append(a.tokens, t)
	return account, err
}

// tokens returns a token of the service until it expires.
type tokens struct {
	credentials client.Credentials
	service     *client.Client

	mu      sync.Mutex
	current string
	scopes  atomic.Pointer[[]string]
}

func (t *tokens) Token(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == "" {
		token, err := t.service.Token(ctx, t.credentials)
		if err != nil {
			return "", err
		}
		t.current = token.AccessToken
		if scopes := strings.Fields(token.Scope); len(scopes) > 0 { // else the service does not say
			t.scopes.Store(&scopes)
		}
	}
	return t.current, nil
}

func (t *tokens) Scopes() []string {
	if scopes := t.scopes.Load(); scopes != nil {
		return *scopes
	}
	return nil
}

func (t *tokens) Replace(context.Context, string) (string, error) { return "", client.ErrNoOtherToken }

// handlerTransport is a transport that calls a handler. The handler must heed the context; if it panics with
// http.ErrAbortHandler, the connection breaks.
type handlerTransport struct{ handler http.Handler }

func (o handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		o.handler.ServeHTTP(recorder, req)
	}()
	select {
	case reason := <-done:
		switch {
		case req.Context().Err() != nil:
			return nil, req.Context().Err()
		case reason == http.ErrAbortHandler:
			return nil, io.ErrUnexpectedEOF
		case reason != nil:
			panic(reason)
		}
		res := recorder.Result()
		res.Request = req
		return res, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}
