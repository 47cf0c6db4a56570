// Package api is the contract between the perks server and its clients: the types on the wire, the rules of their
// fields, the error codes, the scopes and the OpenAPI description. It knows nothing of HTTP routing, databases or
// terminals.
package api

import (
	_ "embed"
	"slices"
	"strings"
	"time"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the description of the service (OpenAPI 3.0) as YAML. Callers must not change it.
func OpenAPI() []byte { return openAPI }

// Scope is one permission that a token can carry. No scope implies another.
type Scope string

// The scopes of the service.
const (
	ScopePerksRead          Scope = "perks:read"
	ScopePerksRedeem        Scope = "perks:redeem"
	ScopePerksWrite         Scope = "perks:write"       // create and change perks, and see what only the operator sees
	ScopePropertiesCreate   Scope = "properties:create" // add listings, and list the client's own
	ScopePropertiesRead     Scope = "properties:read"
	ScopePropertiesWrite    Scope = "properties:write"
	ScopeRedemptionsDecide  Scope = "redemptions:decide"   // approve and reject those that the client may read
	ScopeRedemptionsRead    Scope = "redemptions:read"     // the client's own
	ScopeRedemptionsReadAll Scope = "redemptions:read-all" // those of all clients, with their metadata, and all users
	ScopeRedemptionsVoid    Scope = "redemptions:void"     // take back approved ones that the client may read
	ScopeWebhooksWrite      Scope = "webhooks:write"       // have events sent to the client's own addresses
)

// AllScopes returns every scope, in the order used everywhere.
func AllScopes() Scopes {
	return Scopes{ScopePerksRead, ScopePerksRedeem, ScopePerksWrite, ScopePropertiesCreate,
		ScopePropertiesRead, ScopePropertiesWrite,
		ScopeRedemptionsDecide, ScopeRedemptionsRead, ScopeRedemptionsReadAll, ScopeRedemptionsVoid,
		ScopeWebhooksWrite}
}

// DefaultScopes returns the scopes of a client for which none are named. They reach no record of another client that is
// not public.
func DefaultScopes() Scopes {
	return Scopes{ScopePerksRead, ScopePerksRedeem, ScopePropertiesRead, ScopePropertiesWrite, ScopeRedemptionsRead}
}

// Scopes is a set of scopes. ParseScopes returns it sorted and without duplicates.
type Scopes []Scope

// ParseScopes reads a list separated by spaces or commas. An unknown scope is an *Error with CodeValidationFailed on
// the field "scope", which lists the known ones. The empty list is valid.
func ParseScopes(list string) (Scopes, error) {
	var scopes Scopes
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' }) {
		scope := Scope(name)
		if !slices.Contains(AllScopes(), scope) {
			return nil, FieldErrorf("scope", "%q is not a scope; the scopes are %s", name, AllScopes())
		}
		scopes = append(scopes, scope)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

// Has tells whether the set contains the scope.
func (s Scopes) Has(scope Scope) bool { return slices.Contains(s, scope) }

// Contains tells whether the set contains every scope of the other.
func (s Scopes) Contains(other Scopes) bool {
	return !slices.ContainsFunc(other, func(scope Scope) bool { return !s.Has(scope) })
}

// String joins the scopes with single spaces, as RFC 6749, section 3.3 writes them.
func (s Scopes) String() string {
	return strings.Join(Texts(s), " ")
}

// Texts converts named texts.
func Texts[T ~string](values []T) []string {
	converted := make([]string, len(values))
	for i, value := range values {
		converted[i] = string(value)
	}
	return converted
}

// Token is the response of POST /auth/token. A response to a request with grant_type has the members of RFC 6749,
// section 5.1 alone.
type Token struct {
	AccessToken string    `json:"access_token"`
	ExpiresAt   time.Time `json:"expires_at,omitzero"`
	TokenType   string    `json:"token_type,omitempty"`
	ExpiresIn   int       `json:"expires_in,omitempty"` // seconds
	Scope       string    `json:"scope,omitempty"`      // separated by spaces
	NamesActors bool      `json:"actors,omitempty"`     // the client may say in HeaderActor who sits at it
}

// MarshalJSON writes the time as wireTime does.
func (t Token) MarshalJSON() ([]byte, error) { return EncodeJSON(t) }

// wire repeats what follows ExpiresAt, to keep the order of the members.
func (t Token) wire() any {
	type fields Token
	var expires *wireTime
	if !t.ExpiresAt.IsZero() {
		expires = (*wireTime)(&t.ExpiresAt)
	}
	return struct {
		fields
		ExpiresAt *wireTime `json:"expires_at,omitempty"`
		TokenType string    `json:"token_type,omitempty"`
		ExpiresIn int       `json:"expires_in,omitempty"`
		Scope     string    `json:"scope,omitempty"`
		Actors    bool      `json:"actors,omitempty"`
	}{fields(t), expires, t.TokenType, t.ExpiresIn, t.Scope, t.NamesActors}
}

// WrongCredentials is the message for a wrong client id or secret. Clients compare with it, so that they do not mask a
// secret that is one of its words.
const WrongCredentials = "The client id or the secret is wrong, or the client is disabled." // #nosec G101 -- a sentence

// TooManyAttempts begins the message after too many wrong secrets, and TryAgain ends it with the seconds to wait.
// Clients compare with them too.
const (
	TooManyAttempts = "There were too many failed attempts to get a token."
	TryAgain        = " Try again in %d s."
)
