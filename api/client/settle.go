package client

import (
	"context"
	"time"

	"example.com/perks/api"
)

// lookTime is how long the search for a lost answer may take. It is not part of the client's own deadline, which may have
// ended already.
const lookTime = 5 * time.Second

// Redeeming is one wish to redeem a perk for a user, over all attempts at it: each of them goes out under the same key, and
// once an answer was lost, only what tells for certain ends the doubt. It is a value: its methods return what has become of
// it. PerkID, Request and Key are to be filled in, and never changed from the first Send on.
type Redeeming struct {
	PerkID  string
	Request api.RedeemRequest
	Key     string

	Known      Known
	Redemption api.Redemption // when Redeemed
	Replayed   bool           // Redeemed, but not now: the service had seen the key before, in no attempt of this Redeeming
	Earlier    bool           // Redeemed by an attempt whose answer was lost
	Found      bool           // Earlier is known from the user's list, and not from an answer
	Err        error          // what the last attempt has failed with; nil when Redeemed
	LookErr    error          // why the user's list could not be read, when Unknown; nil if it was, and did not have it

	since time.Time // when the first attempt of which nothing is known began, by the client's clock
}

// Known is what is known of a Redeeming.
type Known int

// What can be known of a Redeeming.
const (
	NotRedeemed Known = iota // nothing was sent yet, or surely nothing came of it
	Redeemed
	Unknown // an attempt may have been carried out, or may be carried out yet
)

// Send redeems, for the first time or once more under the same key. Where the answer is lost, it looks at once for what has
// become of it. taken tells which redemptions are known to be others' work; it may be nil.
func (r Redeeming) Send(ctx context.Context, c *Client, taken func(id string) bool) Redeeming {
	if r.Known == Redeemed {
		return r
	}
	doubted := r.Known == Unknown
	if !doubted {
		r.since = c.retry.clock.Now()
	}
	redemption, replay, err := c.Redeem(ctx, r.PerkID, r.Request, r.Key)
	if err == nil {
		r.Redemption, r.Replayed = redemption, replay && !doubted
		return r.redeemed(replay && doubted, false)
	}
	r.Err = err
	if !doubted && !OutcomeUnknown(err) {
		return r
	}
	r.Known = Unknown
	r = r.Look(ctx, c, taken)
	if r.Known == Unknown && r.LookErr == nil && c.settled(err) {
		r.Known = NotRedeemed
	}
	return r
}

// Look reads what the user has redeemed, where the outcome is unknown. A redemption that it does not find may still come: the
// outcome stays unknown then.
func (r Redeeming) Look(ctx context.Context, c *Client, taken func(id string) bool) Redeeming {
	if r.Known != Unknown {
		return r
	}
	redemption, found, err := c.Until(time.Now().Add(lookTime)).FindRedemption(ctx, r.PerkID, r.Request, r.since, taken)
	r.LookErr = err
	if err == nil && found {
		r.Redemption = redemption
		return r.redeemed(true, true)
	}
	return r
}

// Failure is what stands in the way of knowing more: the network before anything else.
func (r Redeeming) Failure() error {
	if r.Known == Unknown && r.LookErr != nil {
		return r.LookErr
	}
	return r.Err
}

// Since returns when the attempt began of which nothing is known; the zero time if there is none.
func (r Redeeming) Since() time.Time {
	if r.Known != Unknown {
		return time.Time{}
	}
	return r.since
}

func (r Redeeming) redeemed(earlier, found bool) Redeeming {
	r.Known, r.Earlier, r.Found = Redeemed, earlier, found
	r.Err, r.LookErr = nil, nil
	return r
}

// settled tells whether a refusal also says that no earlier attempt under the key was carried out. It takes a server that
// looks at keys first, and a refusal that can come only from behind that.
func (c *Client) settled(err error) bool {
	return !OutcomeUnknown(err) && c.HonoursKeys() && settles(api.CodeOf(err))
}
