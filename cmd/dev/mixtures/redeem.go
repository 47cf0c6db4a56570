package mixtures

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/perks/api"
	"example.com/perks/api/operation"
	"example.com/perks/cmd/dev/specserver"
)

const keyHeader = "Idempotency-Key"

// intent is a redemption that somebody wants, with one idempotency key.
type intent struct {
	operation.Redeeming
	asked  int // how often it was asked for, which counts where keys do not
	before int // redemptions that were made before the first attempt
	from   int // the number of its first request
}

func (i *intent) isOurs(r specserver.Request) bool { return r.Header.Get(keyHeader) == i.Key }

// redeem wants something new, sometimes the same as another intent.
func (m *mixture) redeem(ctx context.Context) {
	i := &intent{Redeeming: operation.NewRedeeming(
		m.server.PerkID(one(m.r, 1, 1, 2)),
		api.RedeemRequest{UserID: m.server.UserID(one(m.r, 1, 1, 2))},
		fmt.Sprintf("key-%d", len(m.intents)+1),
	)}
	if m.r.IntN(3) == 0 {
		i.Request.Metadata = json.RawMessage(`{"ticket":7}`)
	}
	m.intents = append(m.intents, i)
	m.send(ctx, i)
}

// followUp looks again at what an intent has come to, tries again, or lets another process try again with the same key.
func (m *mixture) followUp(ctx context.Context) {
	if len(m.intents) == 0 {
		return
	}
	i := one(m.r, m.intents...)
	for _, other := range m.intents { // rather one that is in doubt
		if other.State.IsDoubtful() && m.r.IntN(2) == 0 {
			i = other
		}
	}
	switch {
	case m.r.IntN(2) == 0:
		if i.State.IsDoubtful() {
			if m.r.IntN(3) == 0 {
				m.server.RedeemByAnother(i.PerkID, i.Request.UserID)
			}
			m.attempt(i, "check", func() { i.Redeeming = i.Check(ctx, m.client, m.isTaken(i)) })
		}
	case m.r.IntN(2) == 0:
		m.send(ctx, i)
	default:
		m.restart()
		i.Redeeming = operation.NewRedeeming(i.PerkID, i.Request, i.Key)
		m.send(ctx, i)
	}
}

func (m *mixture) send(ctx context.Context, i *intent) {
	if i.State == operation.Made {
		return
	}
	i.asked++
	if i.State == operation.NotMade {
		m.clock.pass(apart)
		record := m.server.Record()
		i.before, i.from = len(record.Redemptions), len(record.Requests)+1
	}
	m.attempt(i, "redeem", func() { i.Redeeming = i.Send(ctx, m.client, m.isTaken(i)) })
}

// isTaken tells which redemptions are known to be those of other intents.
func (m *mixture) isTaken(of *intent) func(id string) bool {
	return func(id string) bool {
		for _, i := range m.intents {
			if i != of && i.State == operation.Made && i.Result.ID == id {
				return true
			}
		}
		return false
	}
}

// attempt takes a step of an intent, and compares what is known of its outcome with the record.
func (m *mixture) attempt(i *intent, what string, take func()) {
	wasUnknown := i.State.IsDoubtful()
	requests, isTroubled := m.step(what, func() string {
		take()
		return i.State.String()
	})
	what = fmt.Sprintf("%s %s", what, i.Key)
	record := m.server.Record()
	m.judgeCount(i, record)
	switch {
	case i.State == operation.Made:
		m.judgeRedeemed(i, what, record)
	case i.State == operation.NotMade:
		requests.from = i.from // it says so of all attempts
		m.claims = append(m.claims, claim{what, requests, i.isOurs})
	default:
		if !isTroubled && !wasUnknown {
			m.report("%s: unknown without any fault: %v", what, i.Failure())
		}
		m.judgeCandidate(i, what, record)
	}
}

func (m *mixture) judgeCount(i *intent, record specserver.Record) {
	made, allowed := 0, i.asked
	if m.server.Keys == specserver.KeysHonoured {
		allowed = 1
	}
	for _, redemption := range record.Redemptions {
		if i.isOurs(record.Requests[redemption.Request-1]) {
			made++
		}
	}
	if made > allowed {
		m.report("%s: redeemed %d times, asked for %d times", i.Key, made, allowed)
	}
}

func (m *mixture) judgeRedeemed(i *intent, what string, record specserver.Record) {
	if m.isTaken(i)(i.Result.ID) {
		m.report("%s: %s is another's", what, i.Result.ID)
	}
	for _, made := range record.Redemptions {
		if made.ID == i.Result.ID && i.isOurs(record.Requests[made.Request-1]) {
			return
		}
	}
	m.report("%s: reported redeemed as %s, which is not its own", what, i.Result.ID)
}

// judgeCandidate verifies that a candidate can be the redemption that was wanted.
func (m *mixture) judgeCandidate(i *intent, what string, record specserver.Record) {
	if i.Candidate.ID == "" {
		return
	}
	m.tally["candidates"]++
	for n, made := range record.Redemptions {
		if made.ID != i.Candidate.ID {
			continue
		}
		isSame := made.PerkID == i.PerkID && made.UserID == i.Request.UserID &&
			string(made.Metadata) == string(i.Request.Metadata)
		if !isSame || n < i.before || m.isTaken(i)(made.ID) {
			m.report("%s: %+v cannot be the one: %d were made before", what, made, i.before)
		}
		return
	}
	m.report("%s: there is no %s", what, i.Candidate.ID)
}

// redeemByAnother has another client redeem what an intent may want too.
func (m *mixture) redeemByAnother(context.Context) {
	perk, user := m.server.PerkID(1+m.r.IntN(2)), m.server.UserID(1+m.r.IntN(2))
	m.server.RedeemByAnother(perk, user)
}
