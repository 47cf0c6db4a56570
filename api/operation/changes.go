package operation

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// checkTimeout is how long resolving an unknown outcome may take while a person waits. It ignores the client's
// deadline, which may have passed.
const checkTimeout = 5 * time.Second

func soon(c *client.Client) *client.Client { return c.Until(time.Now().Add(checkTimeout)) }

// withKey and withoutKey are the rules of a person who waits, for changes with an idempotency key, and for those that
// may be repeated without one.
func withKey(c *client.Client) Rules { return Rules{Now: c.Now, KeysCount: c.RemembersKeys} }

func withoutKey(c *client.Client) Rules {
	return Rules{Now: c.Now, KeysCount: func(time.Time) bool { return false }}
}

// Redeeming is the attempt to redeem a perk for a user. It is a value: its methods return an updated copy.
type Redeeming struct {
	PerkID  string
	Request api.RedeemRequest
	Attempt[api.Redemption]

	earlier map[string]bool // redemptions from before the first request; nil if they were not read
}

// NewRedeeming returns an attempt that has sent nothing. The key may still be set before the first Send.
func NewRedeeming(perkID string, request api.RedeemRequest, key string) Redeeming {
	return Redeeming{PerkID: perkID, Request: request, Attempt: Attempt[api.Redemption]{Key: key}}
}

// Redeem is the change that redeems a perk for a user. A match that LookUp finds may belong to another request, unless
// nobody else redeems for the user.
type Redeem struct {
	Client  *client.Client
	PerkID  string
	Request api.RedeemRequest
	Taken   func(id string) bool // tells which redemptions are known to be others'; may be nil
	Alone   bool                 // nobody else redeems for the user
	Earlier map[string]bool      // redemptions from before the first request; nil if they were not read
}

// Send redeems.
func (r *Redeem) Send(ctx context.Context, key string) (api.Redemption, bool, error) {
	return r.Client.Redeem(ctx, r.PerkID, r.Request, key)
}

// LookUp searches what the user has redeemed.
func (r *Redeem) LookUp(ctx context.Context, since time.Time) (api.Redemption, Event, error) {
	if r.Earlier != nil { // then no clock decides
		since = time.Time{}
	}
	found, matches, err := r.Client.FindRedemption(ctx, r.PerkID, r.Request, since, func(id string) bool {
		return r.Earlier[id] || r.Taken != nil && r.Taken(id)
	})
	switch {
	case err != nil:
		return found, Unread, err
	case !matches:
		return found, Absent, nil
	case r.Alone:
		return found, Found, nil
	}
	return found, Match, nil
}

// Observe reads what the user has redeemed so far. It keeps nothing if the service shows by that that it honours
// idempotency keys: then the key tells, also of a request that another process has sent.
func (r *Redeem) Observe(ctx context.Context) {
	earlier, err := r.Client.Redeemed(ctx, r.PerkID, r.Request.UserID)
	if err == nil && !r.Client.HonoursKeys() {
		r.Earlier = earlier
	}
}

// patientWith is a Redeem for a person who waits: what comes after the first request may take checkTimeout in all.
type patientWith struct{ *Redeem }

func (p patientWith) LookUp(ctx context.Context, since time.Time) (api.Redemption, Event, error) {
	p.Client = soon(p.Client)
	return p.Redeem.LookUp(ctx, since)
}

func (p patientWith) Observe(ctx context.Context) {
	hurried := *p.Redeem
	hurried.Client = soon(p.Client)
	hurried.Observe(ctx)
	p.Earlier = hurried.Earlier
}

// Send redeems, or retries under the same key. If the reply is lost, it tries to resolve the outcome at once. taken
// tells which redemptions are known to be others'; it may be nil.
func (r Redeeming) Send(ctx context.Context, c *client.Client, taken func(id string) bool) Redeeming {
	return r.with(c, taken, func(change Change[api.Redemption], rules Rules) Attempt[api.Redemption] {
		return r.Attempt.Send(ctx, change, rules)
	})
}

// Check tries to resolve an unknown outcome by reading what the user has redeemed, and by asking under the key whose it
// is. If nothing is found, the outcome stays unknown: the redemption may still appear.
func (r Redeeming) Check(ctx context.Context, c *client.Client, taken func(id string) bool) Redeeming {
	return r.with(c, taken, func(change Change[api.Redemption], rules Rules) Attempt[api.Redemption] {
		return r.Attempt.Check(ctx, change, rules)
	})
}

func (r Redeeming) with(
	c *client.Client, taken func(id string) bool, do func(Change[api.Redemption], Rules) Attempt[api.Redemption],
) Redeeming {
	change := &Redeem{Client: c, PerkID: r.PerkID, Request: r.Request, Taken: taken, Earlier: r.earlier}
	r.Attempt = do(patientWith{change}, withKey(c))
	r.earlier = change.Earlier
	if found := r.Candidate; r.State == Made && found.ID != "" && found.ID == r.Result.ID {
		r.Result, r.Attempt.Earlier = found, true // its status is newer than that of a replay
	}
	if !r.State.IsDoubtful() {
		r.Candidate = api.Redemption{}
	}
	return r
}

// Deciding is the attempt to approve, reject or void a redemption. It is a value: Send returns an updated copy. Fill in
// ID, Status and Reason, and ETag if only that version may be decided.
type Deciding struct {
	ID     string
	Status api.RedemptionStatus // the decision
	Reason string
	ETag   string

	Attempt[api.RedemptionRecord]
}

// Record is the redemption as decided, or as it was read last; without an ID if it was not read.
func (d Deciding) Record() api.RedemptionRecord {
	if d.State == Made {
		return d.Result
	}
	return d.Candidate
}

// Send decides. If the reply is lost, it reads the redemption to find out what became of the decision. The same
// decision again changes nothing, so it needs no idempotency key.
func (d Deciding) Send(ctx context.Context, c *client.Client) Deciding {
	d.Attempt = d.Attempt.Send(ctx, decision{d, c}, withoutKey(c))
	if now := d.Candidate; d.State.IsDoubtful() && now.ID != "" {
		d.Err = fmt.Errorf("%w %s", d.Err, "It is still "+string(now.Status)+". To decide again is safe.")
	}
	return d
}

type decision struct {
	Deciding
	client *client.Client
}

func (d decision) Send(ctx context.Context, _ string) (record api.RedemptionRecord, replayed bool, err error) {
	record, _, err = d.client.Decide(ctx, d.ID, d.Status, d.Reason, d.ETag)
	return record, false, err
}

// LookUp finds the decision in the redemption. One that is as it was before may still be decided.
func (d decision) LookUp(ctx context.Context, _ time.Time) (api.RedemptionRecord, Event, error) {
	record, _, err := soon(d.client).Redemption(ctx, d.ID)
	reason := ""
	if record.Reason != nil {
		reason = *record.Reason
	}
	switch {
	case err != nil:
		return api.RedemptionRecord{}, Unread, err
	case record.Status == d.Status && reason == d.Reason:
		return record, Found, nil
	case record.Status == d.Status.DecidedFrom():
		return record, Absent, nil
	}
	return record, Taken, &client.Error{Status: http.StatusConflict, Code: api.CodeConflict,
		Message: fmt.Sprintf("Redemption %q is %s by another decision.", d.ID, record.Status)}
}

// Creating is the attempt to create a record. It is a value: Send returns an updated copy.
type Creating[I ~string, R any, P Patch[R, P]] struct {
	create Create[I, R, P]
	Attempt[client.Version[R]]
}

// NewCreating returns an attempt that has sent nothing. Without an id, the service chooses one.
func (k *EditKind[I, R, P]) NewCreating(id I, fields P, key string) Creating[I, R, P] {
	return Creating[I, R, P]{
		Create[I, R, P]{Kind: k, ID: id, Fields: fields}, Attempt[client.Version[R]]{Key: key},
	}
}

// Send creates the record. If the reply is lost, and the service honours keys, the request is sent again.
func (cr Creating[I, R, P]) Send(ctx context.Context, c *client.Client) Creating[I, R, P] {
	change := cr.create
	change.Client = c
	cr.Attempt = cr.Attempt.Send(ctx, &patientCreation[I, R, P]{change}, withKey(c))
	return cr
}

// Create is the change that creates a record.
type Create[I ~string, R any, P Patch[R, P]] struct {
	Kind   *EditKind[I, R, P]
	Client *client.Client
	ID     I // "" lets the service choose one
	Fields P
}

// Send creates the record.
func (cr *Create[I, R, P]) Send(ctx context.Context, key string) (client.Version[R], bool, error) {
	return cr.Kind.Create(cr.Client, ctx, cr.ID, cr.Fields, key)
}

// LookUp finds nothing by which a record is known to be of this request: only the idempotency key tells. The match has
// no id.
func (cr *Create[I, R, P]) LookUp(ctx context.Context, _ time.Time) (none client.Version[R], event Event, err error) {
	if ctx.Err() != nil {
		return none, Unread, ctx.Err()
	}
	cr.Client.ProbeKeys(ctx)
	return none, Match, nil
}

// patientCreation is a Create for a person who waits: what comes after the first request may take checkTimeout in all.
type patientCreation[I ~string, R any, P Patch[R, P]] struct{ Create[I, R, P] }

func (p *patientCreation[I, R, P]) LookUp(
	ctx context.Context, since time.Time,
) (client.Version[R], Event, error) {
	p.Client = soon(p.Client)
	return p.Create.LookUp(ctx, since)
}
