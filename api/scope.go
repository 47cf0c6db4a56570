package api

import (
	"slices"
	"strings"
)

// Scope is one permission that a token can carry. No scope implies another.
type Scope string

// The scopes of the service.
const (
	ScopePerksRead       Scope = "perks:read"
	ScopePerksRedeem     Scope = "perks:redeem"
	ScopePropertiesRead  Scope = "properties:read"
	ScopePropertiesWrite Scope = "properties:write"
)

// AllScopes returns every scope, in the order in which they are written everywhere.
func AllScopes() Scopes {
	return Scopes{ScopePerksRead, ScopePerksRedeem, ScopePropertiesRead, ScopePropertiesWrite}
}

// Scopes is a set of scopes, sorted and without repeats when it comes from ParseScopes.
type Scopes []Scope

// ParseScopes reads a list separated by spaces or commas. An unknown scope is an *Error with CodeValidationFailed on the
// field "scope" that lists the known ones. The empty list is valid and empty.
func ParseScopes(list string) (Scopes, error) {
	var scopes Scopes
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' }) {
		scope := Scope(name)
		if !slices.Contains(AllScopes(), scope) {
			fields := FieldErrors{}
			fields.Add("scope", "%q is not a scope; the scopes are %s", name, AllScopes())
			return nil, fields.Err()
		}
		scopes = append(scopes, scope)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

// Has tells whether the set holds the scope.
func (s Scopes) Has(scope Scope) bool { return slices.Contains(s, scope) }

// Contains tells whether the set holds every scope of the other.
func (s Scopes) Contains(other Scopes) bool {
	for _, scope := range other {
		if !s.Has(scope) {
			return false
		}
	}
	return true
}

// String joins the scopes with single spaces, as RFC 6749, section 3.3 writes them.
func (s Scopes) String() string {
	names := make([]string, len(s))
	for i, scope := range s {
		names[i] = string(scope)
	}
	return strings.Join(names, " ")
}
