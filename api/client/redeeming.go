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

// checkTimeout is how long resolving an unknown outcome may take. It ignores the client's deadline, which may have passed.
const checkTimeout = 5 * time.Second

// KeyLifetime is how long a key is relied on after its first use. The service keeps keys for 24 hours; the margin is for clocks
// that differ and for requests under way.
const KeyLifetime = 20 * time.Hour

// Redeeming is an attempt to redeem a perk for a user, with all its retries under one idempotency key, and what is known of its
// outcome. It is a value: its methods return an updated copy. Fill in PerkID, Request and Key, and keep them from the first
// Send on.
type Redeeming struct {
	PerkID  string
	Request api.RedeemRequest
	Key     string

	Outcome    Outcome
	Redemption api.Redemption // when Redeemed
	Replayed   bool           // Redeemed earlier, under the same key, but by no attempt of this Redeeming
	Earlier    bool           // Redeemed by an attempt whose reply was lost
	Err        error          // what the last attempt has failed with; nil when Redeemed

	// Candidate is a redemption found when Unknown. It matches the request, but may belong to another request. Its ID is empty if there
	// is none.
	Candidate api.Redemption
	CheckErr  error // why checking failed; nil if it did not

	since   time.Time       // when the first attempt with an unknown outcome began, by the client's clock
	earlier map[string]bool // redemptions from before that; nil if they were not read
}

// Known is what is known of the outcome.
type Outcome int

// The values of Known.
const (
	NotRedeemed Outcome = iota // nothing was sent, or certainly nothing was redeemed
	Redeemed
	Unknown // an attempt may have been carried out, or still be
)

// Send redeems, or retries under the same key. If the reply is lost, it tries to resolve the outcome at once. taken tells which
// redemptions are known to be others'; it may be nil.
func (r Redeeming) Send(ctx context.Context, c *Client, taken func(id string) bool) Redeeming {
	if r.Outcome == Redeemed {
		return r
	}
	doubted := r.Outcome == Unknown
	if !doubted {
		r.since = c.retry.clock.Now()
		r.earlier = c.redeemedBefore(ctx, r)
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
	r.Outcome = Unknown
	unused := r.keyIsYoung(c) && KeyUnused(err)
	if unused && api.CodeOf(err) == api.CodeAlreadyRedeemed {
		return r.refused(err) // by another request
	}
	r = r.Check(ctx, c, taken)
	if r.Outcome == Unknown && r.CheckErr == nil && unused {
		return r.refused(err)
	}
	return r
}

// Check tries to resolve an unknown outcome by reading what the user has redeemed. A match in that list may belong to another request.
// So, if the service honours keys and still remembers this one, the request is repeated: a replay is ours, and then any other
// match is not. Otherwise the outcome stays unknown, also when nothing is found: the redemption may still appear.
func (r Redeeming) Check(ctx context.Context, c *Client, taken func(id string) bool) Redeeming {
	if r.Outcome != Unknown {
		return r
	}
	c = c.Until(time.Now().Add(checkTimeout))
	since := r.since
	if r.earlier != nil { // then no clock decides
		since = time.Time{}
	}
	candidate, found, err := c.FindRedemption(ctx, r.PerkID, r.Request, since, func(id string) bool {
		return r.earlier[id] || taken != nil && taken(id)
	})
	if r.CheckErr = err; err != nil {
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
	r.CheckErr = err
	return r
}

// redeemedBefore reads what the user had redeemed before anything is sent to a service that is not known to honour
// keys. It returns nil if that is not needed or cannot be read: then what is found later is judged by its time.
func (c *Client) redeemedBefore(ctx context.Context, r Redeeming) map[string]bool {
	if c.HonoursKeys() {
		return nil
	}
	earlier, err := c.Until(time.Now().Add(checkTimeout)).Redeemed(ctx, r.PerkID, r.Request.UserID)
	if err != nil || c.HonoursKeys() { // by now: then the key tells, also of a request that another process has sent
		return nil
	}
	return earlier
}

// Failure is the error to show: why the outcome could not be resolved, or else why the attempt failed.
func (r Redeeming) Failure() error {
	if r.Outcome == Unknown && r.CheckErr != nil {
		return r.CheckErr
	}
	return r.Err
}

// Since returns when the first attempt with an unknown outcome began; the zero time if there is none.
func (r Redeeming) Since() time.Time {
	if r.Outcome != Unknown {
		return time.Time{}
	}
	return r.since
}

func (r Redeeming) redeemed(redemption api.Redemption, earlier bool) Redeeming {
	r.Outcome, r.Redemption, r.Earlier = Redeemed, redemption, earlier
	r.Candidate, r.Err, r.CheckErr = api.Redemption{}, nil, nil
	return r
}

// refused is the result of a refusal which also says that no attempt has redeemed anything.
func (r Redeeming) refused(err error) Redeeming {
	r.Outcome, r.Err = NotRedeemed, err
	r.Candidate, r.CheckErr = api.Redemption{}, nil
	return r
}

// keyIsYoung tells whether a service that honours keys still remembers the first attempt's.
func (r Redeeming) keyIsYoung(c *Client) bool {
	return passed(r.since, c.retry.clock.Now()) < KeyLifetime
}

const (
	idempotencyKey = "Idempotency-Key"
	replayed       = "Idempotent-Replayed"
)

// ProbeKey is sent with a read: a service that repeats it honours keys.
const ProbeKey = "do keys count"

// HonoursKeys tells whether the server has shown that it honours Idempotency-Key, by repeating one or replaying a response.
func (c *Client) HonoursKeys() bool { return c.retry.HonoursKeys.Load() }

// repeatsKey tells whether the response repeats the request's key.
func repeatsKey(req *http.Request, res *http.Response) bool {
	key := req.Header.Get(idempotencyKey)
	echoes := res.Header.Get("User-Agent") != "" // no response has one, unless the server echoes all headers
	return key != "" && !echoes && res.Header.Get(idempotencyKey) == key
}

// parseMetadata decodes the metadata of a redemption. Absent and null mean the empty object.
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

// decodeJSON decodes exactly one value, and keeps the digits of numbers.
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

// sameJSON compares two values of decodeJSON. Numbers are compared by value: a server may store 2.50 as 2.5.
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
