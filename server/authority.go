package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"example.com/perks/api"
	"example.com/perks/store"
)

// ErrCredentials means that the client id and secret don't match, or that the client is disabled or has expired. Only
// its text says which, and only the log may show it: it would help an attacker.
var ErrCredentials = errors.New("the credentials are wrong")

// ErrScope means that a token was requested with a scope that the client doesn't have.
var ErrScope = errors.New("the client does not have that scope")

// ErrToken means that a bearer token is malformed, forged, expired or another issuer's, or its client disabled or
// expired.
var ErrToken = errors.New("the access token is not valid")

// Caller is the client that a verified token belongs to, with the scopes that the token has.
type Caller struct {
	ClientID    string
	Scopes      api.Scopes
	SandboxOnly bool
	NamesActors bool
	Actor       string // who sits at the client, as this request says; "" if it names nobody
}

// By returns the caller as the audit log has it.
func (c Caller) By() store.Actor { return store.ClientActor(c.ClientID, c.Actor) }

// Authority issues and verifies tokens. It caches clients and keys for seconds, so each replica notices changes soon.
type Authority struct {
	config   Config
	keys     keyring
	clients  *lru.Cache[string, cachedClient] // the clients of tokens with a valid signature
	verified *lru.Cache[[sha256.Size]byte, verifiedToken]
}

// NewAuthority uses the database, the clock and the token settings of the Config. It creates the first signing key if
// the database has no valid one.
func NewAuthority(ctx context.Context, config Config) (*Authority, error) {
	if err := config.Live.EnsureSigningKey(ctx, NewSigningKey(config.Now())); err != nil {
		return nil, err
	}
	return &Authority{
		config: config, keys: newKeyring(config.Live, config.Now),
		clients:  newLRU[string, cachedClient](cacheSize),
		verified: newLRU[[sha256.Size]byte, verifiedToken](cacheSize),
	}, nil
}

type cachedClient struct {
	store.Client
	loaded time.Time
}

// client saves a database look-up on every request.
func (a *Authority) client(ctx context.Context, id string) (store.Client, error) {
	now := a.config.Now()
	cached, _ := a.clients.Get(id)
	if age := now.Sub(cached.loaded); age >= 0 && age < cacheTime {
		return cached.Client, nil
	}
	client, err := a.config.Live.Client(ctx, id)
	if err == nil {
		a.clients.Add(id, cachedClient{client, now})
	}
	return client, err
}

// HashSecret returns what the database stores of a client's secret.
func HashSecret(secret string) store.SecretHash { return sha256.Sum256([]byte(secret)) }

// Credentials are a client id and a secret.
type Credentials struct{ ID, Secret string }

// BasicCredentials reads an "Authorization: Basic" header. By RFC 6749, section 2.3.1, both halves are URL-encoded, but
// plain RFC 7617 clients such as curl don't encode them: if the two readings differ, it returns both, the plain one
// first. For any other header it returns none.
func BasicCredentials(header string) []Credentials {
	scheme, encoded, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return nil
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return nil
	}
	id, secret, found := strings.Cut(string(decoded), ":")
	if !found || id == "" {
		return nil
	}
	pairs := []Credentials{{id, secret}}
	plainID, idErr := url.QueryUnescape(id)
	plainSecret, secretErr := url.QueryUnescape(secret)
	if unescaped := (Credentials{plainID, plainSecret}); idErr == nil && secretErr == nil && unescaped != pairs[0] {
		pairs = append(pairs, unescaped)
	}
	return pairs
}

var (
	errUnknown = fmt.Errorf("%w: there is no such client", ErrCredentials)
	errSecret  = fmt.Errorf("%w: the secret is wrong", ErrCredentials)
	errEnded   = fmt.Errorf("%w: the old secret ended", ErrCredentials)
)

// Authenticate returns the client with one of these credentials, or ErrCredentials; unknown ones take as long.
func (a *Authority) Authenticate(ctx context.Context, pairs []Credentials) (store.Client, error) {
	refusal, now := errUnknown, a.config.Now()
	for _, pair := range pairs {
		client, err := a.config.Live.Client(ctx, pair.ID)
		unknown := api.CodeOf(err) == api.CodeNotFound
		if err != nil && !unknown {
			return store.Client{}, err
		}
		matches, ended := matchSecret(client, HashSecret(pair.Secret), now)
		refused := client.Refusal(now)
		switch {
		case matches && !unknown && refused == "":
			return client, nil
		case matches && refused != "":
			refusal = fmt.Errorf("%w: the client %s", ErrCredentials, refused)
		case !ended.IsZero():
			refusal = fmt.Errorf("%w at %s", errEnded, ended.UTC().Format(time.RFC3339))
		case !unknown && refusal == errUnknown:
			refusal = errSecret
		}
	}
	return store.Client{}, refusal
}

// matchSecret tells whether a secret is the client's, or an old one that still works. ended is when an old one ended
// that no longer does.
func matchSecret(client store.Client, given store.SecretHash, at time.Time) (matches bool, ended time.Time) {
	matches = subtle.ConstantTimeCompare(given[:], client.Secret[:]) == 1
	for _, old := range client.OldSecrets {
		switch isOld := subtle.ConstantTimeCompare(given[:], old.Secret[:]) == 1; {
		case isOld && at.Before(old.Until):
			matches = true
		case isOld:
			ended = old.Until
		}
	}
	return matches, ended
}

// verifiedToken is a token whose signature was checked. Most tokens come thousands of times, and checking a signature
// takes an eighth of the time of reading a perk. What can change since is checked every time: the clock, the key, the
// client.
type verifiedToken struct {
	keyID       string
	clientID    string
	scopes      api.Scopes
	from, until time.Time // valid from <= now < until
}

// Verify returns the token's client. ErrToken is about the token or its client; other errors are the database's.
func (a *Authority) Verify(ctx context.Context, raw string) (Caller, error) {
	token, err := a.read(ctx, raw)
	if err != nil {
		return Caller{}, err
	}
	client, err := a.client(ctx, token.clientID)
	switch {
	case api.CodeOf(err) == api.CodeNotFound:
		return Caller{}, fmt.Errorf("%w: its client is gone", ErrToken)
	case err != nil:
		return Caller{}, fmt.Errorf("reading the token's client: %w", err)
	}
	if refused := client.Refusal(a.config.Now()); refused != "" {
		return Caller{}, fmt.Errorf("%w: its client %s", ErrToken, refused)
	}
	scopes := token.scopes
	if !client.Scopes.Contains(scopes) { // the client has lost some since
		scopes = slices.DeleteFunc(slices.Clone(scopes),
			func(scope api.Scope) bool { return !client.Scopes.Has(scope) })
	}
	return Caller{ClientID: client.ID, Scopes: scopes, SandboxOnly: client.SandboxOnly,
		NamesActors: client.NamesActors}, nil
}

// read checks everything but the client. The cache's keys are hashes, so that no token stays in memory.
func (a *Authority) read(ctx context.Context, raw string) (verifiedToken, error) {
	sum, now := sha256.Sum256([]byte(raw)), a.config.Now()
	if known, ok := a.verified.Get(sum); ok && !now.Before(known.from) && now.Before(known.until) {
		_, found, err := a.keys.byID(ctx, known.keyID)
		if err != nil {
			return verifiedToken{}, err
		}
		if found {
			return known, nil
		}
	}
	token, err := a.parse(ctx, raw)
	if err != nil {
		return verifiedToken{}, err
	}
	a.verified.Add(sum, token)
	return token, nil
}

// parse checks the signature (RFC 7515) and the claims (RFC 7519).
func (a *Authority) parse(ctx context.Context, raw string) (verifiedToken, error) {
	var storeErr error
	var c claims
	var keyID string
	_, err := jwt.ParseWithClaims(raw, &c, func(token *jwt.Token) (any, error) {
		if _, isCritical := token.Header["crit"]; isCritical { // RFC 7515, section 4.1.11
			return nil, errors.New("it depends on an extension that is not known here")
		}
		keyID, _ = token.Header["kid"].(string)
		key, found, err := a.keys.byID(ctx, keyID)
		storeErr = err
		if err == nil && !found {
			err = errors.New("signed with an unknown key")
		}
		return key.Secret, err
	},
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(issuer),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(a.config.Now), jwt.WithStrictDecoding(),
	)
	if storeErr != nil {
		return verifiedToken{}, storeErr
	}
	if err != nil {
		return verifiedToken{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	scopes, err := api.ParseScopes(c.Scope)
	if err != nil {
		return verifiedToken{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	token := verifiedToken{keyID: keyID, clientID: c.Subject, scopes: scopes, until: c.ExpiresAt.Time}
	if c.NotBefore != nil {
		token.from = c.NotBefore.Time
	}
	return token, nil
}

const (
	issuer   = "perksd"
	audience = "perks"
)

// MaxTokenTTL is the longest lifetime of a token. A rotated key stays valid for longer, so no token expires early.
const MaxTokenTTL = 24 * time.Hour

// KeyOverlap is how long a key verifies tokens after it was replaced: the longest lifetime of a token, plus the hour by
// which an hourly token can be older than its issue, plus an hour for clock skew.
const KeyOverlap = MaxTokenTTL + 2*time.Hour

// clockSkew is how far the clocks of two replicas may differ without one refusing what the other has just issued. A
// token is valid from that much earlier; its expiry is exact.
const clockSkew = 5 * time.Second

type claims struct {
	jwt.RegisteredClaims
	Scope string `json:"scope"`
}

// Issue signs a token for the client. The scopes must be among the client's own, else it returns ErrScope; empty means
// all of them. In hourly mode every replica returns the same token within a clock hour (UTC), and it expires late
// enough for the last of these calls to get the whole lifetime.
func (a *Authority) Issue(ctx context.Context, client store.Client, scopes api.Scopes) (api.Token, error) {
	if len(scopes) == 0 {
		scopes = client.Scopes
	}
	if !client.Scopes.Contains(scopes) {
		return api.Token{}, ErrScope
	}
	now := a.config.Now().UTC().Truncate(time.Second)
	issued, expires, id := now, now.Add(a.config.TokenTTL), uuid.NewString()
	if a.config.Hourly {
		issued = now.Truncate(time.Hour)
		expires = issued.Add(time.Hour + a.config.TokenTTL)
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", client.ID, scopes.String(), issued.Unix()))
		id = hex.EncodeToString(sum[:16])
	}
	key, err := a.keys.signing(ctx, issued)
	if err != nil {
		return api.Token{}, err
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Subject: client.ID, Audience: jwt.ClaimStrings{audience}, ID: id,
			IssuedAt:  jwt.NewNumericDate(issued),
			NotBefore: jwt.NewNumericDate(issued.Add(-clockSkew)), ExpiresAt: jwt.NewNumericDate(expires),
		},
		Scope: scopes.String(),
	})
	token.Header["kid"] = key.ID
	signed, err := token.SignedString(key.Secret)
	if err != nil {
		return api.Token{}, fmt.Errorf("signing a token: %w", err)
	}
	return api.Token{AccessToken: signed, ExpiresAt: expires, TokenType: "Bearer",
		ExpiresIn: int(expires.Sub(now) / time.Second), Scope: scopes.String(), NamesActors: client.NamesActors}, nil
}
