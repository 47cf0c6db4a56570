package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"example.com/perks/api"
)

// lookTime is how long the search for a lost answer may take. It is not part of the client's own deadline, which may have
// ended already.
const lookTime = 5 * time.Second

// KeyLife is how long a key is relied on after its first use. The service forgets keys after 24 hours; what is left is for
// clocks that differ and for requests that are still under way.
const KeyLife = 20 * time.Hour

// Redeeming is one wish to redeem a perk for a user, over all attempts at it: each of them goes out under the same key, and
// once a reply was lost, only an answer to that key ends the doubt. It is a value: its methods return what has become of it.
// PerkID, Request and Key are to be filled in, and never changed from the first Send on.
type Redeeming struct {
	PerkID  string
	Request api.RedeemRequest
	Key     string

	Known      Known
	Redemption api.Redemption // when Redeemed
	Replayed   bool           // Redeemed, but not now: the service had seen the key before, in no attempt of this Redeeming
	Earlier    bool           // Redeemed by an attempt whose reply was lost
	Err        error          // what the last attempt has failed with; nil when Redeemed

	// Candidate is a redemption that the last reading of the user's list found, when Unknown: it is like the one asked for,
	// and may be somebody else's. Without an ID there is none.
	Candidate api.Redemption
	LookErr   error // why that reading, or the attempt that it called for, told nothing; nil if nothing went wrong

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

// Send redeems, for the first time or once more under the same key. Where the reply is lost, it looks at once for what has
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
		r.Replayed = replay && !doubted
		return r.redeemed(redemption, replay && doubted)
	}
	r.Err = err
	if !doubted && !OutcomeUnknown(err) {
		return r
	}
	r.Known = Unknown
	unused := r.keyIsYoung(c) && KeyUnused(err)
	if unused && api.CodeOf(err) == api.CodeAlreadyRedeemed {
		return r.refused(err) // whatever the list has, it is another's
	}
	r = r.Look(ctx, c, taken)
	if r.Known == Unknown && r.LookErr == nil && unused {
		return r.refused(err)
	}
	return r
}

// Look reads what the user has redeemed, where the outcome is unknown. A list does not say who made what it holds, so a
// redemption like the one asked for settles nothing by itself: where the service honours keys, and remembers this one, the
// request goes out again under it. A replay then is ours, and anything else in the list another's. Elsewhere the outcome stays
// unknown, as it does when nothing is found, which may still come.
func (r Redeeming) Look(ctx context.Context, c *Client, taken func(id string) bool) Redeeming {
	if r.Known != Unknown {
		return r
	}
	c = c.Until(time.Now().Add(lookTime))
	candidate, found, err := c.FindRedemption(ctx, r.PerkID, r.Request, r.since, taken)
	if r.LookErr = err; err != nil {
		return r
	}
	r.Candidate = candidate
	if !found || !c.HonoursKeys() || !r.keyIsYoung(c) {
		return r
	}
	redemption, replay, err := c.Redeem(ctx, r.PerkID, r.Request, r.Key)
	switch {
	case err == nil && redemption.ID == candidate.ID:
		return r.redeemed(candidate, true) // its status is newer than that of a replay
	case err == nil:
		return r.redeemed(redemption, replay)
	case KeyUnused(err):
		return r.refused(err)
	}
	r.LookErr = err
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

func (r Redeeming) redeemed(redemption api.Redemption, earlier bool) Redeeming {
	r.Known, r.Redemption, r.Earlier = Redeemed, redemption, earlier
	r.Candidate, r.Err, r.LookErr = api.Redemption{}, nil, nil
	return r
}

// refused is for a refusal that also says that no attempt has redeemed anything.
func (r Redeeming) refused(err error) Redeeming {
	r.Known, r.Err = NotRedeemed, err
	r.Candidate, r.LookErr = api.Redemption{}, nil
	return r
}

// keyIsYoung tells whether a service that honours keys still remembers the one of the first attempt.
func (r Redeeming) keyIsYoung(c *Client) bool { return passed(r.since, c.retry.clock.Now()) < KeyLife }

const (
	idempotencyKey = "Idempotency-Key"
	replayed       = "Idempotent-Replayed"

	// askingKey goes with a request that only reads: a service that repeats it there honours keys too.
	askingKey = "do keys count"
)

// HonoursKeys tells whether the server has shown to this Client that an Idempotency-Key counts: it has repeated one in an
// answer, or given a first answer once more.
func (c *Client) HonoursKeys() bool { return c.retry.honoursKeys.Load() }

// repeatsKey tells whether the server has looked at the request's key.
func repeatsKey(req *http.Request, res *http.Response) bool {
	key := req.Header.Get(idempotencyKey)
	echoes := res.Header.Get("User-Agent") != "" // no answer has one, unless it repeats whatever it was sent
	return key != "" && !echoes && res.Header.Get(idempotencyKey) == key
}

// parseMetadata reads the metadata of a redemption. Absent and null mean the empty object.
func parseMetadata(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	value, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	if list, ok := value.([]any); value == nil || ok && len(list) == 0 { // PHP writes an empty map as a list
		value = map[string]any{}
	}
	return value, nil
}

// decodeJSON reads exactly one value, and keeps the digits of numbers.
func decodeJSON(raw []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, api.Errorf(api.CodeInvalidJSON, "The JSON has something after it.")
	}
	return value, nil
}

// sameJSON compares two values of decodeJSON. The order of members does not count, nor how a number is
// written: a server may keep 2.50 as 2.5, and numbers as floating-point ones.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameJSON)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	case json.Number:
		b, ok := b.(json.Number)
		x, errX := a.Float64()
		y, errY := b.Float64()
		return ok && (a == b || errX == nil && errY == nil && x == y)
	}
	return a == b
}
