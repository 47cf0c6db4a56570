package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// issuer issues token-1, token-2 and so on, each valid for an hour.
type issuer struct {
	mu     sync.Mutex
	issued int
	now    time.Time
	err    error
	same   bool // always token-1, as a server with hourly tokens
}

func (i *issuer) obtain(context.Context) (api.Token, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return api.Token{}, i.err
	}
	i.issued++
	number := i.issued
	if i.same {
		number = 1
	}
	return api.Token{AccessToken: fmt.Sprint("token-", number), ExpiresAt: i.now.Add(time.Hour)}, nil
}

func newIssuer() *issuer { return &issuer{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

// cache returns the token cache of one process. Caches with the same path are of several processes.
func (i *issuer) cache(path string) *tokenCache {
	return &tokenCache{path: path, obtain: i.obtain, warn: func(string, ...any) {},
		now: func() time.Time { return i.now }}
}

func wantToken(t *testing.T, cache *tokenCache, want string) {
	t.Helper()
	if got, err := cache.Token(context.Background()); got != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestTokenIsCachedForLaterCommands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens", "x.json")
	issuer := newIssuer()
	wantToken(t, issuer.cache(path), "token-1")
	wantToken(t, issuer.cache(path), "token-1")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode().Perm(), err)
	}
}

func TestScopeIsCachedWithTheToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	issuer := newIssuer()
	cache := issuer.cache(path)
	cache.obtain = func(context.Context) (api.Token, error) {
		return api.Token{AccessToken: "t", ExpiresIn: 3600, Scope: "perks:read perks:redeem"}, nil
	}
	wantToken(t, cache, "t")
	cached, err := issuer.cache(path).token(context.Background())
	if scopes := cached.Scopes(); len(scopes) != 2 || scopes[1] != "perks:redeem" || err != nil {
		t.Errorf("got %q, %v", scopes, err)
	}
	if (Token{Scope: " "}).Scopes() != nil {
		t.Error("an unknown scope is read as no scope")
	}
}

func TestTokenIsReplacedBeforeItExpires(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	issuer := newIssuer()
	cache := issuer.cache(path)
	wantToken(t, cache, "token-1")
	issuer.now = issuer.now.Add(time.Hour - 31*time.Second)
	wantToken(t, cache, "token-1")
	issuer.now = issuer.now.Add(time.Second)
	wantToken(t, cache, "token-2")
	wantToken(t, issuer.cache(path), "token-2")
}

func TestLifetimeIsMeasuredByOwnClock(t *testing.T) {
	issuer := newIssuer()
	cache := issuer.cache(filepath.Join(t.TempDir(), "x.json"))
	cache.obtain = func(context.Context) (api.Token, error) {
		return api.Token{AccessToken: "t", ExpiresAt: issuer.now.Add(-time.Hour), ExpiresIn: 3600}, nil
	}
	wantToken(t, cache, "t")
	if !cache.fresh(cache.current) {
		t.Error("a valid token counts as expired because the server's clock is behind")
	}
}

func TestRefusedToken(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "x.json")
	t.Run("is replaced", func(t *testing.T) {
		issuer := newIssuer()
		cache := issuer.cache(path)
		wantToken(t, cache, "token-1")
		if got, err := cache.Replace(ctx, "token-1"); got != "token-2" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("is not replaced twice for two requests", func(t *testing.T) {
		issuer := newIssuer()
		cache := issuer.cache(filepath.Join(t.TempDir(), "x.json"))
		wantToken(t, cache, "token-1")
		for range 2 {
			if got, _ := cache.Replace(ctx, "token-1"); got != "token-2" {
				t.Errorf("got %q", got)
			}
		}
	})
	t.Run("is replaced by another process", func(t *testing.T) {
		issuer := newIssuer()
		path := filepath.Join(t.TempDir(), "x.json")
		mine, other := issuer.cache(path), issuer.cache(path)
		wantToken(t, mine, "token-1")
		if _, err := other.Replace(ctx, "token-1"); err != nil {
			t.Fatal(err)
		}
		if got, _ := mine.Replace(ctx, "token-1"); got != "token-2" || issuer.issued != 2 {
			t.Errorf("got %q, %d issued", got, issuer.issued)
		}
	})
	t.Run("is not replaced by the same token", func(t *testing.T) {
		issuer := newIssuer()
		issuer.same = true
		cache := issuer.cache(filepath.Join(t.TempDir(), "x.json"))
		wantToken(t, cache, "token-1")
		if _, err := cache.Replace(ctx, "token-1"); !errors.Is(err, client.ErrNoOtherToken) {
			t.Errorf("got %v", err)
		}
	})
}

func TestManyProcessesObtainOneToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	issuer := newIssuer()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { wantToken(t, issuer.cache(path), "token-1") })
	}
	group.Wait()
	if issuer.issued != 1 {
		t.Errorf("%d tokens issued, want 1", issuer.issued)
	}
}

func TestTokenOfAnotherSecretIsNotUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	issuer := newIssuer()
	right, wrong := issuer.cache(path), issuer.cache(path)
	right.check, wrong.check = checkOf("right"), checkOf("wrong")
	wantToken(t, right, "token-1")
	issuer.err = errors.New("invalid_client")
	if _, err := wrong.Token(context.Background()); err == nil {
		t.Error("a wrong secret got the token of the right one")
	}
	wantToken(t, issuer.cacheWith(path, "right"), "token-1")
}

func (i *issuer) cacheWith(path, secret string) *tokenCache {
	cache := i.cache(path)
	cache.check = checkOf(secret)
	return cache
}

func TestCorruptCacheIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	if err := command.WritePrivate(path, []byte(`{"access_token":`)); err != nil {
		t.Fatal(err)
	}
	issuer := newIssuer()
	wantToken(t, issuer.cache(path), "token-1")
	wantToken(t, issuer.cache(path), "token-1")
}

func TestTokenWithoutCacheFileIsUsed(t *testing.T) {
	issuer := newIssuer()
	cache := issuer.cache("")
	cache.warn = t.Errorf
	wantToken(t, cache, "token-1")
	wantToken(t, cache, "token-1")
	if got, err := cache.Replace(context.Background(), "token-1"); got != "token-2" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTokenThatCannotBeSavedIsUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a-file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	issuer := newIssuer()
	cache := issuer.cache(filepath.Join(file, "tokens", "x.json"))
	var warning string
	cache.warn = func(format string, args ...any) { warning = fmt.Sprintf(format, args...) }
	wantToken(t, cache, "token-1")
	wantToken(t, cache, "token-1")
	if !strings.HasPrefix(warning, "The token cannot be saved") || issuer.issued != 1 {
		t.Errorf("%d issued, warning %q", issuer.issued, warning)
	}
}

// TestWaitForTheTokenLockIsInterrupted cancels the wait while another process has the lock, but not the request.
func TestWaitForTheTokenLockIsInterrupted(t *testing.T) {
	cache := (&issuer{}).cache(filepath.Join(t.TempDir(), "token.json"))
	unlock, err := command.LockFile(t.Context(), cache.path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	until, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := cache.Token(client.WithWaitContext(t.Context(), until)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
