package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"example.com/perks/api"
	"example.com/perks/store"
)

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
		client, err := a.config.Store.Client(ctx, pair.ID)
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
