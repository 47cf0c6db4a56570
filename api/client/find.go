package client

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"example.com/perks/api"
)

// FindRedemption looks for what may have become of a redeem whose reply was lost: it reads what the user has redeemed and
// returns the redemption of this perk with this metadata that was made at or after since, by this computer's clock, and whose
// id taken does not claim for something else; taken may be nil. A rejected redemption counts too. Who made it the list does
// not say: it may be another's. Without an error, false says that surely none was in the list when it was read; a server that
// is still at work may add it later. The reading also asks the server whether keys count; see HonoursKeys.
func (c *Client) FindRedemption(ctx context.Context, perkID string, request api.RedeemRequest, since time.Time, taken func(id string) bool) (api.Redemption, bool, error) {
	call, err := c.userCall(request.UserID, "redeemed", ListOptions{PerPage: api.MaxPerPage}.values())
	if err != nil {
		return api.Redemption{}, false, err
	}
	wanted, err := parseMetadata(request.Metadata)
	if err != nil {
		return api.Redemption{}, false, fmt.Errorf("the metadata of the request: %w", err)
	}
	call = call.withHeader("Cache-Control", "no-cache").withHeader(idempotencyKey, askingKey)
	s := search{perkID: perkID, userID: request.UserID, metadata: wanted, taken: taken}
	var seen exchange
	for page, err := range walk[api.Redemption](withExchange(ctx, &seen), c, call) {
		if err != nil {
			return api.Redemption{}, false, err
		}
		if s.from.IsZero() {
			s.from = seen.earliest(since)
		}
		for _, redemption := range page.Data {
			if s.fits(redemption) {
				redemption.UserID = cmp.Or(redemption.UserID, request.UserID)
				return redemption, true, nil
			}
		}
		if s.isPast(page.Data) && c.HonoursKeys() {
			break // a server that knows our contract that well lists the newest first, as this one visibly does
		}
	}
	if s.undated != "" {
		return api.Redemption{}, false, fmt.Errorf("the server does not say when redemption %s was made", s.undated)
	}
	return api.Redemption{}, false, nil
}

// search is what a redemption must be like to be the one whose answer was lost.
type search struct {
	perkID, userID string
	metadata       any
	from           time.Time // by the server's clock
	taken          func(id string) bool

	last     time.Time // of the redemptions so far, in the list's order
	disorder bool
	undated  string // one that would fit if it had been made in time
}

func (s *search) fits(r api.Redemption) bool {
	if r.PerkID != "" && !api.SameID(r.PerkID, s.perkID) || r.UserID != "" && !api.SameID(r.UserID, s.userID) || s.taken != nil && s.taken(r.ID) {
		return false
	}
	silent := len(r.Metadata) == 0 && !sameJSON(s.metadata, map[string]any{})
	if metadata, err := parseMetadata(r.Metadata); !silent && (err != nil || !sameJSON(metadata, s.metadata)) {
		return false
	}
	if r.PerkID == "" || silent || r.RedeemedAt.IsZero() {
		s.undated = r.ID
		return false
	}
	return !r.RedeemedAt.Before(s.from)
}

// isPast tells whether the list is ordered by time, the newest first, and its rest is too old to matter.
func (s *search) isPast(page []api.Redemption) bool {
	for _, r := range page {
		s.disorder = s.disorder || r.RedeemedAt.IsZero() || !s.last.IsZero() && r.RedeemedAt.After(s.last)
		s.last = r.RedeemedAt
	}
	return !s.disorder && !s.last.IsZero() && s.last.Before(s.from)
}
