package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"example.com/perks/api"
)

// FindRedemption looks for the result of a redeem whose reply was lost. Among what the user has redeemed it returns the
// one of this perk and metadata that was made since then (by this computer's clock), or at any time if since is zero,
// and that taken, if given, does not claim. A rejected redemption counts too, and it may belong to another request. If
// none is found, one may still appear: the server may be at work on it. The request also finds out whether the server
// honours idempotency keys; see HonoursKeys.
func (c *Client) FindRedemption(
	ctx context.Context, perkID string, request api.RedeemRequest, since time.Time, taken func(id string) bool,
) (api.Redemption, bool, error) {
	call, err := c.redeemedCall(request.UserID)
	if err != nil {
		return api.Redemption{}, false, err
	}
	wanted, err := parseMetadata(request.Metadata)
	if err != nil {
		return api.Redemption{}, false, fmt.Errorf("the metadata of the request: %w", err)
	}
	s := search{perkID: perkID, userID: request.UserID, metadata: wanted, taken: taken, anyTime: since.IsZero()}
	call.seen = new(exchange)
	for page, err := range walk[api.Redemption](ctx, c, call, nil) {
		if err != nil {
			return api.Redemption{}, false, err
		}
		if s.from.IsZero() && !s.anyTime {
			s.from = call.seen.earliest(since)
		}
		for _, redemption := range page.Data {
			if s.matches(redemption) {
				redemption.UserID = cmp.Or(redemption.UserID, request.UserID)
				return redemption, true, nil
			}
		}
		if s.isExhausted(page.Data) && c.HonoursKeys() {
			break // a server that honours keys follows our contract, which lists the newest first
		}
	}
	if s.undecided != "" {
		return api.Redemption{}, false, fmt.Errorf("the server does not say when redemption %s was made", s.undecided)
	}
	return api.Redemption{}, false, nil
}

// Redeemed returns the ids of all redemptions of a perk by a user, so that the caller can recognise later ones. The
// request also finds out whether the server honours idempotency keys; see HonoursKeys.
func (c *Client) Redeemed(ctx context.Context, perkID, userID string) (map[string]bool, error) {
	call, err := c.redeemedCall(userID)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for page, err := range walk[api.Redemption](ctx, c, call, nil) {
		if err != nil {
			return nil, err
		}
		for _, r := range page.Data {
			if r.PerkID == "" || api.SameID(r.PerkID, perkID) {
				ids[r.ID] = true
			}
		}
	}
	return ids, nil
}

// redeemedCall reads what a user has redeemed, past caches.
func (c *Client) redeemedCall(userID string) (call, error) {
	list, err := c.userCall(userID, "redeemed", url.Values{}, ListOptions{PerPage: api.MaxPerPage})
	return list.withHeader("Cache-Control", "no-cache").withHeader(idempotencyKey, ProbeKey), err
}

// search is the state of a FindRedemption.
type search struct {
	perkID, userID string
	metadata       any
	anyTime        bool
	from           time.Time // otherwise the earliest match, by the server's clock
	taken          func(id string) bool

	last      time.Time // time of the previous redemption
	unordered bool
	undecided string // the id of one that matches but lacks a time or the metadata
}

func (s *search) matches(r api.Redemption) bool {
	if r.PerkID != "" && !api.SameID(r.PerkID, s.perkID) || r.UserID != "" && !api.SameID(r.UserID, s.userID) ||
		s.taken != nil && s.taken(r.ID) {
		return false
	}
	silent := len(r.Metadata) == 0 && !sameJSON(s.metadata, map[string]any{})
	if metadata, err := parseMetadata(r.Metadata); !silent && (err != nil || !sameJSON(metadata, s.metadata)) {
		return false
	}
	if r.PerkID == "" || silent || r.RedeemedAt.IsZero() && !s.anyTime {
		s.undecided = r.ID
		return false
	}
	return !r.RedeemedAt.Before(s.from)
}

// isExhausted tells whether the list is sorted by time, newest first, and the rest of it is too old to match.
func (s *search) isExhausted(page []api.Redemption) bool {
	for _, r := range page {
		s.unordered = s.unordered || r.RedeemedAt.IsZero() || !s.last.IsZero() && r.RedeemedAt.After(s.last)
		s.last = r.RedeemedAt
	}
	return !s.unordered && !s.anyTime && !s.last.IsZero() && s.last.Before(s.from)
}

const (
	idempotencyKey = "Idempotency-Key"
	replayed       = "Idempotent-Replayed"
)

// ProbeKey is sent with a read: a service that repeats it honours keys.
const ProbeKey = "do keys count"

// HonoursKeys tells whether the server has shown that it honours Idempotency-Key, by repeating one or replaying a
// response.
func (c *Client) HonoursKeys() bool { return c.config.HonoursKeys.Load() }

// KeyLifetime is how long a key is relied on after its first use. The service keeps keys for 24 hours; the margin is
// for clocks that differ and for requests under way.
const KeyLifetime = 20 * time.Hour

// RemembersKeys tells whether the server honours keys, and still remembers those that were first used since then.
func (c *Client) RemembersKeys(since time.Time) bool {
	return c.HonoursKeys() && passed(since, c.Now()) < KeyLifetime
}

// Now is the time by the client's clock.
func (c *Client) Now() time.Time { return c.config.Clock.Now() }

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
