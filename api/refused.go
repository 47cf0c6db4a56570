package api

import (
	"net/url"
	"sync"
	"time"
)

// RefusedDays is how long a refused redemption can be found.
const RefusedDays = 30

// RefusedRedemption is an attempt to redeem a perk that was refused.
type RefusedRedemption struct {
	PerkID   string    `json:"perk_id"` // as the request had it: there may be no such perk or user
	UserID   string    `json:"user_id"`
	Code     Code      `json:"code"` // of the error
	Message  string    `json:"message"`
	ClientID string    `json:"client_id"`
	Actor    *string   `json:"actor"` // who sat at the client; nil if it named nobody
	At       time.Time `json:"at"`
}

// MarshalJSON writes the time as wireTime does.
func (r RefusedRedemption) MarshalJSON() ([]byte, error) {
	type fields RefusedRedemption
	return EncodeJSON(struct {
		fields
		At wireTime `json:"at"`
	}{fields(r), wireTime(r.At)})
}

// RefusalCodes returns the codes for which a redemption is refused.
func RefusalCodes() []Code {
	return []Code{CodeSoldOut, CodeAlreadyRedeemed, CodePerkExpired, CodePerkNotStarted, CodeNotFound}
}

// RefusedFilter selects refused redemptions. The zero value selects all.
type RefusedFilter struct {
	PerkID, UserID string
	Reason         Code // "" is every reason
	Actor          string
	Since, Until   time.Time // refused at that instant or later, and before that instant; zero is without limit
	Own            bool      // only those of the caller
}

// RefusedFilterFields returns every field.
var RefusedFilterFields = sync.OnceValue(func() []FilterField[RefusedFilter] {
	return []FilterField[RefusedFilter]{
		judged(textFilter("perk", "perk", "Perk", "(id)", "only refusals of this `perk`",
			func(f *RefusedFilter) *string { return &f.PerkID }),
			func(f RefusedFilter, r *RefusedRedemption) Fit { return sameText(f.PerkID, r.PerkID) }),
		judged(textFilter("user", "user", "User", "(id)", "the `id` of the user",
			func(f *RefusedFilter) *string { return &f.UserID }),
			func(f RefusedFilter, r *RefusedRedemption) Fit { return sameText(f.UserID, r.UserID) }),
		judged(choiceFilter("reason", "Reason", "with --refused, only those refused for this `reason`: ", RefusalCodes(),
			func(f *RefusedFilter) *Code { return &f.Reason }),
			func(f RefusedFilter, r *RefusedRedemption) Fit { return sameText(string(f.Reason), string(r.Code)) }),
		judged(textFilter("actor", "actor", "Actor", "(name)", "only refusals to the `name` at the client",
			func(f *RefusedFilter) *string { return &f.Actor }),
			func(f RefusedFilter, r *RefusedRedemption) Fit { return sameText(f.Actor, orEmpty(r.Actor)) }),
		judged(timeFilter("since", "only those refused at this `TIME` or later",
			func(f *RefusedFilter) *time.Time { return &f.Since }),
			func(f RefusedFilter, r *RefusedRedemption) Fit {
				return within(r.At.IsZero(), r.At.Add(tick).After(f.Since))
			}),
		judged(timeFilter("until", "only those refused before this `TIME`",
			func(f *RefusedFilter) *time.Time { return &f.Until }),
			func(f RefusedFilter, r *RefusedRedemption) Fit {
				return within(r.At.IsZero(), r.At.Before(f.Until.Add(tick)))
			}),
		switchFilter("own", "own", "only those of the client that asks", func(f *RefusedFilter) *bool { return &f.Own }),
	}
})

// RefusedSortFields returns the fields that refused redemptions can be sorted by.
func RefusedSortFields() []string { return []string{"at"} }

// Values returns the filter as URL parameters. Equal filters have equal values.
func (f RefusedFilter) Values() url.Values { return filterValues(RefusedFilterFields(), f) }

// Problem returns the name of a parameter that contradicts another one, and what is wrong with it, or "".
func (f RefusedFilter) Problem() (name, problem string) {
	return RedemptionFilter{Since: f.Since, Until: f.Until}.Problem()
}

// RefusedFilter reads the parameters that select refused redemptions.
func (p *Parameters) RefusedFilter() (f RefusedFilter) {
	readFilter(p, RefusedFilterFields(), &f)
	p.Fields.check(f.Problem())
	return f
}
