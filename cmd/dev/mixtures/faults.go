package mixtures

import (
	"math/rand/v2"

	"example.com/perks/cmd/dev/specserver"
)

// The requests that faults meet, as patterns.
const (
	redeems   = specserver.Redeems
	updates   = specserver.Updates
	deletes   = specserver.Deletes
	tokens    = "POST /v2/auth/token"
	userLists = specserver.UserLists
	perkLists = "GET /v2/partners/perks"
	gets      = "GET /v2/get-property/*"
)

func one[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// failures returns up to six faults that a server without lies may have: whoever refuses a request has not done it, and
// whoever confirms one has. Tokens come after at most two faults.
func failures(r *rand.Rand, freedoms specserver.Freedoms) (faults []specserver.Fault) {
	request := ""
	for range r.IntN(7) {
		isAgain := request != "" && request != tokens && r.IntN(3) == 0 // so that a retry fails in another way
		if !isAgain {
			request = one(r, redeems, redeems, redeems, updates, updates, deletes,
				userLists, userLists, perkLists, gets, gets, tokens)
		}
		fault := failure(r, request)
		isRedirect := fault.Reply == specserver.ReplyRedirect
		if isRedirect && request == gets && freedoms.Elsewhere == specserver.ElsewhereError {
			continue // it would lead to a refusal like that of a property that is missing
		}
		switch {
		case isAgain:
			fault.Nth = 1
		case request == tokens, r.IntN(3) > 0:
			fault.Nth = 1 + r.IntN(2)
		case r.IntN(2) == 0:
			fault.Chance = 0.2 + r.Float64()/2
		}
		faults = append(faults, fault)
	}
	return faults
}

func failure(r *rand.Rand, request string) specserver.Fault {
	isChange := request == redeems || request == updates || request == deletes
	fault := specserver.Fault{Request: request}
	if isChange {
		fault.Work = one(r, specserver.NotDone, specserver.Done, specserver.Done, specserver.DoneLater)
	}
	if fault.Work == specserver.DoneLater {
		fault.After = one(r, "", userLists, gets, redeems, updates)
	}
	fault.Reply = one(r, specserver.ReplyClosed, specserver.ReplyReset, specserver.ReplyStatus, specserver.ReplyStatus,
		specserver.ReplyPage, specserver.ReplyEmpty, specserver.ReplyRedirect)
	switch fault.Reply {
	case specserver.ReplyStatus:
		fault.Status = one(r, 500, 502, 503, 504)
		fault.RetryAfter = one(r, "", "", "1", "3600")
		if r.IntN(3) == 0 {
			fault.Work, fault.Status = specserver.NotDone, one(r, 429, 429, 401, 403)
		}
	case specserver.ReplyPage:
		fault.Status = one(r, 200, 502, 503, 504)
		if r.IntN(3) == 0 {
			fault.Work, fault.Status = specserver.NotDone, one(r, 403, 404, 405, 429)
		}
	case specserver.ReplyEmpty:
		fault.Status = one(r, 200, 201, 204, 500, 502)
		if isChange && fault.Status < 300 {
			fault.Work = specserver.Done
		}
	case specserver.ReplyRedirect:
		fault.Status = one(r, 302, 303, 307)
		if fault.Status != 303 {
			fault.Work = specserver.NotDone
		}
	}
	return fault
}
