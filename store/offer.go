package store

import (
	"encoding/json"
	"time"

	"example.com/perks/api"
)

// Offer is what decides whether a user can redeem a perk, as it is at one moment.
type Offer struct {
	ValidFrom, ValidTo *time.Time
	Approval           Approval
	SoldOut            bool
	UserKnown          bool
	UserHasIt          bool // in a live redemption
}

// Refusal returns why the attempt cannot succeed, or nil. Times are compared by the microsecond, as they are kept.
func (o Offer) Refusal(attempt RedeemAttempt) error {
	at := attempt.At.Truncate(time.Microsecond)
	switch {
	case !o.UserKnown && !attempt.CreateUser:
		return UserNotFound(attempt.UserID)
	case o.UserHasIt:
		return AlreadyRedeemed(attempt.PerkID, attempt.UserID)
	case o.ValidFrom != nil && at.Before(*o.ValidFrom):
		return PerkNotStarted(attempt.PerkID, *o.ValidFrom)
	case o.ValidTo != nil && !at.Before(*o.ValidTo):
		return PerkExpired(attempt.PerkID, *o.ValidTo)
	case o.SoldOut:
		return SoldOut(attempt.PerkID)
	}
	return nil
}

// Redemption is what the attempt becomes when there is no refusal.
func (o Offer) Redemption(attempt RedeemAttempt) api.Redemption {
	made := api.Redemption{
		ID: attempt.ID, PerkID: attempt.PerkID, UserID: attempt.UserID, RedeemedAt: attempt.At.UTC().Truncate(time.Microsecond),
		Status: api.StatusApproved, Metadata: attempt.Metadata,
	}
	if o.Approval == ApprovalManual {
		made.Status = api.StatusPending
	}
	if len(made.Metadata) == 0 {
		made.Metadata = json.RawMessage(`{}`)
	}
	return made
}
