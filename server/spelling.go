package server

import (
	"slices"
	"strings"

	"example.com/perks/api"
	"example.com/perks/store"
)

// UUIDs are the same in any case (RFC 9562, section 4), but are stored as an import spelled them. Both functions here ask the
// store again in another spelling only when it has no such record, so that whoever writes ids as they are stored waits for
// nothing. If there is none in any spelling, the error speaks of the id that the caller wrote.

// ofPerk asks about a perk: as its id is written, then in lower and in upper case.
func ofPerk[T any](id string, ask func(id string) (T, error)) (T, error) {
	return inSpellings(api.UUIDSpellings(id), func(err error) bool {
		return api.CodeOf(err) == api.CodeNotFound && !store.IsUserNotFound(err)
	}, ask)
}

// ofUser asks about a user: in lower case first, whatever is written, so that a spelling which is imported beside that one
// is not a second user who can redeem everything again. With CreateUsers an id that is unknown in every spelling is taken in
// lower case: requests that come at once, each in another case, then meet in the store as those of one user.
func ofUser[T any](s *service, id string, ask func(id string, anyUser bool) (T, error)) (T, error) {
	spellings := api.UUIDSpellings(id)
	if len(spellings) == 1 {
		return ask(id, s.config.CreateUsers)
	}
	slices.SortFunc(spellings, func(a, b string) int { return strings.Compare(b, a) }) // ASCII has lower case last
	result, err := inSpellings(spellings, store.IsUserNotFound, func(id string) (T, error) { return ask(id, false) })
	switch {
	case !store.IsUserNotFound(err):
		return result, err
	case s.config.CreateUsers:
		return ask(api.LowerUUID(id), true)
	}
	return result, store.UserNotFound(id)
}

func inSpellings[T any](spellings []string, isAbsent func(error) bool, ask func(id string) (T, error)) (result T, err error) {
	for i, id := range spellings {
		answer, failure := ask(id)
		if failure == nil || !isAbsent(failure) {
			return answer, failure
		}
		if i == 0 {
			result, err = answer, failure
		}
	}
	return result, err
}
