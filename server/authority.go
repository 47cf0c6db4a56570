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

// ErrCredentials means that client id and secret do not belong together, or that the client is shut out. Which of these it
// is stands in the text alone, and only the operator may read it: it would help who guesses.
var ErrCredentials = errors.New("the credentials are wrong")

// ErrScope means that a token was asked for with a scope that the client does not have.
var ErrScope = errors.New("the client does not have that scope")

// ErrToken means that a bearer token is malformed, forged, expired, not ours, or its client is shut out.
var ErrToken = errors.New("the access token is not valid")

// Caller is who a verified token speaks for.
type Caller struct {
	ClientID    string
	Scopes      api.Scopes
	SandboxOnly bool
}

// Authority issues tokens and verifies them. What must hold on every replica at once it reads from the database, and believes for a
// few seconds at most.
type Authority struct {
	config   Config
	keys     keyring
	clients  *lru.Cache[string, cachedClient] // those that a validly signed token named
	verified *lru.Cache[[sha256.Size]byte, verified]
}

// NewAuthority makes an Authority of the Config's database, clock and settings of tokens. It makes the first signing key if the
// database has none that is valid.
func NewAuthority(ctx context.Context, config Config) (*Authority, error) {
	key, err := NewSigningKey(config.Now())
	if err != nil {
		return nil, err
	}
	if err := config.Live.EnsureSigningKey(ctx, key); err != nil {
		return nil, err
	}
	return &Authority{
		config: config, keys: keyring{store: config.Live, now: config.Now},
		clients: newLRU[string, cachedClient](), verified: newLRU[[sha256.Size]byte, verified](),
	}, nil
}

type cachedClient struct {
	store.Client
	loaded time.Time
}

// client spares a look-up of the client on every request.
func (a *Authority) client(ctx context.Context, id string) (store.Client, error) {
	now := a.config.Now()
	cached, _ := a.clients.Get(id)
	if age := now.Sub(cached.loaded); age >= 0 && age < clientsFreshFor {
		return cached.Client, nil
	}
	client, err := a.config.Live.Client(ctx, id)
	if err == nil {
		a.clients.Add(id, cachedClient{client, now})
	}
	return client, err
}

// HashSecret is how a client's secret is stored.
func HashSecret(secret string) store.SecretHash { return sha256.Sum256([]byte(secret)) }

// Pair is a client id and a secret as one reading of an Authorization header gives them.
type Pair struct{ ID, Secret string }

// BasicPairs reads an "Authorization: Basic" header. RFC 6749, section 2.3.1 has both halves URL-encoded, plain RFC 7617
// clients such as curl do not encode: where the two readings differ both are returned, the plain one first. Anything
// that is not Basic gives none.
func BasicPairs(header string) []Pair {
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
	pairs := []Pair{{id, secret}}
	plainID, idErr := url.QueryUnescape(id)
	plainSecret, secretErr := url.QueryUnescape(secret)
	if unescaped := (Pair{plainID, plainSecret}); idErr == nil && secretErr == nil && unescaped != pairs[0] {
		pairs = append(pairs, unescaped)
	}
	return pairs
}

// The ways in which credentials are wrong.
var (
	errUnknown  = fmt.Errorf("%w: there is no such client", ErrCredentials)
	errSecret   = fmt.Errorf("%w: the secret is wrong", ErrCredentials)
	errDisabled = fmt.Errorf("%w: the client is disabled", ErrCredentials)
)

// Authenticate returns the client whose credentials one of the pairs holds, or ErrCredentials. An unknown client costs as
// much work as a known one. The error's text says more, for those who may know which clients there are.
func (a *Authority) Authenticate(ctx context.Context, pairs []Pair) (store.Client, error) {
	refusal := errUnknown
	for _, pair := range pairs {
		client, err := a.config.Live.Client(ctx, pair.ID)
		unknown := api.CodeOf(err) == api.CodeNotFound
		if err != nil && !unknown {
			return store.Client{}, err
		}
		given := HashSecret(pair.Secret)
		matches := subtle.ConstantTimeCompare(given[:], client.Secret[:]) == 1
		if matches && !unknown && !client.Disabled {
			return client, nil
		}
		switch {
		case matches && client.Disabled:
			refusal = errDisabled
		case !unknown && refusal == errUnknown:
			refusal = errSecret
		}
	}
	return store.Client{}, refusal
}

// verified is what a token says whose signature was checked, and by which key: checking it takes an eighth of the time that a perk
// is read in, and most tokens come thousands of times. What can change meanwhile is checked every time: the clock, the key, the client.
type verified struct {
	keyID       string
	clientID    string
	scopes      api.Scopes
	from, until time.Time // until itself is too late
}

// Verify returns who the token speaks for. ErrToken covers everything that is wrong with the token or its client; other
// errors are the store's.
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
	case client.Disabled:
		return Caller{}, fmt.Errorf("%w: its client is disabled", ErrToken)
	}
	scopes := token.scopes
	if !client.Scopes.Contains(scopes) { // it speaks for those that its client still has
		scopes = slices.DeleteFunc(slices.Clone(scopes), func(scope api.Scope) bool { return !client.Scopes.Has(scope) })
	}
	return Caller{ClientID: client.ID, Scopes: scopes, SandboxOnly: client.SandboxOnly}, nil
}

// read checks all of a token but its client. Tokens are kept under their hash, so that none of them lies in memory.
func (a *Authority) read(ctx context.Context, raw string) (verified, error) {
	sum, now := sha256.Sum256([]byte(raw)), a.config.Now()
	if known, ok := a.verified.Get(sum); ok && !now.Before(known.from) && now.Before(known.until) {
		_, found, err := a.keys.byID(ctx, known.keyID)
		if err != nil {
			return verified{}, err
		}
		if found {
			return known, nil
		}
	}
	token, err := a.parse(ctx, raw)
	if err != nil {
		return verified{}, err
	}
	a.verified.Add(sum, token)
	return token, nil
}

// parse checks the signature (RFC 7515) and the claims (RFC 7519).
func (a *Authority) parse(ctx context.Context, raw string) (verified, error) {
	var storeErr error
	var c claims
	var keyID string
	_, err := jwt.ParseWithClaims(raw, &c, func(token *jwt.Token) (any, error) {
		keyID, _ = token.Header["kid"].(string)
		key, found, err := a.keys.byID(ctx, keyID)
		storeErr = err
		if err == nil && !found {
			err = errors.New("signed with an unknown key")
		}
		return key.Secret, err
	},
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(a.config.Now),
		jwt.WithStrictDecoding(),
	)
	if storeErr != nil {
		return verified{}, storeErr
	}
	if err != nil {
		return verified{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	scopes, err := api.ParseScopes(c.Scope)
	if err != nil {
		return verified{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	token := verified{keyID: keyID, clientID: c.Subject, scopes: scopes, until: c.ExpiresAt.Time}
	if c.NotBefore != nil {
		token.from = c.NotBefore.Time
	}
	return token, nil
}

// What every token of ours says of its origin and its purpose.
const (
	issuer   = "perksd"
	audience = "perks"
)

// MaxTokenTTL is the longest life that a token can be given. Rotated keys outlive it, so no valid token dies with its key.
const MaxTokenTTL = 24 * time.Hour

// KeyOverlap is how long a key verifies after a newer one is there: the longest life of a token, the hour by which an
// hourly token can be older than its issue, and an hour for clocks that differ.
const KeyOverlap = MaxTokenTTL + 2*time.Hour

// clockDifference is how far the clocks of two replicas may differ without one refusing what the other has just issued. It
// is taken off the start of a token's life; the end is exact.
const clockDifference = 5 * time.Second

type claims struct {
	jwt.RegisteredClaims
	Scope string `json:"scope"`
}

// Issue signs a token for the client. Scopes narrows it and must be among the client's own, else ErrScope; empty means
// all of them. In hourly mode the token is the same for every call within a clock hour (UTC), on every replica, and
// its expiry leaves even the last of these calls the whole lifetime.
func (a *Authority) Issue(ctx context.Context, client store.Client, scopes api.Scopes) (api.Token, error) {
	if len(scopes) == 0 {
		scopes = client.Scopes
	}
	if !client.Scopes.Contains(scopes) {
		return api.Token{}, ErrScope
	}
	now := a.config.Now().UTC().Truncate(time.Second)
	issued, expires, id := now, now.Add(a.config.TokenTTL), ""
	if a.config.Hourly {
		issued = now.Truncate(time.Hour)
		expires = issued.Add(time.Hour + a.config.TokenTTL)
		// The same on every replica, so it is derived and not random.
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", client.ID, scopes.String(), issued.Unix()))
		id = hex.EncodeToString(sum[:16])
	} else {
		random, err := uuid.NewRandom()
		if err != nil {
			return api.Token{}, fmt.Errorf("making a token id: %w", err)
		}
		id = random.String()
	}
	key, err := a.keys.signing(ctx, issued)
	if err != nil {
		return api.Token{}, err
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    issuer,
			Subject:   client.ID,
			Audience:  jwt.ClaimStrings{audience},
			IssuedAt:  jwt.NewNumericDate(issued),
			NotBefore: jwt.NewNumericDate(issued.Add(-clockDifference)),
			ExpiresAt: jwt.NewNumericDate(expires),
			ID:        id,
		},
		Scope: scopes.String(),
	})
	token.Header["kid"] = key.ID
	signed, err := token.SignedString(key.Secret)
	if err != nil {
		return api.Token{}, fmt.Errorf("signing a token: %w", err)
	}
	return api.Token{AccessToken: signed, ExpiresAt: expires, TokenType: "Bearer", ExpiresIn: int(expires.Sub(now) / time.Second), Scope: scopes.String()}, nil
}
