package endurance

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/perks/api"
)

// request is one request about one perk.
type request struct {
	verb verb
	attempt
	round int    // whose perks to list
	id    string // of the redemption to reject
}

type verb string

const (
	redeeming verb = "redeem"
	listing   verb = "list" // the user's redemptions of the perk
	rejecting verb = "reject"
)

func (r request) String() string {
	switch {
	case r.verb == rejecting:
		return "reject " + r.id
	case r.key != "":
		return fmt.Sprintf("%s by %s under %s", r.verb, r.user, r.key)
	}
	return fmt.Sprintf("%s by %s", r.verb, r.user)
}

// response is what a request got. An unknown outcome has neither a reply nor a list.
type response struct {
	unknown bool
	reply
	listed []api.Redemption
}

func (r response) String() string {
	switch {
	case r.unknown:
		return "no reply"
	case r.status == http.StatusCreated:
		return fmt.Sprintf("%s %s", r.reply.outcome(), r.made.ID)
	case r.code != "":
		return string(r.code)
	}
	text := fmt.Sprintf("%d redemptions", len(r.listed))
	for _, l := range r.listed {
		text += fmt.Sprintf(", %s %s", l.ID, l.Status)
	}
	return text
}

// Outcomes that are not refusals.
const (
	outcomeMade     api.Code = "made"
	outcomeReplayed api.Code = "replayed"
	outcomeUnknown  api.Code = "unknown"
)

func (r response) outcome(of request) api.Code {
	switch {
	case r.unknown:
		return outcomeUnknown
	case of.verb != redeeming:
		return api.Code(of.verb)
	}
	return r.reply.outcome()
}

func (r reply) outcome() api.Code {
	switch {
	case r.status != http.StatusCreated:
		return r.code
	case r.replayed:
		return outcomeReplayed
	}
	return outcomeMade
}

// perkModel says which responses about a perk are correct when requests come one by one.
type perkModel struct {
	stock  int                  // or unlimited
	status api.RedemptionStatus // of a new redemption
}

const unlimited = -1

// knownRedemption is a redemption in a state.
type knownRedemption struct {
	user, key, id string
	rejected      bool
}

// perkState is the redemptions of a perk. Those of a user are together, the oldest first. A state never changes.
type perkState []knownRedemption

// porcupine returns the model for the checker.
func (p perkModel) porcupine() porcupine.Model {
	return porcupine.Model{
		Init:  func() any { return perkState{} },
		Equal: func(a, b any) bool { return slices.Equal(a.(perkState), b.(perkState)) },
		Step: func(state, input, output any) (bool, any) {
			return p.step(state.(perkState), input.(request), output.(response))
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%s: %s", input, output) },
		DescribeState:     func(state any) string { return p.describe(state.(perkState)) },
	}
}

func (p perkModel) describe(s perkState) string {
	if p.stock == unlimited {
		return fmt.Sprintf("%d redemptions of an unlimited perk", s.live())
	}
	return fmt.Sprintf("%d redemptions of a stock of %d", s.live(), p.stock)
}

// step reports whether the response is correct in the state, and returns the next state.
func (p perkModel) step(s perkState, r request, got response) (bool, perkState) {
	switch r.verb {
	case rejecting:
		at := s.index(func(k knownRedemption) bool { return k.id == r.id && !k.rejected })
		if at < 0 {
			return false, s
		}
		s = slices.Clone(s)
		s[at].rejected = true
		return true, s
	case listing:
		return p.lists(s, r.user, got.listed), s
	}
	want, at := p.decide(s, r)
	switch {
	case got.outcome(r) != want:
		return false, s
	case want == outcomeReplayed:
		first := s[at]
		first.rejected = false // a replay shows the first status
		return p.shows(got.made, first), s
	case want == outcomeMade:
		made := knownRedemption{user: r.user, key: r.key, id: got.made.ID}
		if !p.shows(got.made, made) || s.index(func(k knownRedemption) bool { return k.id == made.id }) >= 0 {
			return false, s
		}
		at := s.index(func(k knownRedemption) bool { return k.user > r.user })
		if at < 0 {
			at = len(s)
		}
		return true, slices.Insert(slices.Clone(s), at, made)
	}
	return true, s
}

// decide returns the correct outcome of redeeming, and for a replay which redemption it shows.
func (p perkModel) decide(s perkState, r request) (outcome api.Code, at int) {
	at = s.index(func(k knownRedemption) bool { return r.key != "" && k.key == r.key })
	switch {
	case at >= 0 && s[at].user != r.user:
		return api.CodeIdempotencyKeyReused, at
	case at >= 0:
		return outcomeReplayed, at
	case s.index(func(k knownRedemption) bool { return k.user == r.user && !k.rejected }) >= 0:
		return api.CodeAlreadyRedeemed, at
	case p.stock != unlimited && s.live() >= p.stock:
		return api.CodeSoldOut, at
	}
	return outcomeMade, at
}

// lists reports whether the list is of all redemptions of the user.
func (p perkModel) lists(s perkState, user string, listed []api.Redemption) bool {
	for _, l := range listed {
		if s.index(func(k knownRedemption) bool { return k.user == user && p.shows(l, k) }) < 0 {
			return false
		}
	}
	return s.count(func(k knownRedemption) bool { return k.user == user }) == len(listed)
}

func (p perkModel) shows(shown api.Redemption, known knownRedemption) bool {
	status := p.status
	if known.rejected {
		status = api.StatusRejected
	}
	return shown.ID == known.id && shown.UserID == known.user && shown.Status == status
}

func (s perkState) index(is func(knownRedemption) bool) int { return slices.IndexFunc(s, is) }

// live is the number of redemptions that use a unit of the stock.
func (s perkState) live() int { return s.count(func(k knownRedemption) bool { return !k.rejected }) }

func (s perkState) count(is func(knownRedemption) bool) int {
	count := 0
	for _, known := range s {
		if is(known) {
			count++
		}
	}
	return count
}

// checkWithin bounds the search for an order that explains the responses about a perk. Usually it takes milliseconds.
const checkWithin = 10 * time.Second

// check searches for an order of the operations in which every response is correct. It also returns the operations that
// it ordered: those with known outcomes.
func (p perkModel) check(operations []porcupine.Operation) (result porcupine.CheckResult, ordered []porcupine.Operation,
	info porcupine.LinearizationInfo) {
	for _, ordered = range p.settle(operations) {
		result, info = porcupine.CheckOperationsVerbose(p.porcupine(), ordered, checkWithin)
		if result == porcupine.Ok {
			break
		}
	}
	return result, ordered, info
}

// evidence is what responses show of a redemption.
type evidence struct {
	user              string
	isMade            bool   // a response says so, apart from replays
	replayedKey       string // the key of a replay
	shown, rejectedAt int64  // when the first response had arrived that shows it, or shows it rejected
}

// settle replaces the unknown outcomes. A request whose effect no response shows is left out: it was not carried out,
// or nobody can tell. A redemption that nobody is known to have made was made by one of the user's requests with an
// unknown outcome. Each choice of these is one history, which is far faster to check than a model that tries both
// outcomes everywhere.
func (p perkModel) settle(operations []porcupine.Operation) [][]porcupine.Operation {
	all := evidenceOf(operations)
	var known, unknown []porcupine.Operation
	for _, o := range operations {
		r, got := o.Input.(request), o.Output.(response)
		switch {
		case !got.unknown:
			known = append(known, o)
		case r.verb == redeeming:
			unknown = append(unknown, o)
		case all[r.id].rejectedAt > 0:
			o.Output, o.Return = response{}, all[r.id].rejectedAt
			known = append(known, o)
		}
	}
	histories := [][]porcupine.Operation{known}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		e := all[id]
		if e.isMade {
			continue
		}
		var next [][]porcupine.Operation
		for _, o := range unknown {
			r := o.Input.(request)
			if r.user != e.user || e.replayedKey != "" && r.key != e.replayedKey || o.Call > e.shown {
				continue
			}
			o.Output = response{reply: reply{status: http.StatusCreated,
				made: api.Redemption{ID: id, UserID: e.user, Status: p.status}}}
			o.Return = e.shown
			for _, h := range histories {
				isUsed := slices.ContainsFunc(h,
					func(other porcupine.Operation) bool {
						return other.Call == o.Call &&
							other.ClientId == o.ClientId
					})
				if !isUsed {
					next = append(next, append(slices.Clone(h), o))
				}
			}
		}
		if next != nil { // otherwise no order will explain it
			histories = next
		}
	}
	return histories
}

func evidenceOf(operations []porcupine.Operation) map[string]evidence {
	all := map[string]evidence{}
	for _, o := range operations {
		r, got := o.Input.(request), o.Output.(response)
		shown := got.listed
		if got.made.ID != "" {
			shown = []api.Redemption{got.made}
		}
		for _, s := range shown {
			e, isKnown := all[s.ID]
			if !isKnown || o.Return < e.shown {
				e.user, e.shown = s.UserID, o.Return
			}
			if s.Status == api.StatusRejected && (e.rejectedAt == 0 || o.Return < e.rejectedAt) {
				e.rejectedAt = o.Return
			}
			switch {
			case got.replayed:
				e.replayedKey = r.key
			case r.verb == redeeming:
				e.isMade = true
			}
			all[s.ID] = e
		}
	}
	return all
}

// TestTheModelOfRedemptions checks the model with short histories of a perk with a stock of one, which an operator
// approves.
func TestTheModelOfRedemptions(t *testing.T) {
	model := perkModel{stock: 1, status: api.StatusPending}
	shown := func(user, id string, status api.RedemptionStatus) api.Redemption {
		return api.Redemption{ID: id, UserID: user, Status: status}
	}
	// from and to are when the request was sent and when its reply came.
	redeems := func(user, key string, from, to int64, got reply) porcupine.Operation {
		return porcupine.Operation{Input: request{verb: redeeming, attempt: attempt{user: user, key: key}},
			Output: response{reply: got}, Call: from, Return: to}
	}
	redeemsUnknown := func(user, key string, from int64) porcupine.Operation {
		return porcupine.Operation{Input: request{verb: redeeming, attempt: attempt{user: user, key: key}},
			Output: response{unknown: true}, Call: from}
	}
	lists := func(user string, from, to int64, listed ...api.Redemption) porcupine.Operation {
		return porcupine.Operation{Input: request{verb: listing, attempt: attempt{user: user}},
			Output: response{reply: reply{status: http.StatusOK}, listed: listed}, Call: from, Return: to}
	}
	rejects := func(id string, from, to int64) porcupine.Operation {
		return porcupine.Operation{Input: request{verb: rejecting, id: id}, Output: response{}, Call: from, Return: to}
	}
	created := func(user, id string) reply {
		return reply{status: http.StatusCreated, made: shown(user, id, api.StatusPending)}
	}
	again := func(user, id string) reply {
		return reply{status: http.StatusCreated, made: shown(user, id, api.StatusPending), replayed: true}
	}
	refused := func(code api.Code) reply { return reply{status: http.StatusConflict, code: code} }
	soldOut := refused(api.CodeSoldOut)

	for name, c := range map[string]struct {
		legal   bool
		history []porcupine.Operation
	}{
		"the last unit goes to one of two": {true, []porcupine.Operation{
			redeems("a", "", 0, 9, soldOut), redeems("b", "", 1, 8, created("b", "1"))}},
		"the last unit goes to both": {false, []porcupine.Operation{
			redeems("a", "", 0, 9, created("a", "1")), redeems("b", "", 1, 8, created("b", "2"))}},
		"sold out before anyone redeemed": {false, []porcupine.Operation{
			redeems("a", "", 0, 1, soldOut), redeems("b", "", 2, 3, created("b", "1"))}},
		"a lost reply explains that it is sold out": {true, []porcupine.Operation{
			redeemsUnknown("a", "", 0), redeems("b", "", 2, 3, soldOut),
			lists("a", 4, 5, shown("a", "1", api.StatusPending))}},
		"a request without a reply was not carried out": {true, []porcupine.Operation{
			redeemsUnknown("a", "", 0), lists("a", 2, 3), redeems("b", "", 4, 5, created("b", "1"))}},
		"a retry gets the redemption of the lost reply": {true, []porcupine.Operation{
			redeemsUnknown("a", "k", 0), redeems("a", "k", 2, 3, again("a", "1")),
			lists("a", 4, 5, shown("a", "1", api.StatusPending))}},
		"an acknowledged redemption is lost": {false, []porcupine.Operation{
			redeems("a", "", 0, 1, created("a", "1")), lists("a", 2, 3)}},
		"a key is forgotten": {false, []porcupine.Operation{
			redeems("a", "k", 0, 1, created("a", "1")), redeems("a", "k", 2, 3, refused(api.CodeAlreadyRedeemed))}},
		"a key is another user's": {true, []porcupine.Operation{
			redeems("a", "k", 0, 1, created("a", "1")),
			redeems("b", "k", 2, 3, refused(api.CodeIdempotencyKeyReused))}},
		"a replay shows another redemption": {false, []porcupine.Operation{
			redeems("a", "k", 0, 1, created("a", "1")), redeems("a", "k", 2, 3, again("a", "2"))}},
		"a rejected redemption frees its unit, and its replay shows the first status": {true, []porcupine.Operation{
			redeems("a", "k", 0, 1, created("a", "1")), rejects("1", 2, 6), redeems("b", "", 3, 4, soldOut),
			redeems("b", "", 7, 8, created("b", "2")),
			redeems("a", "k", 9, 10, again("a", "1")), lists("a", 11, 12, shown("a", "1", api.StatusRejected))}},
		"a unit is free before the rejection": {false, []porcupine.Operation{
			redeems("a", "", 0, 1, created("a", "1")), redeems("b", "", 2, 3, created("b", "2")), rejects("1", 4, 5)}},
		"a failure of the server": {false, []porcupine.Operation{redeems("a", "", 0, 1, refused(api.CodeInternal))}},
	} {
		result, ordered, info := model.check(c.history)
		switch {
		case result == porcupine.Ok && !c.legal:
			t.Errorf("%s: nothing contradicts it", name)
		case result != porcupine.Ok && c.legal:
			t.Errorf("%s: %s", name, model.contradiction(ordered, info))
		}
	}
}
